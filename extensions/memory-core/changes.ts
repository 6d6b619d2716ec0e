import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { appendFile, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** Origin of a line of a note. `untrusted`: the conversation had read content of others. */
export type Origin = "owner" | "guest" | "automation" | "plugin" | "untrusted";

/**
 * A record of the file of changes. Lines of notes are there as hashes, so that the file holds nothing of their text.
 */
export interface NoteRecord {
  /** ISO 8601. */
  readonly at: string;
  readonly path: string;
  readonly tool: string;
  readonly session?: string;
  readonly run?: string;
  readonly call?: string;
  /** Kind and id of the principal that the turn acted for. */
  readonly by: string;
  readonly origin: Origin;
  /** Sources of untrusted content, in one line. */
  readonly sources?: string;
  /** Unset when the change was too large to be compared: any line of the file can be from it. */
  readonly added?: readonly string[];
  readonly removed?: readonly string[];
}

/** The file beside the index in which the changes of an agent's notes are kept; it is not derived from anything. */
export const changesFileOf = (index: string): string => index.replace(/\.sqlite$/, ".changes.jsonl");

/** Empty lines have no origin. Spaces around a line do not count. */
const lineHash = (line: string): string => createHash("sha256").update(line.trim()).digest("hex").slice(0, 20);

export const lineHashes = (lines: readonly string[]): readonly string[] =>
  lines.filter((line) => line.trim() !== "").map(lineHash);

/** Bytes at each of which the file is made shorter, and most bytes of records that it then keeps for people. */
const STEP_BYTES = 16 * 1024 * 1024;
const KEPT_BYTES = STEP_BYTES / 2;

/** Adds a record, in one write. Now and then the oldest ones go. Rejects with the errors of the disk. */
export async function appendChange(file: string, record: NoteRecord): Promise<void> {
  const line = `${JSON.stringify(record)}\n`;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await appendFile(file, line, { mode: 0o600 });
  const { size } = await stat(file);
  const before = size - Buffer.byteLength(line);
  if (Math.floor(before / STEP_BYTES) !== Math.floor(size / STEP_BYTES)) await forgetOld(file);
}

/** Removes the oldest records, but none of content of others: without it, that content would count as a person's own. */
async function forgetOld(file: string): Promise<void> {
  let bytes = 0;
  const newestFirst = (await readFile(file, "utf8")).split("\n").toReversed();
  const kept = newestFirst.filter((line) => {
    if (line === "") return false;
    if (line.includes('"untrusted"')) return true;
    bytes += Buffer.byteLength(line) + 1;
    return bytes <= KEPT_BYTES;
  });
  const shorter = `${file}.shorter`;
  await writeFile(
    shorter,
    kept
      .toReversed()
      .map((line) => `${line}\n`)
      .join(""),
    { mode: 0o600 },
  );
  await rename(shorter, file);
}

/** All records, oldest first; lines that cannot be read are left out. */
export const readChanges = (file: string): readonly NoteRecord[] => linesIn(file).flatMap((line) => parsed(line) ?? []);

/** How many lines cannot be read. */
export const unreadableChanges = (file: string): number => linesIn(file).filter((line) => !parsed(line)).length;

function linesIn(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function parsed(line: string): NoteRecord | undefined {
  if (line === "") return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    // The process was killed while it wrote this line.
    return undefined;
  }
}

const isRecord = (value: unknown): value is NoteRecord =>
  typeof value === "object" &&
  value !== null &&
  ["at", "path", "tool", "by", "origin"].every((name) => typeof Reflect.get(value, name) === "string");

/**
 * Whether a conversation that had read untrusted content wrote one of the lines of a text, into this note or, where the
 * lines are long enough to be the same, into another note. Rejects with the errors of the disk.
 */
export async function hasUntrusted(file: string, { path, text }: { path: string; text: string }): Promise<boolean> {
  let written: string;
  try {
    written = await readFile(file, "utf8");
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
  // Few records are of the origin `untrusted`, and only these are parsed.
  const records = written.split("\n").flatMap((line) => (line.includes('"untrusted"') ? (parsed(line) ?? []) : []));
  const origins = new Origins(records.filter(({ origin }) => origin === "untrusted"));
  return text.split("\n").some((line) => origins.of(path, line) !== undefined);
}

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT";

/** Characters from which on a line of another note is taken for the same one, which was moved. */
const MOVED_CHARS = 24;

/** The changes that wrote the lines of notes. */
export class Origins {
  readonly #written = new Map<string, NoteRecord>();
  /** Changes of each note that were too large to be compared. */
  readonly #whole = new Map<string, NoteRecord>();

  /** `records`: oldest first. */
  constructor(records: readonly NoteRecord[]) {
    for (const record of records) {
      const { path, added, tool } = record;
      for (const hash of added ?? []) {
        this.#written.set(`${path} ${hash}`, record);
        this.#written.set(hash, record);
      }
      if (added === undefined && tool !== FORGET) this.#whole.set(path, record);
    }
  }

  /** The last change that wrote this line into the note, else into another one from which it may have been moved; undefined for none. */
  of(path: string, line: string): NoteRecord | undefined {
    const text = line.trim();
    if (text === "") return undefined;
    const hash = lineHash(text);
    const moved = text.length >= MOVED_CHARS ? this.#written.get(hash) : undefined;
    return this.#written.get(`${path} ${hash}`) ?? moved ?? this.#whole.get(path);
  }
}

/** The name of a person's command in the records. */
export const FORGET = "memory forget";

/** Lines of notes that were written by conversations which had read untrusted content; read again when the file has changed. */
export class UntrustedLines {
  readonly #file: string;
  #version = "";
  #origins = new Origins([]);
  #hasAny = false;

  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Lines of a text of the note that such conversations wrote: the numbers of the lines, from 1, and the sources of
   * their content; undefined when there are none.
   */
  in(path: string, text: string): { readonly lines: readonly number[]; readonly sources: string } | undefined {
    this.#refresh();
    if (!this.#hasAny) return undefined;
    const found = text.split("\n").flatMap((line, index) => {
      const record = this.#origins.of(path, line);
      return record?.origin === "untrusted" ? [{ number: index + 1, sources: record.sources ?? "unknown" }] : [];
    });
    if (found.length === 0) return undefined;
    return {
      lines: found.map(({ number }) => number),
      sources: [...new Set(found.map((one) => one.sources))].join(", "),
    };
  }

  #refresh(): void {
    const stat = statSync(this.#file, { throwIfNoEntry: false });
    const version = stat ? `${stat.mtimeMs} ${stat.size}` : "";
    if (version === this.#version) return;
    const records = stat ? readChanges(this.#file) : [];
    this.#origins = new Origins(records);
    this.#hasAny = records.some(({ origin }) => origin === "untrusted");
    this.#version = version;
  }
}
