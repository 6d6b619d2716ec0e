import { appendFile, mkdir, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { z } from "zod";
import { parseKey } from "../../../sessions/keys.ts";
import { writeAtomic } from "../../../store/disk.ts";
import { PathLines } from "../../../store/places.ts";
import type { ReceivedFiles } from "../../../types/journal.ts";
import type { Log } from "../../../types/log.ts";
import type { CommandBegun, FileChange, FileOrigins, NotedCommand } from "../../../types/memory/file-origins.ts";
import { hasOwnerRights, type Acting } from "../../../types/run/principal.ts";
import { sourcesText, untrustedMarkOf, type UntrustedSource } from "../../../types/run/untrusted.ts";
import type { Sessions } from "../../../types/session.ts";
import { forgetOldest } from "../../../utils/forget-oldest.ts";
import { unlessMissing } from "../../../utils/missing.ts";
import { isInside, realOf } from "../../../utils/real-path.ts";
import { loadOnce } from "../../../utils/share-calls.ts";
import type { Live } from "../../live.ts";
import { CommandSpans } from "./command-spans.ts";
import { readTextFile } from "../../../store/text-file.ts";

interface Ports {
  readonly sessions: Pick<Sessions, "peek">;
  readonly received: ReceivedFiles;
  readonly log: Pick<Log, "error">;
}

/** One line of the file. Without sources and guest, the file is of owners alone again. */
const line = z.object({
  path: z.string(),
  /** The untrusted content that the conversation had read when it wrote the file, as a text. */
  sources: z.string().optional(),
  /** The person who wrote the file, when that was no owner. */
  guest: z.string().optional(),
  /** True when a command wrote the file. */
  byCommand: z.literal(true).optional(),
});
type Known = z.output<typeof line>;

/** Most files that are kept; beyond them the oldest are forgotten. */
const MOST_FILES = 20_000;
/** Lines of the file beyond twice those that count. */
const MOST_EXTRA = 1000;
/** Most characters of the sources of one file. */
const MOST_CHARS = 300;

interface Kept {
  readonly known: KnownFiles;
  /** Times in which commands ran. */
  readonly spans: CommandSpans;
  /** Times at which file tools wrote such files, by which a file is known after a move. */
  readonly writes: CommandSpans;
}

/** Keeps in `state/file-origins.jsonl` which files of the workspaces have content that others may have written. */
export function openFileOrigins({ paths }: Pick<Live, "paths">, ports: Ports): FileOrigins {
  const lines = new PathLines(paths.stateDir);
  const kept: Kept = {
    known: new KnownFiles(join(paths.stateSub, "file-origins.jsonl"), lines),
    spans: new CommandSpans(join(paths.stateSub, "command-spans.jsonl"), lines),
    writes: new CommandSpans(join(paths.stateSub, "file-writes.jsonl"), lines),
  };
  const { known } = kept;
  const reading = async (file: string, work: () => Promise<string | undefined>) => {
    try {
      return await work();
    } catch (error) {
      ports.log.error("the origin of a file cannot be read, so it counts as untrusted", { file, error });
      return "its origin cannot be read";
    }
  };
  return {
    began: (command) => begun(command, kept, ports),
    async changed(change) {
      const { path } = change;
      const keep = async () => keepChange(path, await originOf(change, known, ports), kept);
      await unlessFailed(keep, ports, "the origin of a file is not kept", { file: path });
    },
    byCommand: (path, reader) =>
      reading(path, async () => {
        const found = await known.get(path);
        return textOf(found?.byCommand ? found : await foundByTime(path, kept.spans, kept), reader);
      }),
    of: (path, reader) =>
      reading(path, async () => {
        if (await isStrangers(path, reader, { media: paths.media, received: ports.received }))
          return "somebody sent it";
        const found = (await known.get(path)) ?? (await foundByTime(path, kept.spans, kept));
        return textOf(found ?? (await foundByTime(path, kept.writes, kept)), reader);
      }),
  };
}

async function unlessFailed<T>(
  work: () => Promise<T>,
  { log }: Pick<Ports, "log">,
  failed: string,
  facts: Readonly<Record<string, string>>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    log.error(failed, { ...facts, error });
    return undefined;
  }
}

async function begun(command: CommandBegun, { spans }: Pick<Kept, "spans">, ports: Ports): Promise<NotedCommand> {
  const origin = originOfCommand(command, ports);
  const keep = <T>(work: () => Promise<T>) =>
    unlessFailed(work, ports, "what a command writes is not kept", { session: command.by.sessionKey });
  const end = origin && (await keep(() => spans.begin(origin, command.roots)));
  return {
    async end() {
      if (end) await keep(end);
    },
    source: (reader) => origin && textOf(origin, reader),
  };
}

async function keepChange(path: string, origin: Omit<Known, "path">, { known, writes }: Kept): Promise<void> {
  await known.set(path, origin);
  if (origin.sources === undefined && origin.guest === undefined) return;
  const found = await unlessMissing(stat(path));
  if (found) await writes.wrote(origin, found.mtimeMs);
}

/**
 * The origin of a file in words for the reader. A guest's own words do not make the conversation of a guest less
 * trusted.
 */
function textOf(file: Omit<Known, "path"> | undefined, reader: Acting): string | undefined {
  if (file?.sources !== undefined) return `written after ${file.sources}`;
  return file?.guest !== undefined && hasOwnerRights(reader.principal) ? `written for ${file.guest}` : undefined;
}

