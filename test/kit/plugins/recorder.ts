import { join } from "node:path";
import type { ModelReply } from "../../fakes/model.ts";
import type { Home } from "../gateway/process.ts";
import { jsonLinesIn } from "../json-lines.ts";

/** Folder of a plugin with a context engine that writes down every call that it gets, to be installed. */
export const RECORDER = join(import.meta.dirname, "recorder");

/** What the recorder stands for that JSON has no form for. */
export const FUNCTION = { $function: 1 };
export const SIGNAL = { $signal: false };
export const UNDEFINED = { $undefined: true };

type Fields = Record<string, unknown>;

export interface RecordedMessage extends Fields {
  readonly role: string;
  readonly content: unknown;
}

/** One call of the gateway. */
export interface RecordedCall {
  readonly call: string;
  readonly params: Fields & {
    readonly messages?: readonly RecordedMessage[];
    readonly runtimeContext?: Fields;
    readonly event?: Fields;
    readonly context?: Fields;
  };
  /** The messages of the transcript at that time; undefined for a call without a file that is there. */
  readonly transcript?: readonly (RecordedMessage & { readonly id: string })[];
  /** Whether the file that a hook's event names was there. */
  readonly exists?: boolean;
}

/** All calls so far, in their order. */
export const recordedBy = ({ stateDir }: Pick<Home, "stateDir">): readonly RecordedCall[] =>
  jsonLinesIn(join(stateDir, "recorder.jsonl"));

const ENGINE_CALLS = [
  "factory",
  "bootstrap",
  "maintain",
  "assemble",
  "commitTurn",
  "afterTurn",
  "ingest",
  "compact",
  "dispose",
];

/** Those of the engine. */
export const ofEngine = (calls: readonly RecordedCall[]): readonly RecordedCall[] =>
  calls.filter(({ call }) => ENGINE_CALLS.includes(call));

/** How providers refuse a request that does not fit, in a form that does not say how large their window is. */
export const TOO_LONG: ModelReply = { status: 400, message: "prompt is too long for this model" };

/** An answer of the chat completions API in which the provider read and wrote its cache. */
export function cachedAnswer(text: string, { prompt, cached }: { prompt: number; cached: number }): ModelReply {
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ id: `cached-${text}`, object: "chat.completion.chunk", created: 1, model: "fake-1", ...more })}\n\n`;
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: 5,
    total_tokens: prompt + 5,
    prompt_tokens_details: { cached_tokens: cached },
  };
  const body = [
    chunk({ choices: [{ index: 0, delta: { role: "assistant", content: text }, finish_reason: null }] }),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
    chunk({ choices: [], usage }),
    "data: [DONE]\n\n",
  ].join("");
  return { raw: { status: 200, headers: { "content-type": "text/event-stream" }, body } };
}
