import { createReadStream, createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { diskError } from "../../../../store/disk.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { shownMessage, type ShownMessage } from "../../../../types/session.ts";
import { errorCode } from "../../../../utils/missing.ts";
import type { Io } from "../../io.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { readState } from "../../state.ts";
import { messageText } from "../message/message-text.ts";
import { findStoredSession } from "./session-files.ts";

export interface ExportFlags {
  readonly format: string;
  readonly output?: string;
  readonly allBranches?: boolean;
}

const lineShape = z.looseObject({ type: z.literal("message"), message: shownMessage });

/**
 * The transcript: the lines of its file, or as Markdown the branch that is continued, and the others when they are asked for. Read from
 * its file even while a gateway runs: it is only ever appended to. Throws NOT_FOUND, `USAGE` when the output file is there already, and
 * DISK_FULL or DISK_WRITE.
 */
export async function sessionsExport(
  io: Io,
  key: string,
  { format, output, allBranches = false }: ExportFlags,
): Promise<number> {
  const { file } = await findStoredSession(await readState(io), key);
  const branches = format === "markdown" ? await readBranches(file) : undefined;
  const source = branches ? Readable.from(markdownOf(file, branches, allBranches)) : createReadStream(file, "utf8");
  if (output === undefined) for await (const chunk of source) io.out(shown(io, String(chunk)), "data");
  else {
    await writeNew(source, output);
    io.err(`Wrote ${output}.\n`);
  }
  if (branches && !allBranches && branches.count > 1) io.err(leftOut(branches));
  return 0;
}

function leftOut({ count, messages }: Branches): string {
  const others = count === 2 ? "another branch is" : `${count - 1} other branches are`;
  const said = messages === 1 ? "1 message" : `${messages} messages`;
  return `${others} left out, with ${said}: --all-branches writes them too.\n`;
}

/** A file or a pipe gets the text unchanged; for a terminal, control sequences are removed. */
const shown = (io: Io, text: string): string => (io.isTerminal ? withoutTerminalControls(text) : text);

async function writeNew(source: Readable, output: string): Promise<void> {
  try {
    await pipeline(source, createWriteStream(output, { flags: "wx", mode: 0o600 }));
  } catch (error) {
    if (errorCode(error) !== "EEXIST") {
      // Half of a file would keep the next try from writing.
      await rm(output, { force: true });
      throw diskError(error, output);
    }
    throw new OpenClawError("USAGE", {
      message: `${output} is there already.`,
      fix: "Name a file that is not there yet.",
      cause: error,
    });
  }
}

/** The branches of a transcript. */
interface Branches {
  /** The branch of each line of the file, with what it shares with an earlier branch left to that; 0 is the one that is continued. */
  readonly ofLine: readonly (number | undefined)[];
  readonly count: number;
  /** The messages that are in other branches only. */
  readonly messages: number;
}

const linkShape = z.looseObject({ id: z.string(), parentId: z.string().nullish(), type: z.string() });

interface Entry {
  readonly line: number;
  readonly parent: string | undefined;
  readonly isMessage: boolean;
}

async function readBranches(file: string): Promise<Branches> {
  const entries = await readEntries(file);
  const parents = new Set([...entries.values()].map(({ parent }) => parent));
  const newest = [...entries.keys()].toReversed();
  const ofLine: (number | undefined)[] = [];
  let [count, messages] = [0, 0];
  for (const [at, tip] of newest.entries()) {
    // The last entry is that of the branch which is continued.
    if (at > 0 && parents.has(tip)) continue;
    const own = ownOf(tip, entries, ofLine);
    const said = own.filter(({ isMessage }) => isMessage).length;
    if (at > 0 && said === 0) continue;
    for (const { line } of own) ofLine[line] = count;
    messages += count === 0 ? 0 : said;
    count += 1;
  }
  return { ofLine, count, messages };
}

/** The entries of the path to this one that are in no earlier branch. */
function ownOf(
  tip: string,
  entries: ReadonlyMap<string, Entry>,
  ofLine: readonly (number | undefined)[],
): readonly Entry[] {
  const own = new Set<Entry>();
  for (let entry = entries.get(tip); entry && !own.has(entry); entry = entries.get(entry.parent ?? "")) {
    if (ofLine[entry.line] !== undefined) break;
    own.add(entry);
  }
  return [...own];
}

/** The entries by their ids, in the order of the file. One that names no parent follows the one in front of it. */
async function readEntries(file: string): Promise<ReadonlyMap<string, Entry>> {
  const entries = new Map<string, Entry>();
  let [line, inFront]: [number, string | undefined] = [0, undefined];
  for await (const text of linesOf(file)) {
    const json = parsed(text);
    const { id = `line-${line}`, parentId, type } = linkShape.partial().safeParse(json).data ?? {};
    const isMessage = messageIn(json) !== undefined;
    if (type !== undefined && type !== "session") {
      const parent = parentId === undefined ? inFront : (parentId ?? undefined);
      entries.set(id, { line, parent, isMessage });
      inFront = id;
    }
    line += 1;
  }
  return entries;
}

async function* markdownOf(file: string, { ofLine, count }: Branches, allBranches: boolean): AsyncGenerator<string> {
  for (let branch = 0; branch < (allBranches ? count : 1); branch += 1) {
    if (branch > 0) yield `# Another branch (${branch} of ${count - 1})\n\n`;
    let line = 0;
    for await (const text of linesOf(file)) {
      const message = ofLine[line] === branch ? messageIn(parsed(text)) : undefined;
      if (message) yield `## ${message.role}\n\n${messageText(message)}\n\n`;
      line += 1;
    }
  }
}

const linesOf = (file: string): AsyncIterable<string> =>
  createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });

const messageIn = (json: unknown): ShownMessage | undefined => lineShape.safeParse(json).data?.message;

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // A torn line; the gateway repairs and reports it when it opens the file.
    return undefined;
  }
}
