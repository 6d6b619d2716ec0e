import type { Api, AssistantMessageEventStream, Context, Model, SimpleStreamOptions } from "@mariozechner/pi-ai";

/** A model in the SDK's form. */
export type PiModel = Model<Api>;
export type PiContext = Context;
export type PiStreamOptions = SimpleStreamOptions;
export type PiStream = AssistantMessageEventStream;

/** Streams one model call. Never throws; a failure is the last event of the stream. */
export type StreamModel = (model: PiModel, context: PiContext, options?: PiStreamOptions) => PiStream;

let newStream: (() => PiStream) | undefined;
let parseJson: ((json: string) => unknown) | undefined;

/** Loads the SDK, which takes about 30 ms and 10 MB: at the first run, or in the background when the server listens. */
export async function loadPi() {
  const pi = await import("@mariozechner/pi-ai");
  newStream = pi.createAssistantMessageEventStream;
  parseJson = pi.parseJsonWithRepair;
  return pi;
}

type Load = () => Promise<(model: never, context: PiContext, options?: PiStreamOptions) => PiStream>;

/** The APIs whose module is called directly: the SDK's own table would pass each event through one more stream. */
const MODULES: ReadonlyMap<string, Load> = new Map<Api, Load>([
  [
    "openai-completions",
    async () => (await import("@mariozechner/pi-ai/openai-completions")).streamSimpleOpenAICompletions,
  ],
  ["openai-responses", async () => (await import("@mariozechner/pi-ai/openai-responses")).streamSimpleOpenAIResponses],
  ["anthropic-messages", async () => (await import("@mariozechner/pi-ai/anthropic")).streamSimpleAnthropic],
]);

/** How the SDK streams calls, fast for models of this API. Rejects when the API's module cannot be loaded. */
export async function streamOf(api: string): Promise<StreamModel> {
  const { streamSimple } = await loadPi();
  const module = await MODULES.get(api)?.();
  if (!module) return streamSimple;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the module of an API takes models of this API
  const direct = module as StreamModel;
  return (model, context, options) => (model.api === api ? direct : streamSimple)(model, context, options);
}

/** An empty stream. Throws before `loadPi` has resolved, but whoever has a model's handle has waited for that. */
export function emptyStream(): PiStream {
  if (!newStream) throw new Error("a model was called before the SDK was loaded");
  return newStream();
}

/**
 * Whether a text is one complete JSON value. Accepts raw line breaks in strings and unknown escapes, which small models write
 * and the SDK repairs, but no text that was cut off. False before `loadPi` has resolved.
 */
export function isCompleteJson(text: string): boolean {
  try {
    return parseJson !== undefined && parseJson(text) !== undefined;
  } catch {
    return false;
  }
}
