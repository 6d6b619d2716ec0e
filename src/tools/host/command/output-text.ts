import { StringDecoder } from "node:string_decoder";
import { stripVTControlCharacters } from "node:util";
import { Secret } from "../../../utils/secrets/secret.ts";

/** The end of a text in which a terminal control has begun and is not complete. */
// oxlint-disable-next-line no-control-regex -- it looks for control characters
const OPEN_CONTROL = /\u001B(?:\[[0-?]*[ -/]*|\][^\u0007\u001B]*\u001B?|[ -/]*)$/;
/** Most characters of such an end; titles of windows are shorter. */
const MOST_OPEN = 256;
/** Characters of a possible beginning of a secret that reveal nothing about it. */
const MOST_SHOWN = 3;

/**
 * Makes text of the bytes of one stream: without terminal controls, and with `[secret]` in place of every secret of
 * this process, even if the secret comes in two pieces. A possible beginning of either is held back until more text
 * follows.
 */
export class OutputText {
  readonly #decoder = new StringDecoder("utf8");
  #control = "";
  #secret = "";
  /** The beginning of `#secret` that was returned before the following text was known. */
  #shown = "";

  push(chunk: Buffer): string {
    return this.#take(this.#control + this.#decoder.write(chunk));
  }

  /** Whether `beforeOther` has something to return. */
  get hasFew(): boolean {
    return this.#secret.length <= MOST_SHOWN && this.#secret.length > this.#shown.length;
  }

  /**
   * Returns the few characters that are held back, before another text follows them. If they do begin a secret, the
   * secret is masked all the same; a longer beginning stays held back.
   */
  beforeOther(): string {
    if (this.#secret.length > MOST_SHOWN) return "";
    const fresh = this.#secret.slice(this.#shown.length);
    this.#shown = this.#secret;
    return fresh;
  }

  /** Returns the text that was held back. Called after the last chunk. */
  end(): string {
    const rest = this.#unshown(Secret.mask(this.#secret + plain(this.#control + this.#decoder.end())));
    this.#control = "";
    this.#secret = "";
    this.#shown = "";
    return rest;
  }

  #take(text: string): string {
    const end = openFrom(text);
    this.#control = text.slice(end);
    const { masked, rest } = Secret.maskBegun(this.#secret + plain(text.slice(0, end)));
    this.#secret = rest;
    const fresh = this.#unshown(masked);
    this.#shown = this.#shown.startsWith(masked) ? this.#shown.slice(masked.length) : "";
    return fresh;
  }

  /** A text without the beginning that was returned before. */
  #unshown(text: string): string {
    let same = 0;
    while (same < this.#shown.length && text[same] === this.#shown[same]) same += 1;
    return text.slice(same);
  }
}

/** Place from which a text cannot be read without the following text. */
function openFrom(text: string): number {
  if (text.endsWith("\r")) return text.length - 1;
  const at = Math.max(0, text.length - MOST_OPEN);
  const found = text.slice(at).search(OPEN_CONTROL);
  return found < 0 ? text.length : at + found;
}

function plain(text: string): string {
  // oxlint-disable-next-line no-control-regex -- it looks for control characters
  const bare = /[\u001B\u009B]/.test(text) ? stripVTControlCharacters(text) : text;
  return bare.replaceAll("\0", "").replaceAll("\r\n", "\n");
}
