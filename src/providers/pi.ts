import type { Api, AssistantMessageEventStream, Context, Model, SimpleStreamOptions } from "@mariozechner/pi-ai";

/** A model as the SDK wants it. */
export type PiModel = Model<Api>;
export type PiContext = Context;
export type PiStreamOptions = SimpleStreamOptions;
export type PiStream = AssistantMessageEventStream;

/** Streams one model call. Never throws: a failure is the last event of the stream. */
export type StreamModel = (model: PiModel, context: PiContext, options?: PiStreamOptions) => PiStream;

/** The SDK costs some 30 ms and 10 MB: loaded by the first run, or in the background once the server listens. */
export const loadPi = () => import("@mariozechner/pi-ai");
