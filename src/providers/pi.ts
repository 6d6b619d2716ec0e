import type { Api, AssistantMessageEventStream, Context, Model, SimpleStreamOptions } from "@mariozechner/pi-ai";

/** A model as the SDK wants it. */
export type PiModel = Model<Api>;
export type PiContext = Context;
export type PiStreamOptions = SimpleStreamOptions;
export type PiStream = AssistantMessageEventStream;

/** Streams one model call. Never throws: a failure is the last event of the stream. */
export type StreamModel = (model: PiModel, context: PiContext, options?: PiStreamOptions) => PiStream;

let newStream: (() => PiStream) | undefined;
let parseJson: ((json: string) => unknown) | undefined;

/** The SDK costs some 30 ms and 10 MB: loaded by the first run, or in the background once the server listens. */
export async function loadPi() {
  const pi = await import("@mariozechner/pi-ai");
  newStream = pi.createAssistantMessageEventStream;
  parseJson = pi.parseJsonWithRepair;
  return pi;
}

/** A stream without events yet. Throws before `loadPi` has resolved, which no holder of a model's handle can be. */
export function emptyStream(): PiStream {
  if (!newStream) throw new Error("a model was called before the SDK was loaded");
  return newStream();
}

/**
 * Whether a text is one complete JSON value. Raw line breaks in strings and unknown escapes are accepted, which small models
 * write and the SDK mends; a text that stops half-way is not. False before `loadPi` has resolved.
 */
export function isCompleteJson(text: string): boolean {
  try {
    return parseJson !== undefined && parseJson(text) !== undefined;
  } catch {
    return false;
  }
}