async function originOf(
  { path, from, isWhole, by, sources }: FileChange,
  known: KnownFiles,
  { sessions }: Ports,
): Promise<Omit<Known, "path">> {
  const mark = untrustedMarkOf(sessions.peek(by.sessionKey)?.untrustedContent);
  const before = isWhole ? undefined : await known.get(from ?? path);
  const read = textOfSources([...sources, ...(mark?.sources ?? [])]) ?? before?.sources;
  const guest = hasOwnerRights(by.principal) ? before?.guest : `${by.principal.kind} ${by.principal.id}`;
  return { ...(read !== undefined && { sources: read }), ...(guest !== undefined && { guest }) };
}

/** The origin of a command's writes; undefined when nothing untrusted that the conversation has read can be in them. */
function originOfCommand({ by, sources, named }: CommandBegun, { sessions }: Ports): Omit<Known, "path"> | undefined {
  const mark = untrustedMarkOf(sessions.peek(by.sessionKey)?.untrustedContent);
  const read = textOfSources([...sources, ...(mark?.sources ?? [])]) ?? named?.slice(0, MOST_CHARS).toWellFormed();
  const guest = hasOwnerRights(by.principal) ? undefined : `${by.principal.kind} ${by.principal.id}`;
  if (read === undefined && guest === undefined) return undefined;
  return { ...(read !== undefined && { sources: read }), ...(guest !== undefined && { guest }) };
}

/** The origin of a file by its times. It is then recorded by the file's path: a later change may move the times. */
async function foundByTime(path: string, times: CommandSpans, { known, spans }: Kept): Promise<Known | undefined> {
  const found = await unlessMissing(stat(path));
  const origin = found?.isFile() === true ? await times.at(path, [found.ctimeMs, found.mtimeMs]) : undefined;
  if (origin === undefined) return undefined;
  const { sources, guest } = origin;
  const kept = {
    ...(sources !== undefined && { sources }),
    ...(guest !== undefined && { guest }),
    ...(times === spans && { byCommand: true as const }),
  };
  await known.set(path, kept);
  return { path, ...kept };
}

function textOfSources(sources: readonly UntrustedSource[]): string | undefined {
  const distinct = [...new Map(sources.map((one) => [`${one.tool} ${one.source}`, one])).values()];
  return distinct.length === 0 ? undefined : sourcesText(distinct).slice(0, MOST_CHARS).toWellFormed();
}

/** Whether an owner's run reads a file that came with a message of another conversation, or of a group. */
async function isStrangers(
  path: string,
  { principal, sessionKey }: Acting,
  { media, received }: { readonly media: string; readonly received: ReceivedFiles },
): Promise<boolean> {
  if (!hasOwnerRights(principal)) return false;
  const dir = await realOf(media);
  if (path === dir || !isInside(path, dir)) return false;
  const own = await received.of(sessionKey);
  return !own.includes(relative(dir, path)) || parseKey(sessionKey).kind === "group";
}

/** The file in memory. It is read once; each change appends a line. */
class KnownFiles {
  readonly #file: string;
  readonly #lines: PathLines;
  readonly #all = loadOnce(() => this.#load());
  #writing: Promise<unknown> = Promise.resolve();
  /** Lines of the file. */
  #count = 0;
  #isCutOff = false;

  constructor(file: string, lines: PathLines) {
    this.#file = file;
    this.#lines = lines;
  }

  async get(path: string): Promise<Known | undefined> {
    return (await this.#all()).get(path);
  }

  /** Records the origin of a file. Rejects with the errors of the disk. */
  async set(path: string, origin: Omit<Known, "path">): Promise<void> {
    const all = await this.#all();
    const [before, now] = [all.get(path), { path, ...origin }];
    const isClear = origin.sources === undefined && origin.guest === undefined;
    if (isClear ? before === undefined : JSON.stringify(before) === JSON.stringify(now)) return;
    all.delete(path);
    if (!isClear) all.set(path, now);
    forgetOldest(all, MOST_FILES);
    const writing = this.#writing.then(() => this.#append(all, now));
    // The caller gets the error below; the next line is written all the same.
    this.#writing = writing.catch(() => undefined);
    await writing;
  }

  #textOf(known: Known): string {
    return `${this.#lines.kept(JSON.stringify(known))}\n`;
  }

  /**
   * Appends a line, or writes the file anew when it has become much longer than its content needs. After a line that may have been cut off, the
   * next one begins anew.
   */
  async #append(all: ReadonlyMap<string, Known>, now: Known): Promise<void> {
    if (this.#count >= 2 * all.size + MOST_EXTRA) return this.#writeAnew(all);
    const begin = this.#isCutOff ? "\n" : "";
    this.#isCutOff = true;
    await appendFile(this.#file, `${begin}${this.#textOf(now)}`, { mode: 0o600 });
    this.#isCutOff = false;
    this.#count += 1;
  }

  async #writeAnew(all: ReadonlyMap<string, Known>): Promise<void> {
    const known = [...all.values()];
    await writeAtomic(this.#file, known.map((one) => this.#textOf(one)).join(""));
    this.#count = known.length;
    this.#isCutOff = false;
  }

  /** Reads the file, and writes it anew when it is much longer than its content needs. */
  async #load(): Promise<Map<string, Known>> {
    const lines = ((await readTextFile(this.#file)) ?? "").split("\n").filter((one) => one !== "");
    const all = new Map<string, Known>();
    for (const text of await this.#lines.opened(lines)) {
      const read = parsed(text);
      if (!read) continue;
      all.delete(read.path);
      if (read.sources !== undefined || read.guest !== undefined) all.set(read.path, read);
    }
    while (all.size > MOST_FILES) forgetOldest(all, MOST_FILES);
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    this.#count = lines.length;
    if (lines.length >= 2 * all.size + MOST_EXTRA) await this.#writeAnew(all);
    return all;
  }
}

/** The record of a line; undefined for a line that a kill cut off. */
function parsed(text: string): Known | undefined {
  try {
    return line.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
