import type { Api, AssistantMessageEventStream, Context, Model, SimpleStreamOptions } from "@mariozechner/pi-ai";
import { loadOnce } from "../utils/share-calls.ts";

/** A model in the SDK's form. */
export type PiModel = Model<Api>;
export type PiContext = Context;
export type PiStreamOptions = SimpleStreamOptions;
export type PiStream = AssistantMessageEventStream;

/** Streams one model call. Never throws; a failure is the last event of the stream. */
export type StreamModel = (model: PiModel, context: PiContext, options?: PiStreamOptions) => PiStream;

let newStream: (() => PiStream) | undefined;
let parseJson: ((json: string) => unknown) | undefined;

/**
 * Loads the SDK, which takes about 30 ms and 10 MB: at the first run, or in the background when the server listens. It is kept,
 * because Node takes some time to look up a module that it has loaded already.
 */
export const loadPi = loadOnce(async () => {
  const pi = await import("@mariozechner/pi-ai");
  newStream = pi.createAssistantMessageEventStream;
  parseJson = pi.parseJsonWithRepair;
  return pi;
});

/** An empty stream. Throws before `loadPi` has resolved, but code with a model's handle has waited for that. */
export function emptyStream(): PiStream {
  if (!newStream) throw new Error("a model was called before the SDK was loaded");
  return newStream();
}

/**
 * Whether a text is one complete JSON value. Accepts raw line breaks in strings and unknown escapes, which small models write
 * and the SDK repairs, but no text that was cut off. False before `loadPi` has resolved.
 */
export function isCompleteJson(text: string): boolean {
  return repairedJson(text) !== undefined;
}

/**
 * The value of a text that is JSON but for raw control characters and unknown escapes. Undefined for other text, and
 * before `loadPi` has resolved.
 */
export function repairedJson(text: string): unknown {
  try {
    return parseJson?.(text);
  } catch {
    return undefined;
  }
}
