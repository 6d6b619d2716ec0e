/** One event of a stream, or a sign of life between events. */
export type StreamItem =
  | { readonly kind: "event"; readonly id?: string; readonly name: string; readonly data: string }
  | { readonly kind: "comment" };

/** What was read of the event that is not complete yet. */
interface Draft {
  name: string;
  data: string[];
}

/**
 * Takes the text of an event stream in any pieces (https://html.spec.whatwg.org/multipage/server-sent-events.html), with
 * or without a space after the colon, lines ended by LF, CRLF or CR.
 */
export class EventReader {
  #rest = "";
  #draft: Draft = { name: "", data: [] };
  #id: string | undefined;

  /** What has become complete with this piece, in its order. */
  push(piece: string): readonly StreamItem[] {
    const text = this.#rest + piece;
    // A CR at the end may be the first half of a CRLF.
    const end = text.endsWith("\r") ? text.length - 1 : text.length;
    const lines = text.slice(0, end).split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? "") + text.slice(end);
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): readonly StreamItem[] {
    if (line === "") return this.#finish();
    const colon = line.indexOf(":");
    if (colon === 0) return [{ kind: "comment" }];
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#draft.data.push(value);
    if (field === "event") this.#draft.name = value;
    if (field === "id" && !value.includes("\0")) this.#id = value;
    return [];
  }

  #finish(): readonly StreamItem[] {
    const { name, data } = this.#draft;
    this.#draft = { name: "", data: [] };
    if (data.length === 0) return [];
    const id = this.#id === undefined ? {} : { id: this.#id };
    return [{ kind: "event", ...id, name: name || "message", data: data.join("\n") }];
  }
}
