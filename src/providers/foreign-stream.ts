import type { AssistantMessageEvent } from "@mariozechner/pi-ai";
import type { AssistantMessage } from "../types/run/model.ts";
import type { StreamCall } from "../types/run/model-provider.ts";
import { background } from "../utils/background.ts";
import { isFields } from "../utils/fields.ts";
import { errorText } from "../utils/text/error-text.ts";
import { emptyMessage } from "./message.ts";
import {
  emptyStream,
  type PiContext,
  type PiModel,
  type PiStream,
  type PiStreamOptions,
  type StreamModel,
} from "./pi.ts";

/**
 * The stream of a provider whose code may change a call, or make it itself. An error of the code, and a value that is
 * no event, become the error that ends the stream.
 */
export function foreignStream(wrap: (next: StreamCall) => StreamCall, sdk: StreamModel): StreamModel {
  /* oxlint-disable typescript/no-unsafe-type-assertion -- the code passes on what it was given, with its own changes */
  const next: StreamCall = (model, context, options) =>
    sdk(model as PiModel, context as PiContext, options as PiStreamOptions);
  /* oxlint-enable typescript/no-unsafe-type-assertion */
  return (model, context, options = {}) => {
    const out = emptyStream();
    background(
      "stream of a plugin",
      pump(out, model, () => wrap(next)(model, context, options)),
    );
    return out;
  };
}

/** Passes a plugin's stream on. Never rejects. */
async function pump(out: PiStream, model: PiModel, open: () => unknown): Promise<void> {
  try {
    const source = await open();
    if (!isStream(source)) throw new TypeError("the plugin of the provider gave no stream");
    await pass(source, out);
  } catch (error) {
    const message = { ...emptyMessage(model), stopReason: "error" as const, errorMessage: errorText(error) };
    out.push({ type: "error", reason: "error", error: message });
  }
  out.end();
}

/** Passes on all events up to the last one. Throws for something that is none. */
async function pass(source: AsyncIterable<unknown>, out: PiStream): Promise<void> {
  const told = new Set<number>();
  for await (const event of source) {
    if (!isEvent(event)) throw new TypeError("the plugin of the provider gave something that is no event of a stream");
    if (event.type === "text_delta") told.add(event.contentIndex);
    const missing = event.type === "done" ? untold(event.message, told) : [];
    for (const each of [...missing, event]) out.push(each);
    if (event.type === "done" || event.type === "error") return;
  }
}

/** Events for the texts that a stream gave only in its last message. */
function untold(message: AssistantMessage, told: ReadonlySet<number>): readonly AssistantMessageEvent[] {
  return message.content.flatMap((block, contentIndex): AssistantMessageEvent[] => {
    if (block.type !== "text" || told.has(contentIndex)) return [];
    const { text } = block;
    const at = { contentIndex, partial: message };
    return [
      { type: "text_start", ...at },
      { type: "text_delta", delta: text, ...at },
      { type: "text_end", content: text, ...at },
    ];
  });
}

const isStream = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/** The field of an event that holds its message. */
const MESSAGE: Readonly<Record<string, string>> = { done: "message", error: "error" };

function isEvent(value: unknown): value is AssistantMessageEvent {
  if (!isFields(value) || typeof value["type"] !== "string") return false;
  const message = value[MESSAGE[value["type"]] ?? "partial"];
  return isFields(message) && Array.isArray(message["content"]) && isFields(message["usage"]);
}
