import { pipeline, Readable } from "node:stream";
import { createZstdDecompress, zstdDecompressSync } from "node:zlib";
import { parseFields, parseHeader, TRANSCRIPT_VERSION } from "../../../sessions/transcript/entries.ts";
import { OlderLines } from "../../../sessions/transcript/migrate.ts";
import { type Fields, isFields } from "../../../utils/fields.ts";
import type { SourceDatabase } from "../frame/source.ts";
import { openSourceFile, SourceFault } from "../frame/source-file.ts";

/** Bytes that are read at once. */
export const BLOCK_BYTES = 256 * 1024;
const NEWLINE = 10;
/** Bytes of a line. A longer one is left out. */
const MOST_LINE = 64 * 1024 * 1024;
/** Lines of a transcript: a few kilobytes can expand to thousands of millions of empty ones. */
const MOST_LINES = 5_000_000;
/** Bytes that a compressed transcript may have when it is expanded: a few kilobytes can expand to fill the disk. */
const MOST_EXPANDED = 1024 * 1024 * 1024;
/** Damaged lines that a note names. */
const MOST_NAMED = 10;

/** A line of a transcript without its newline; undefined for one that is too long, or cannot be expanded. */
export type EntryLine = Buffer | undefined;

/** Errors of the source are thrown as `SourceFault`. */
export type Lines = AsyncIterable<EntryLine>;

/**
 * The lines of a file of the source, also of one that is compressed. Only newlines separate them: JSON may have other line separators in its
 * texts.
 */
export async function* transcriptLines(path: string, root: string): AsyncGenerator<EntryLine> {
  const bytes = await openSourceFile(path, root, BLOCK_BYTES);
  yield* linesOf(path.endsWith(".zst") ? expanded(bytes) : bytes);
}

/** The lines of an archive in a database. */
export const archiveLines = (bytes: Uint8Array, isPacked: boolean): Lines =>
  linesOf(isPacked ? expanded(Readable.from([bytes])) : Readable.from([bytes]));

/** The entries of a session in an agent's database. Long ones are compressed. */
export async function* databaseLines(db: SourceDatabase, sessionId: string): AsyncGenerator<EntryLine> {
  const zstd = db.has("transcript_events", "event_zstd") ? ", event_zstd" : "";
  const sql = `SELECT event_json${zstd} FROM transcript_events WHERE session_id = ? ORDER BY seq`;
  try {
    for (const { event_json: text, event_zstd: packed } of db.rows(sql, sessionId)) {
      if (typeof text === "string") yield Buffer.from(text);
      else if (packed instanceof Uint8Array) yield entryIn(packed);
    }
  } catch (error) {
    throw SourceFault.of(error);
  }
}

function entryIn(packed: Uint8Array): EntryLine {
  try {
    return zstdDecompressSync(packed, { maxOutputLength: MOST_LINE });
  } catch {
    // Damaged or too long: the copy counts the line among those that are left out.
    return undefined;
  }
}

/** The entries of an archive of a session that was not used for long: the rows of its tables as lines. */
export async function* coldLines(packed: Readable): AsyncGenerator<EntryLine> {
  for await (const line of linesOf(expanded(packed))) {
    const { kind, row } = (line && parseFields(line.toString("utf8"))) ?? {};
    if (line === undefined) yield undefined;
    else if (kind === "event" && isFields(row) && typeof row["event_json"] === "string")
      yield Buffer.from(row["event_json"]);
  }
}

/** Expands blocks one after the other, up to a limit. */
async function* expanded(packed: Readable): AsyncGenerator<Buffer> {
  let size = 0;
  // An error of either stream is thrown by the loop.
  const blocks: AsyncIterable<Buffer> = pipeline(packed, createZstdDecompress({ chunkSize: BLOCK_BYTES }), () => {});
  for await (const block of blocks) {
    size += block.length;
    if (size > MOST_EXPANDED) throw new SourceFault(`it expands to more than ${MOST_EXPANDED} bytes`);
    yield block;
  }
}

async function* linesOf(blocks: AsyncIterable<Buffer>): AsyncGenerator<EntryLine> {
  let held = new HeldLine();
  let count = 0;
  for await (const block of readable(blocks)) {
    let start = 0;
    for (let end = block.indexOf(NEWLINE); end >= 0; end = block.indexOf(NEWLINE, start)) {
      held.add(block.subarray(start, end));
      yield held.line;
      held = new HeldLine();
      start = end + 1;
      count += 1;
      if (count > MOST_LINES) throw new SourceFault(`it has more than ${MOST_LINES} lines`);
    }
    held.add(block.subarray(start));
  }
  if (!held.isEmpty) yield held.line;
}

async function* readable(blocks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* blocks;
  } catch (error) {
    throw SourceFault.of(error);
  }
}

