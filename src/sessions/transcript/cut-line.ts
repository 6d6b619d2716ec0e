import type { FileHandle } from "node:fs/promises";
import { sizeText } from "../../utils/text/size-text.ts";

/** Bytes of a text that are kept of a line which is too long. */
const KEPT_OF_TEXT = 64 * 1024;
/** Bytes that a shortened line may have. Of a longer one only the beginning is kept, which says where it belongs. */
const MOST_BYTES = 4 * 1024 * 1024;
const BLOCK_BYTES = 256 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
/** Bytes of the longest escape sequence in JSON, `\u1234`. */
const ESCAPE_BYTES = 6;

/**
 * A line of JSON between two bytes of a file, with its long texts cut and its long `data` left empty. Reads it in blocks,
 * so that the memory does not grow with the line.
 */
export async function readCutLine(file: FileHandle, { from, to }: { from: number; to: number }): Promise<string> {
  const cutter = new Cutter();
  const block = Buffer.alloc(Math.min(BLOCK_BYTES, to - from));
  for (let at = from; at < to && cutter.bytes <= MOST_BYTES;) {
    const { bytesRead } = await file.read(block, 0, Math.min(block.length, to - at), at);
    if (bytesRead === 0) break;
    cutter.take(block.subarray(0, bytesRead));
    at += bytesRead;
  }
  const text = cutter.text();
  return cutter.bytes <= MOST_BYTES ? text : text.slice(0, KEPT_OF_TEXT);
}

/** Copies JSON, but for the ends of its long texts. */
class Cutter {
  bytes = 0;
  #parts: Buffer[] = [];
  #isInText = false;
  #isEscaped = false;
  /** Bytes since the last backslash. */
  #sinceEscape = 0;
  /** Bytes of the present text that were copied, and left out. */
  #kept = 0;
  #left = 0;
  /** The number of parts before the present text. */
  #before = 0;
  /** The last short text, and the name of the present value. */
  #last = "";
  #name = "";

  take(block: Buffer): void {
    for (let at = 0; at < block.length;) at = this.#isInText ? this.#text(block, at) : this.#between(block, at);
  }

  text(): string {
    return Buffer.concat(this.#parts).toString("utf8");
  }

  /** Copies up to the next quote. Returns where to go on. */
  #between(block: Buffer, from: number): number {
    const quote = block.indexOf(QUOTE, from);
    const end = quote < 0 ? block.length : quote + 1;
    this.#copy(block, from, end);
    if (block.subarray(from, end).includes(COLON)) this.#name = this.#last;
    else if (end - from > 1) this.#name = "";
    if (quote < 0) return end;
    this.#isInText = true;
    this.#before = this.#parts.length;
    this.#kept = 0;
    this.#left = 0;
    this.#sinceEscape = ESCAPE_BYTES;
    return end;
  }

  #text(block: Buffer, from: number): number {
    let cut = this.#left > 0 ? from : -1;
    for (let at = from; at < block.length; at += 1) {
      const byte = block[at] ?? 0;
      if (byte === QUOTE && !this.#isEscaped) {
        this.#copy(block, from, cut < 0 ? at : cut);
        this.#endText(cut < 0 ? 0 : at - cut);
        this.#copy(block, at, at + 1);
        return at + 1;
      }
      if (cut < 0 && this.#mayCut(byte, at - from)) cut = at;
      this.#isEscaped = byte === BACKSLASH && !this.#isEscaped;
      this.#sinceEscape = byte === BACKSLASH ? 0 : this.#sinceEscape + 1;
    }
    const end = cut < 0 ? block.length : cut;
    this.#copy(block, from, end);
    this.#kept += end - from;
    this.#left += block.length - end;
    return block.length;
  }

  /** Whether enough is kept and neither a character nor an escape sequence would be cut in two. */
  #mayCut(byte: number, more: number): boolean {
    const isWhole = byte < 0x80 && byte !== BACKSLASH && this.#sinceEscape >= ESCAPE_BYTES;
    return this.#kept + more >= KEPT_OF_TEXT && isWhole && !this.#isEscaped;
  }

  #endText(more: number): void {
    this.#isInText = false;
    const left = this.#left + more;
    const parts = this.#parts.slice(this.#before);
    this.#last = left === 0 && parts.length === 1 ? (parts[0]?.toString("utf8", 0, NAME_BYTES) ?? "") : "";
    if (left === 0) return;
    // A part of a picture is no picture.
    if (this.#name === "data") this.#parts.length = this.#before;
    else this.#parts.push(Buffer.from(`… [${sizeText(left)} are left out]`));
  }

  #copy(block: Buffer, from: number, to: number): void {
    if (to <= from) return;
    this.bytes += to - from;
    this.#parts.push(Buffer.from(block.subarray(from, to)));
  }
}

/** Bytes that are looked at of a name. */
const NAME_BYTES = 100;
