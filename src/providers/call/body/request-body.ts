import type { PiContext, PiModel, PiStreamOptions } from "../../pi.ts";
import { isFields } from "../../../utils/fields.ts";
import { isSystem, joined, partsOf } from "./json-parts.ts";
import { noteSent, type SentBefore, sentBefore } from "./sent-before.ts";

/** The APIs whose SDK sends a body of bytes as it is. */
const TAKES_BYTES: ReadonlySet<string> = new Set(["openai-completions", "openai-responses"]);

/** A call of the SDK. */
interface Call {
  readonly model: PiModel;
  readonly context: PiContext;
  readonly options: PiStreamOptions;
}

/**
 * Changes a call of the SDK so that the request is sent as bytes, which are made here, and not as one text, which the SDK would make. One character outside of
 * Latin-1 gives the whole text two bytes a character, which doubles the memory of a long conversation and more than doubles the time. Returns
 * the same call when the SDK of this API takes no bytes.
 */
export function asBytes(api: string, call: Call): Call {
  if (!TAKES_BYTES.has(api)) return call;
  const { model, context, options } = call;
  const { headers, onPayload } = options;
  const before = api === "openai-completions" ? sentBefore(call) : undefined;
  const made = (body: unknown): unknown => {
    const bytes = encoded(body, before);
    if (api === "openai-completions" && isFields(body) && Array.isArray(body["messages"]))
      noteSent(call, before, isSystem(body["messages"][0]) ? body["messages"].slice(1) : body["messages"]);
    return bytes;
  };
  return {
    model,
    context: before ? { ...context, messages: context.messages.slice(before.count) } : context,
    options: {
      ...options,
      headers: { ...headers, "content-type": "application/json" },
      onPayload: async (payload, of) => made((await onPayload?.(payload, of)) ?? payload),
    },
  };
}

/** The bodies that were made here. Nobody but the SDK has them, and it reads no byte of them. */
const made = new WeakSet<Uint8Array>();

/** Frees the memory of a body that was made here, once it is sent: the SDK holds it until its stream has ended. */
export function free(body: unknown): void {
  if (body instanceof Uint8Array && made.delete(body) && body.buffer instanceof ArrayBuffer) body.buffer.transfer(0);
}

/** The JSON of a request, in UTF-8. Of the fields, the SDK reads only `stream`. */
function encoded(body: unknown, before: SentBefore | undefined): unknown {
  if (!isFields(body)) return body;
  const bytes = joined(partsOf(body, before?.lists));
  made.add(bytes);
  return Object.assign(bytes, { stream: body["stream"] });
}