/** A line while it is read. One that becomes too long is no longer held. */
class HeldLine {
  #parts: Buffer[] = [];
  #size = 0;

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  get line(): EntryLine {
    return this.#size > MOST_LINE ? undefined : Buffer.concat(this.#parts);
  }

  add(part: Buffer): void {
    if (part.length === 0) return;
    this.#size += part.length;
    if (this.#size > MOST_LINE) this.#parts = [];
    else this.#parts.push(part);
  }
}

export interface CopyFacts {
  readonly sessionId: string;
  /** The key that the header names, in the form inside; undefined when nobody knows the chat. */
  readonly key: string | undefined;
  /** ISO 8601, for a header without a time. */
  readonly at: string;
  /** A directory of the source as it is written into the header here. */
  cwdHere(cwd: string): string;
  /** A line with the media files of the source at their places here. */
  withMedia(line: string): string;
}

/** A transcript on its way into this state directory, and what was found in it. */
export class TranscriptCopy {
  /** Numbers of the lines that could not be read, from 1. They are copied as they are. */
  readonly damaged: number[] = [];
  /** Numbers of the lines that are left out. */
  readonly lost: number[] = [];
  /** Whether somebody else than the owner has written. */
  hasGuests = false;
  messages = 0;
  readonly #facts: CopyFacts;
  readonly #tree = new Tree();
  #older: OlderLines | undefined;

  constructor(facts: CopyFacts) {
    this.#facts = facts;
  }

