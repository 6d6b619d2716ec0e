import type { FileHandle } from "node:fs/promises";
import { readCutLine } from "./cut-line.ts";

const BLOCK_BYTES = 64 * 1024;
/** Bytes in which the beginning of a long line is searched. */
const SEARCH_BYTES = 1024 * 1024;
const NEWLINE = 10;

export interface RawLine {
  readonly text: string;
  /** Byte where the line begins. */
  readonly offset: number;
  /** Byte after the line's newline. */
  readonly end: number;
  /** False for a last line without its newline. */
  readonly isWhole: boolean;
  /** The line is too long to be read whole: long texts in it are cut, or only its beginning is there. */
  readonly isCut?: true;
}

/**
 * Bytes of a line that are read into memory at once. No provider takes a request with a longer message, so a longer line
 * is damaged, or was made by a tool that nobody limited.
 */
const LONGEST_LINE = 16 * 1024 * 1024;

/** Matches the last line of an object that has several lines; group 1 is the indentation of that line. */
const CLOSING = /^(\s*)\}[\s,]*$/;

/** A transcript became shorter while it was read: its torn last line was set aside meanwhile. */
export class TranscriptCut extends Error {
  constructor() {
    super("the transcript became shorter while it was read");
  }
}

/** Reads the lines of a file from the last to the first, a block at a time. */
export class BackReader {
  bytesRead = 0;
  readonly #file: FileHandle;
  /** The bytes of the file from `#start` on that were not returned yet. */
  #held: Buffer = Buffer.alloc(0);
  #start: number;
  #block = BLOCK_BYTES;
  #isFirst = true;

  /** Begins with the line that ends before byte `end`. */
  constructor(file: FileHandle, end: number) {
    this.#file = file;
    this.#start = end;
  }

  /**
   * The next line towards the start of the file. Undefined when there is none. Empty lines are skipped. The lines of an object that
   * somebody has formatted over several count as one.
   */
  async previous(): Promise<RawLine | undefined> {
    for (;;) {
      const line = await this.#next();
      const indent = line && CLOSING.exec(line.text)?.[1];
      if (line && indent !== undefined) return (await this.#upTo(line, indent)) ?? line;
      if (line === undefined || line.text.trim() !== "") return line;
    }
  }

  /** The object that ends with this line. Undefined, with the reader where it was, when its first line is not found. */
  async #upTo(last: RawLine, indent: string): Promise<RawLine | undefined> {
    const [held, start] = [this.#held, this.#start];
    const texts = [last.text];
    for (;;) {
      const line = await this.#next();
      if (line?.text.startsWith(indent) !== true) break;
      const inside = line.text.slice(indent.length);
      texts.push(line.text);
      if (inside.trimEnd() === "{") return { ...last, text: texts.toReversed().join("\n"), offset: line.offset };
      if (!/^\s/.test(inside)) break;
    }
    this.#held = held;
    this.#start = start;
    return undefined;
  }

  async #next(): Promise<RawLine | undefined> {
    if (this.#held.length === 0 && !(await this.#fill())) return undefined;
    const end = this.#start + this.#held.length;
    const isWhole = !this.#isFirst || this.#held.at(-1) === NEWLINE;
    this.#isFirst = false;
    if (this.#held.at(-1) === NEWLINE) this.#held = this.#held.subarray(0, -1);
    let from = this.#held.lastIndexOf(NEWLINE);
    while (from < 0 && this.#held.length <= LONGEST_LINE && (await this.#fill()))
      from = this.#held.lastIndexOf(NEWLINE);
    if (from < 0 && this.#held.length > LONGEST_LINE) return this.#nextLong({ end, isWhole });
    const text = this.#held.toString("utf8", from + 1);
    const offset = this.#start + from + 1;
    this.#held = this.#held.subarray(0, from + 1);
    this.#block = BLOCK_BYTES;
    return { text, offset, end, isWhole };
  }

  /** A line of which only the beginning and the end are searched, and its texts are cut. */
  async #nextLong({ end, isWhole }: { end: number; isWhole: boolean }): Promise<RawLine> {
    const to = this.#start + this.#held.length;
    this.#held = Buffer.alloc(0);
    const block = Buffer.allocUnsafe(SEARCH_BYTES);
    let newline = -1;
    while (newline < 0 && this.#start > 0) {
      const length = Math.min(block.length, this.#start);
      await this.#read(block, length);
      newline = block.subarray(0, length).lastIndexOf(NEWLINE);
      if (newline >= 0) this.#held = Buffer.from(block.subarray(0, newline + 1));
    }
    const offset = this.#start + this.#held.length;
    this.#block = BLOCK_BYTES;
    const text = await readCutLine(this.#file, { from: offset, to });
    return { text, offset, end, isWhole, isCut: true };
  }

  /** Reads one more block before the others. For the same line each block is twice as large, so that the work stays linear. */
  async #fill(): Promise<boolean> {
    const most = Math.max(BLOCK_BYTES, LONGEST_LINE + 1 - this.#held.length);
    const length = Math.min(this.#block, this.#start, most);
    if (length === 0) return false;
    const block = Buffer.allocUnsafe(length);
    await this.#read(block, length);
    this.#held = this.#held.length === 0 ? block : Buffer.concat([block, this.#held]);
    this.#block *= 2;
    return true;
  }

  /** Reads the bytes before the present start into the block. */
  async #read(block: Buffer, length: number): Promise<void> {
    const { bytesRead } = await this.#file.read(block, 0, length, this.#start - length);
    if (bytesRead !== length) throw new TranscriptCut();
    this.bytesRead += length;
    this.#start -= length;
  }
}
