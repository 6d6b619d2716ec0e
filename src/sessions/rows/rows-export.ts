import { stat } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { writeAtomic } from "../../store/disk.ts";
import type { EarlierPlaces } from "../../store/places.ts";
import type { Clock } from "../../types/clock.ts";
import type { AgentId, SessionKey } from "../../types/ids.ts";
import type { Log } from "../../types/log.ts";
import type { RowChanges, SessionEntry, SessionTable } from "../../types/session.ts";
import { errorText } from "../../utils/text/error-text.ts";
import type { Fields } from "../../utils/fields.ts";
import { errorCode, unlessMissing } from "../../utils/missing.ts";
import { setAside } from "../transcript/archive.ts";
import { columnOf, findEdits, mapRows, type Edits } from "./merge-rows.ts";
import { keptRow, writeRow } from "./row.ts";
import { printRows, readRowsFile, rebuildRows, type Rows, rowsPath } from "./rows-file.ts";

/** Milliseconds between checks whether another program changed the file, and whether it must be written. */
const LOOK_EVERY_MS = 10_000;
/** Milliseconds without a change of a row after which the file is written, and after a session was added or removed. */
const REST_MS = 30_000;
/** Milliseconds after which the file is written even if rows keep changing. */
const LONGEST_MS = 600_000;

export interface RowsOptions {
  readonly dir: string;
  readonly earlier: EarlierPlaces;
  readonly table: SessionTable;
  readonly defaultAgent: AgentId;
  readonly log: Log;
  readonly clock: Clock;
}

/** The rows that are exported. */
export interface ExportedRows {
  readonly all: ReadonlyMap<SessionKey, SessionEntry>;
  /** Applies the edits of the file. Resolves when they are durable. */
  adopt(rows: RowChanges): Promise<void>;
}

/**
 * `sessions.json`: the session rows for people and other programs. The file is written when a session was added or
 * removed and when the rows are at rest, never per message. Edits by others are read, also edits made while no gateway
 * ran.
 */
