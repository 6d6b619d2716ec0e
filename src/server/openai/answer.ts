import type { AnswerWish } from "../../types/chat/client-ask.ts";
import type { RunStream } from "../../types/run/events.ts";
import type { ToolCallContent, Usage } from "../../types/run/model.ts";
import type { Receipt, RunResult } from "../../types/run/run.ts";
import { jsonIn } from "../../utils/json-schema/json-answer.ts";
import { RunText } from "../events/runs.ts";
import { fromFailure, stopped, type ApiError } from "./errors.ts";
import type { AskedAnswer } from "./said.ts";

/** The end of an answer: as the model ended it, or the error in its place. */
export type ClientAnswer =
  | {
      readonly kind: "done";
      readonly text: string;
      /** The calls that the client is to make. */
      readonly calls: readonly ToolCallContent[];
      readonly finish: "stop" | "length" | "tool_calls";
      readonly usage: Usage;
    }
  | { readonly kind: "failed"; readonly error: ApiError };

/** Reads a run to its end. `show` gets each piece of the answer's text as it comes, and resolves when the client can take more. */
export async function readClientAnswer(
  stream: RunStream,
  { ask: { tools = [], wish = {} } }: Pick<AskedAnswer, "ask">,
  show: (text: string) => Promise<void>,
): Promise<ClientAnswer> {
  const own = new Set(tools.map(({ name }) => name));
  const text = wish.format ? new JsonText() : new PlainText(wish);
  let calls: readonly ToolCallContent[] = [];
  for await (const event of stream.watch()) {
    if (event.type === "run_end") {
      const end = endOf(event, { calls, text });
      if (end.kind === "done") await show(end.rest);
      return end;
    }
    if (event.type === "message_end")
      calls = event.message.content.filter((part) => part.type === "toolCall").filter(({ name }) => own.has(name));
    const piece = text.add(event);
    if (piece !== "") await show(piece);
  }
  return { kind: "failed", error: stopped("the run ended without an outcome") };
}

interface AnswerText {
  /** Takes an event of the run. Returns the text that can be shown. */
  add(event: Parameters<RunText["add"]>[0]): string;
  /** The whole text, and its part that was not shown; undefined when the answer has not the form that was asked for. */
  end(): { readonly text: string; readonly rest: string } | undefined;
}

interface Ended {
  readonly result: RunResult;
  readonly receipt: Receipt;
}

function endOf(
  { result, receipt }: Ended,
  { calls, text }: { readonly calls: readonly ToolCallContent[]; readonly text: AnswerText },
): (ClientAnswer & { readonly kind: "done"; readonly rest: string }) | (ClientAnswer & { readonly kind: "failed" }) {
  if (result.kind === "failed") return { kind: "failed", error: fromFailure(result.failure) };
  if (result.kind === "aborted") return { kind: "failed", error: stopped(`the run was aborted by ${result.by}`) };
  const said = text.end() ?? (calls.length > 0 ? { text: "", rest: "" } : undefined);
  if (!said) return { kind: "failed", error: NO_JSON };
  const finish = calls.length > 0 ? "tool_calls" : result.stop;
  return { kind: "done", ...said, calls, finish, usage: receipt.usage };
}

const NO_JSON: ApiError = {
  status: 502,
  message: "The model wrote no JSON, though the request asks for it; ask again, or choose another model.",
  type: "server_error",
  code: "invalid_json",
};

/** Text that is shown as it comes, up to the first of the texts before which it ends. */
class PlainText implements AnswerText {
  readonly #run = new RunText();
  readonly #stops: readonly string[];
  #text = "";
  #held = "";
  #isStopped = false;

  constructor({ stop = [] }: Pick<AnswerWish, "stop">) {
    this.#stops = stop;
  }

  add(event: Parameters<RunText["add"]>[0]): string {
    const added = this.#run.add(event);
    if (this.#isStopped || added === "") return "";
    if (this.#stops.length === 0) return this.#show(added);
    this.#held += added;
    const at = Math.min(...this.#stops.map((stop) => this.#held.indexOf(stop)).filter((place) => place >= 0));
    this.#isStopped = Number.isFinite(at);
    // A stop may be cut between two pieces, so its beginning at the end of the text waits.
    const shown = this.#isStopped ? at : this.#held.length - this.#begun();
    const piece = this.#held.slice(0, shown);
    this.#held = this.#isStopped ? "" : this.#held.slice(shown);
    return this.#show(piece);
  }

  end() {
    const rest = this.#show(this.#held);
    this.#held = "";
    return { text: this.#text, rest };
  }

  #show(piece: string): string {
    this.#text += piece;
    return piece;
  }

  /** UTF-16 units at the end of the held text with which a stop may begin. */
  #begun(): number {
    const most = Math.max(...this.#stops.map((stop) => stop.length - 1));
    for (let length = Math.min(most, this.#held.length); length > 0; length -= 1)
      if (this.#stops.some((stop) => stop.startsWith(this.#held.slice(-length)))) return length;
    return 0;
  }
}

/** The JSON of the run's last message. Nothing is shown before the end: the model may write the answer again. */
class JsonText implements AnswerText {
  #last = "";

  add(event: Parameters<RunText["add"]>[0]): string {
    if (event.type === "message_end" || event.type === "answer") this.#last = event.text;
    return "";
  }

  end() {
    const text = jsonIn(this.#last);
    return text === undefined ? undefined : { text, rest: text };
  }
}
