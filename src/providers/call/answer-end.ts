/**
 * How an API ends the stream of an answer. `last`: the event after which nothing comes. `finish`: the answer is
 * complete, and only counts of tokens may come. `more`: the answer was not complete after all. `missing`: text that the
 * SDK needs when nothing came after the finish. Each pattern fits only members of the event itself, since quotation
 * marks in a text are escaped.
 */
interface Format {
  readonly last?: RegExp;
  readonly finish?: RegExp;
  readonly more?: RegExp;
  readonly missing?: string;
}

/** Servers that write another word, or the word in every event, are waited for as before. */
const FINISH =
  /"finish_?reason"\s*:\s*"(?:stop|length|model_length|tool_calls|tool_use|function_call|content_filter|end_turn|eos|eos_token|stop_sequence|max_tokens)"/gi;
const CHAT: Format = {
  finish: FINISH,
  more: /"content"\s*:\s*(?:"[^"]|\[\s*\{)|"(?:arguments|reasoning_content|reasoning)"\s*:\s*"[^"]/,
};
const RESPONSES: Format = { last: /"type"\s*:\s*"response\.(?:completed|incomplete|failed|done)"/g };
/**
 * Google may write the reason in each event. The last event has the counts too, but an event with a reason need not be
 * the last.
 */
const GOOGLE: Format = {
  finish: /"finishReason"\s*:\s*"(?!FINISH_REASON_UNSPECIFIED)\w+"/g,
  more: /"(?:text|functionCall)"\s*:/,
};
const STOP = '{"type":"message_stop"}';
const FORMATS: ReadonlyMap<string, Format> = new Map([
  ["openai-completions", CHAT],
  ["mistral-conversations", CHAT],
  ["openai-responses", RESPONSES],
  ["azure-openai-responses", RESPONSES],
  ["openai-codex-responses", RESPONSES],
  [
    "anthropic-messages",
    {
      last: /"type"\s*:\s*"message_stop"/g,
      finish: /"stop_reason"\s*:\s*"\w+"/g,
      more: /"type"\s*:\s*"content_block_\w+"/,
      missing: `\n\nevent: message_stop\ndata: ${STOP}\n\n`,
    },
  ],
  ["google-generative-ai", GOOGLE],
  ["google-vertex", GOOGLE],
]);

/** Milliseconds in which the counts of a finished answer must come. */
export const AFTER_FINISH_MS = 1500;

/** Ends the stream of any API. */
const DONE = /(?:^|\n)data: ?\[DONE\]/g;
/** Characters of earlier bytes that are looked at again: a mark may be cut between two pieces. */
const CARRIED = 96;
const NEW_LINE = 0x0a;
const EMPTY = new Uint8Array();

/**
 * Finds where an answer ends in the bytes of its stream, so that nobody waits for a server that leaves the connection open. It parses
 * nothing: an API that it does not know, and an end that it does not recognise, last until the body ends.
 */
export class AnswerEnd {
  /** `finished`: the answer is complete, but more may come. `over`: nothing that comes counts. */
  state: "open" | "finished" | "over" = "open";
  /** How often an event said that the answer is complete. */
  finishes = 0;
  /** API of the stream; unset for a body that is no answer. */
  readonly api: string | undefined;
  readonly #format: Format | undefined;
  #carried = "";
  /** The last event has begun: the answer ends with the event's line. */
  #isLast = false;

  /** Undefined: a body that is no answer, whose end nobody knows. */
  constructor(api?: string) {
    this.api = api;
    this.#format = api === undefined ? undefined : FORMATS.get(api);
  }

  /** The bytes that belong to the answer. */
  take(bytes: Uint8Array): Uint8Array {
    if (!this.#format || this.state === "over") return this.#format ? EMPTY : bytes;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    const from = this.#carried.length;
    const all = this.#carried + text;
    this.#carried = all.slice(-CARRIED);
    const done = endOf(DONE, all, from);
    if (done !== undefined) return this.#over(bytes, done - from);
    const { last, finish, more } = this.#format;
    const lastAt = this.#isLast ? from : last && endOf(last, all, from);
    if (lastAt !== undefined) return this.#toEndOfLine(bytes, lastAt - from);
    if (finish && endOf(finish, all, from) !== undefined) this.#finish();
    else if (more?.test(text)) this.state = "open";
    return bytes;
  }

  /** Bytes that a finished answer lacks when nothing more came. */
  close(): Uint8Array {
    const missing = this.#missing;
    this.state = "over";
    return missing === "" ? EMPTY : Buffer.from(missing, "latin1");
  }

  get #missing(): string {
    if (this.state === "over") return "";
    if (this.#isLast) return "\n\n";
    return this.state === "finished" ? (this.#format?.missing ?? "") : "";
  }

  #toEndOfLine(bytes: Uint8Array, from: number): Uint8Array {
    this.#isLast = true;
    this.#finish();
    const end = bytes.indexOf(NEW_LINE, Math.max(0, from));
    if (end < 0) return bytes;
    // The empty line after it, which ends the event, may come later, or not at all.
    return Buffer.concat([this.#over(bytes, end + 1), Buffer.from("\n\n")]);
  }

  #finish(): void {
    this.state = "finished";
    this.finishes += 1;
  }

  #over(bytes: Uint8Array, end: number): Uint8Array {
    this.state = "over";
    return bytes.subarray(0, Math.max(0, end));
  }
}

/** Where the first match that ends after `from` ends. */
function endOf(pattern: RegExp, text: string, from: number): number | undefined {
  pattern.lastIndex = 0;
  for (let found = pattern.exec(text); found; found = pattern.exec(text)) {
    const end = found.index + found[0].length;
    if (end > from) return end;
  }
  return undefined;
}
