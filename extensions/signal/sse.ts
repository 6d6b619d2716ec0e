/** An event of a stream, an event that was too long to keep, or a sign of life between events. */
export type StreamItem =
  | { readonly kind: "event"; readonly id?: string; readonly name: string; readonly data: string }
  | { readonly kind: "oversized"; readonly id?: string }
  | { readonly kind: "comment" };

/** The part of an incomplete event that has been read. */
interface Draft {
  name: string;
  data: string[];
  /** Characters of `data`. */
  size: number;
  isOversized: boolean;
}

const emptyDraft = (): Draft => ({ name: "", data: [], size: 0, isOversized: false });

/** Characters of one event, and of one line. An event holds no files, and the longest text on Signal has 64 KiB. */
const MOST_CHARACTERS = 4_194_304;

/** Replaces the part of a line that was dropped: no field of the standard begins with it. */
const DROPPED = "-";

/**
 * Parses the text of an event stream in any pieces (https://html.spec.whatwg.org/multipage/server-sent-events.html), with
 * or without a space after the colon, lines ended by LF, CRLF or CR. Its memory is bounded whatever the stream holds.
 */
export class EventReader {
  #rest = "";
  #draft = emptyDraft();
  #id: string | undefined;

  /** The items that this piece completes, in order. */
  push(piece: string): readonly StreamItem[] {
    const text = this.#rest + piece;
    // A CR at the end may be the first half of a CRLF.
    const end = text.endsWith("\r") ? text.length - 1 : text.length;
    const lines = text.slice(0, end).split(/\r\n|\n|\r/);
    const rest = lines.pop() ?? "";
    const items = lines.flatMap((line) => this.#line(line));
    if (rest.length > MOST_CHARACTERS) this.#drop();
    this.#rest = (rest.length > MOST_CHARACTERS ? DROPPED : rest) + text.slice(end);
    return items;
  }

  #line(line: string): readonly StreamItem[] {
    if (line === "") return this.#finish();
    const colon = line.indexOf(":");
    if (colon === 0) return [{ kind: "comment" }];
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#add(value);
    if (field === "event") this.#draft.name = value;
    if (field === "id" && !value.includes("\0")) this.#id = value;
    return [];
  }

  #add(value: string): void {
    // Empty lines count too: each takes memory.
    this.#draft.size += value.length + 1;
    if (this.#draft.size > MOST_CHARACTERS) this.#drop();
    else this.#draft.data.push(value);
  }

  #drop(): void {
    this.#draft.isOversized = true;
    this.#draft.data = [];
  }

  #finish(): readonly StreamItem[] {
    const { name, data, isOversized } = this.#draft;
    this.#draft = emptyDraft();
    const id = this.#id === undefined ? {} : { id: this.#id };
    if (isOversized) return [{ kind: "oversized", ...id }];
    return data.length === 0 ? [] : [{ kind: "event", ...id, name: name || "message", data: data.join("\n") }];
  }
}