export class RowsExport {
  readonly #options: RowsOptions;
  readonly #rows: ExportedRows;
  readonly #path: string;
  #others: Fields = {};
  #seen = "";
  #changed = new Set<SessionKey>();
  #isListChanged = false;
  #firstAt = 0;
  #lastAt = 0;
  #cancel: () => void = () => undefined;
  #work: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: RowsOptions, rows: ExportedRows) {
    this.#options = options;
    this.#rows = rows;
    this.#path = rowsPath(options.dir);
  }

  /** Applies the edits since the last process, and then checks for new ones. Rejects when the journal cannot be read. */
  async open(): Promise<void> {
    const last = await this.#options.table.lastExport();
    this.#seen = last?.version ?? "";
    this.#others = last?.others ?? {};
    await this.#try(() => this.#look());
    await this.#findUnwritten();
    this.#tick();
  }

  /** Records a change of a row. `isListed`: its session was added or removed. */
  changed(key: SessionKey, isListed: boolean): void {
    const now = this.#options.clock.now();
    if (!this.#isPending) this.#firstAt = now;
    this.#lastAt = now;
    this.#changed.add(key);
    this.#isListChanged ||= isListed;
  }

  /** Writes pending changes for the last time. Never rejects, because the journal has the rows. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    await this.#work;
    await this.#try(async () => {
      await this.#look();
      if (this.#isPending) await this.#write();
    });
  }

  get #isPending(): boolean {
    return this.#isListChanged || this.#changed.size > 0;
  }

  #isDue(): boolean {
    const now = this.#options.clock.now();
    const longest = this.#isListChanged ? REST_MS : LONGEST_MS;
    return this.#isPending && (now - this.#lastAt >= REST_MS || now - this.#firstAt >= longest);
  }

  #tick(): void {
    if (this.#isClosed) return;
    this.#cancel = this.#options.clock.after(LOOK_EVERY_MS, () => {
      this.#work = this.#try(async () => {
        await this.#look();
        if (this.#isDue()) await this.#write();
      }).finally(() => this.#tick());
    });
  }

  /** A failed check is repeated at the next one. */
  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.log.warn("sessions.json was not written or read; it is tried again", { error });
    }
  }

  async #look(): Promise<void> {
    const version = await versionOf(this.#path);
    if (version === this.#seen) return;
    // A removed file is written again. Sessions are removed with `openclaw sessions delete`.
    if (version === "") this.#isListChanged = true;
    this.#seen = version === "" ? "" : await this.#takeIn(version);
  }

  /** The file's version after that. */
  async #takeIn(version: string): Promise<string> {
    const { dir, defaultAgent } = this.#options;
    let theirs: Rows | undefined;
    try {
      theirs = await readRowsFile(dir, defaultAgent);
    } catch (error) {
      // The system's error says nothing about the text.
      if (errorCode(error) !== undefined) throw error;
      await this.#putAside(error);
      return "";
    }
    if (theirs) await this.#adopt({ ...theirs, rows: this.#kept(theirs.rows) }, version);
    return version;
  }

  async #adopt({ rows: theirs, foreign }: Rows, version: string): Promise<void> {
    const { table } = this.#options;
    const base = this.#kept(columnOf(await table.all(), "exported"));
    const edits = findEdits(this.#rows.all, base, theirs);
    // The rows first: if the process ends between the two writes, the next one finds the same edits again.
    if (edits.rows.size > 0) await this.#rows.adopt([...edits.rows]);
    this.#others = foreign;
    await table.noteExport(differences(base, theirs), { version, others: foreign });
    this.#tell(edits, base.size === 0);
    for (const [key] of differences(theirs, this.#rows.all)) this.changed(key, false);
  }

  #tell({ added, edited, removed }: Edits, isFirst: boolean): void {
    if (added.length + edited.length + removed.length === 0) return;
    const fields = { added: added.length, edited: edited.length, removed: removed.length };
    const keys = [...added, ...edited, ...removed].slice(0, 5);
    this.#options.log.info(isFirst ? "sessions.json taken in" : "sessions.json was changed by others; taken in", {
      ...fields,
      sessions: keys,
    });
  }

  /**
   * Moves the file to another name, so that nothing is lost. Without rows in the journal, the rows are read from the
   * transcripts.
   */
  async #putAside(error: unknown): Promise<void> {
    const { dir, log, clock } = this.#options;
    const aside = await setAside(this.#path, "broken", clock.now());
    const isLost = this.#rows.all.size === 0;
    const { rows, unmapped } = isLost ? await rebuildRows(dir) : { rows: this.#rows.all, unmapped: 0 };
    if (isLost) await this.#rows.adopt([...rows]);
    this.#isListChanged = true;
    log.error(
      `sessions.json could not be read; set aside and made anew from the ${isLost ? "transcripts" : "journal"}`,
      {
        code: "SESSIONS_UNREADABLE",
        reason: errorText(error),
        aside,
        rows: rows.size,
        ...(isLost && { unmapped }),
      },
    );
  }

  /** Earlier versions wrote absolute paths, and so may others. */
  #kept(rows: ReadonlyMap<SessionKey, SessionEntry>): Map<SessionKey, SessionEntry> {
    const { dir, earlier } = this.#options;
    return mapRows(rows, (row) => keptRow(row, dir, earlier));
  }

  /** Changes that an earlier process did not write to the file. */
  async #findUnwritten(): Promise<void> {
    const base = columnOf(await this.#options.table.all(), "exported");
    for (const [key] of differences(base, this.#rows.all)) this.changed(key, !base.has(key));
  }

  async #write(): Promise<void> {
    const { table } = this.#options;
    const [changed, isListChanged] = [this.#changed, this.#isListChanged];
    const rows = new Map(this.#rows.all);
    this.#changed = new Set();
    this.#isListChanged = false;
    try {
      const text = await printRows({ rows, foreign: this.#others });
      const isOurs = async () => (await versionOf(this.#path)) === this.#seen;
      if (!(await writeAtomic(this.#path, text, isOurs))) throw new Error("it was changed by others at this moment");
      const version = await versionOf(this.#path);
      this.#seen = version;
      const written = [...changed].map((key) => [key, rows.get(key)] as const);
      await table.noteExport(written, { version, others: this.#others });
    } catch (error) {
      for (const key of changed) this.#changed.add(key);
      this.#isListChanged ||= isListChanged;
      throw error;
    }
  }
}

/** The rows of `next` that differ. */
function differences(
  rows: ReadonlyMap<SessionKey, SessionEntry>,
  next: ReadonlyMap<SessionKey, SessionEntry>,
): RowChanges {
  const gone = [...rows.keys()].filter((key) => !next.has(key)).map((key) => [key, undefined] as const);
  const changed = [...next].filter(([key, row]) => {
    const was = rows.get(key);
    return !was || !isDeepStrictEqual({ ...writeRow(was) }, { ...writeRow(row) });
  });
  return [...gone, ...changed];
}

/** A value that changes with the file. Empty when there is no file. */
async function versionOf(path: string): Promise<string> {
  const found = await unlessMissing(stat(path, { bigint: true }));
  return found ? `${found.ino}/${found.size}/${found.mtimeNs}` : "";
}