  /** The file's content in version 3, in pieces. */
  async *pieces(lines: Lines): AsyncGenerator<Buffer> {
    let held: Buffer[] = [];
    let size = 0;
    let number = 0;
    for await (const line of lines) {
      number += 1;
      for (const written of this.#written(line, number)) {
        held.push(written, LINE_END);
        size += written.length + 1;
      }
      if (size < BLOCK_BYTES) continue;
      yield Buffer.concat(held);
      held = [];
      size = 0;
    }
    if (number === 0) held.push(Buffer.from(this.#header({})), LINE_END);
    const last = this.#tree.closing();
    if (last) held.push(Buffer.from(JSON.stringify(last)), LINE_END);
    yield Buffer.concat(held);
  }

  /** Notes about lines for the receipt. */
  get notes(): readonly string[] {
    const { damaged, lost } = this;
    const note = (numbers: readonly number[], why: string, what: string) =>
      numbers.length === 0 ? [] : [`${named(numbers)} ${why}, and ${numbers.length === 1 ? "is" : "are"} ${what}`];
    return [
      ...note(damaged, "cannot be read", "copied as found"),
      ...note(lost, "cannot be expanded, or exceeded 64 MiB", "left out"),
    ];
  }

  #written(line: EntryLine, number: number): readonly Buffer[] {
    if (line === undefined) {
      this.lost.push(number);
      this.#tree.skip();
      return number === 1 ? [Buffer.from(this.#header({}))] : [];
    }
    return number === 1 ? this.#first(line) : this.#other(line, number);
  }

  #other(line: Buffer, number: number): readonly Buffer[] {
    const text = line.toString("utf8");
    if (text.trim() === "") return [];
    const fields = parseFields(text);
    if (!fields) {
      this.damaged.push(number);
      return [line];
    }
    return [this.#entry(fields, line, text)];
  }

  /** A file without a header gets one: its first line may be an entry. */
  #first(line: Buffer): readonly Buffer[] {
    const text = line.toString("utf8");
    const header = parseHeader(text);
    if (!header) return [Buffer.from(this.#header({})), ...this.#other(line, 1)];
    const fields = parseFields(text.replace(/^\uFEFF/, "")) ?? {};
    if (header.version < TRANSCRIPT_VERSION) {
      this.#older = new OlderLines(header.version);
      this.#older.present(fields);
    }
    return [Buffer.from(this.#header(fields))];
  }

  #header(fields: Fields): string {
    const { sessionId, key, at, cwdHere } = this.#facts;
    const { cwd, timestamp } = fields;
    return JSON.stringify({
      ...fields,
      type: "session",
      version: TRANSCRIPT_VERSION,
      id: sessionId,
      timestamp: typeof timestamp === "string" ? timestamp : at,
      cwd: cwdHere(typeof cwd === "string" ? cwd : ""),
      ...(key !== undefined && { sessionKey: key }),
    });
  }

  #entry(fields: Fields, line: Buffer, text: string): Buffer {
    const present = this.#older?.present(fields) ?? fields;
    const { message, type } = present;
    if (type === "message" && isFields(message)) this.#count(message);
    const placed = this.#tree.place(present);
    const written = placed === fields ? text : JSON.stringify(placed);
    const moved = this.#facts.withMedia(written);
    return moved === text ? line : Buffer.from(moved);
  }

  #count({ role, __openclaw: facts }: Fields): void {
    if (role === "user" || role === "assistant") this.messages += 1;
    if (role === "user" && isFields(facts) && facts["senderIsOwner"] === false) this.hasGuests = true;
  }
}

function named(numbers: readonly number[]): string {
  const some = numbers.slice(0, MOST_NAMED).join(", ");
  if (numbers.length === 1) return `line ${some}`;
  return `lines ${some}${numbers.length > MOST_NAMED ? ` and ${numbers.length - MOST_NAMED} more` : ""}`;
}

const LINE_END = Buffer.from("\n");

/** Types of entries that the source's programs put into the branch. They pass over all others. */
const IN_BRANCH = new Set<unknown>([
  "message",
  "thinking_level_change",
  "model_change",
  "compaction",
  "reset",
  "branch_summary",
  "custom",
  "custom_message",
  "label",
  "session_info",
]);

/**
 * The tree of entries as newer versions of OpenClaw write it, in the form that every reader of version 3 understands: there the last entry of
 * the file ends the branch. `leaf` chooses an entry as the end, entries may stand beside the branch, and `reset` begins the
 * conversation anew in the same file.
 */
class Tree {
  #leaf: string | null = null;
  /** The parent that the next entry names when it is to follow the leaf. */
  #nextParent: string | null = null;
  /** Whether an entry is left out since the last one of the branch. */
  #isBroken = false;
  /** Entries since the last reset. */
  #since: Set<string> | undefined;
  #last: { readonly id: string; readonly parentId: string | null; readonly timestamp: unknown } | undefined;

  /** Told of an entry that is left out: the next one of the branch follows the one before it. */
  skip(): void {
    this.#isBroken = true;
  }

  /** The entry as it is written here; the same object when nothing changes. */
  place(fields: Fields): Fields {
    const { id, type } = fields;
    if (typeof id !== "string" || type === "session") return fields;
    const placed = type === "leaf" ? this.#choice(fields, id) : this.#linked(fields, id);
    const { parentId, timestamp } = placed;
    this.#last = { id, parentId: typeof parentId === "string" ? parentId : null, timestamp };
    return placed;
  }

  /** An entry for the end of the file, where its last one does not end the branch. */
  closing(): Fields | undefined {
    const last = this.#last;
    if (!last || last.id === this.#leaf || last.parentId === this.#leaf) return undefined;
    return { ...noted("openclaw:leaf", {}), id: `end-${last.id}`, parentId: this.#leaf, timestamp: last.timestamp };
  }

  #choice(fields: Fields, id: string): Fields {
    const { targetId, appendParentId, timestamp } = fields;
    const wanted = typeof targetId === "string" || targetId === null ? targetId : this.#leaf;
    const isBefore = this.#since !== undefined && (wanted === null || !this.#since.has(wanted));
    this.#leaf = isBefore ? this.#leaf : wanted;
    this.#nextParent =
      !isBefore && (typeof appendParentId === "string" || appendParentId === null) ? appendParentId : this.#leaf;
    this.#since?.add(id);
    return { ...noted("openclaw:leaf", {}), id, parentId: this.#leaf, timestamp };
  }

  #linked(fields: Fields, id: string): Fields {
    const { type } = fields;
    const isBeside = fields["appendMode"] === "side";
    if (!IN_BRANCH.has(type)) {
      this.#since?.add(id);
      return fields;
    }
    const parentId = isBeside ? fields["parentId"] : this.#parentOf(fields);
    if (!isBeside) {
      this.#isBroken = false;
      this.#leaf = id;
      this.#nextParent = id;
    }
    if (type === "reset") return this.#anew(fields, id, parentId);
    this.#since?.add(id);
    return parentId === fields["parentId"] ? fields : { ...fields, parentId };
  }

  #parentOf({ parentId }: Fields): string | null {
    if (this.#isBroken || (typeof parentId !== "string" && parentId !== null)) return this.#leaf;
    const isBefore = this.#since !== undefined && (parentId === null || !this.#since.has(parentId));
    const isNext = parentId === this.#nextParent && this.#leaf !== this.#nextParent;
    return isBefore || isNext ? this.#leaf : parentId;
  }

  /** The context begins at the first entry that is kept, or after this one. */
  #anew(fields: Fields, id: string, parentId: unknown): Fields {
    const { firstKeptEntryId, reason, timestamp } = fields;
    this.#since = new Set([id]);
    if (typeof firstKeptEntryId !== "string")
      return { ...noted("openclaw:reset", { reason }), id, parentId: null, timestamp };
    const summary = "The person began the conversation anew. What follows was kept.";
    return { type: "compaction", id, parentId, timestamp, summary, firstKeptEntryId, tokensBefore: 0 };
  }
}

const noted = (customType: string, data: Fields): Fields => ({ type: "custom", customType, data });
