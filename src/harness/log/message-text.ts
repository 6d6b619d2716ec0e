import type { TagStripper } from "../../reply/tags.ts";
import type { RunEventBody } from "../../types/run/events.ts";
import { MOST_SILENT_REST, withRest } from "../../types/run/turns.ts";

type Delta = Extract<RunEventBody, { type: "text_delta" | "thinking_delta" }>;

interface MessageTextParts {
  /** Removes the tags that the model writes. */
  readonly stripper: TagStripper;
  /** Text of the message that watchers have seen, of which the rest follows; usually empty. */
  readonly carried: string;
  /** Its text may turn out to be a thought that only a tag ends. */
  readonly isUnsure: boolean;
  emit(delta: Delta): void;
}

/** The text of one message of a model, and what watchers are told of it while it is written. */
export class MessageText {
  readonly #parts: MessageTextParts;
  #text: string;
  /** The beginning of a rest that may be nothing but the silent token; undefined where it is none. */
  #rest: string | undefined;
  #isUnsure: boolean;

  constructor(parts: MessageTextParts) {
    this.#parts = parts;
    this.#text = parts.carried;
    this.#rest = parts.carried === "" ? undefined : "";
    this.#isUnsure = parts.isUnsure;
  }

  push(delta: string): void {
    this.#take(this.#parts.stripper.push(delta));
  }

  /** A model that says what it thinks apart from its text thinks nothing in it. */
  think(delta: string): void {
    this.#isUnsure = false;
    this.#parts.emit({ type: "thinking_delta", delta });
  }

  /** The message has ended, with calls or without. Returns its whole text. */
  end(calls: boolean): string {
    this.#isUnsure = false;
    this.#take(this.#parts.stripper.end(calls));
    const rest = this.#rest ?? "";
    this.#rest = undefined;
    if (withRest(this.#text, rest) !== this.#text) this.#show(rest);
    return this.#text;
  }

  /** What the tags have let through, after what the model thought between them. */
  #take(delta: string): void {
    const { stripper } = this.#parts;
    const thought = stripper.thinking();
    if (thought !== "") this.think(thought);
    if (stripper.begunAnew()) return this.#beginAnew(delta);
    if (this.#rest === undefined) return this.#show(delta);
    this.#rest += delta;
    if (this.#rest.length > MOST_SILENT_REST) this.#showRest(this.#rest);
  }

  #showRest(rest: string): void {
    this.#rest = undefined;
    this.#show(rest);
  }

  #show(delta: string): void {
    if (delta === "") return;
    this.#text += delta;
    const unsure = this.#isUnsure && { unsure: true as const };
    this.#parts.emit({ type: "text_delta", delta, text: this.#text, ...unsure });
  }

  #beginAnew(delta: string): void {
    this.#rest = undefined;
    this.#text = delta;
    this.#parts.emit({ type: "text_delta", delta, text: delta, anew: true });
  }
}
