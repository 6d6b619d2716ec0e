import type { PiContext, PiModel, PiStreamOptions } from "../../pi.ts";
import { isFields } from "../../../utils/fields.ts";
import { takesPieces } from "../wire.ts";
import { encoded, isSystem, piecesOfJson } from "./json-pieces.ts";
import { inPieces, ownBytes } from "./pieces.ts";
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
  // The SDK takes its `fetch` now. Somebody may replace the global one before `onPayload` has answered.
  const isInPieces = takesPieces();
  const before = api === "openai-completions" ? sentBefore(call) : undefined;
  const made = (body: unknown): unknown => {
    const bytes = bytesOf(body, before, isInPieces);
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

/** The JSON of a request, in UTF-8. Of the fields, the SDK reads only `stream`, and no byte. */
function bytesOf(body: unknown, before: SentBefore | undefined, isInPieces: boolean): unknown {
  if (!isFields(body)) return body;
  const pieces = encoded(piecesOfJson(body, before?.pieces), ownBytes);
  return Object.assign(isInPieces ? inPieces(pieces) : Buffer.concat(pieces), { stream: body["stream"] });
}
