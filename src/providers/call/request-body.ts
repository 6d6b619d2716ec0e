import type { PiStreamOptions } from "../pi.ts";
import { isFields } from "../../utils/fields.ts";
import { joined, partsOf } from "./json-parts.ts";

/** The APIs whose SDK sends a body of bytes as it is. */
const TAKES_BYTES: ReadonlySet<string> = new Set(["openai-completions", "openai-responses"]);

/**
 * Options with which the SDK sends a request as bytes that are made here, and not as one text that the SDK makes. One character outside of
 * Latin-1 gives the whole text two bytes a character, which doubles the memory of a long conversation and more than doubles the time. The
 * options themselves where the SDK of this API takes no bytes.
 */
export function asBytes(api: string, options: PiStreamOptions = {}): PiStreamOptions {
  if (!TAKES_BYTES.has(api)) return options;
  const { headers, onPayload } = options;
  return {
    ...options,
    headers: { ...headers, "content-type": "application/json" },
    onPayload: async (payload, model) => encoded((await onPayload?.(payload, model)) ?? payload),
  };
}

/** The bodies that were made here. Nobody but the SDK has them, and it reads no byte of them. */
const made = new WeakSet<Uint8Array>();

/** Frees the memory of a body that was made here, once it is sent: the SDK holds it until its stream has ended. */
export function free(body: unknown): void {
  if (body instanceof Uint8Array && made.delete(body) && body.buffer instanceof ArrayBuffer) body.buffer.transfer(0);
}

/** The JSON of a request, in UTF-8. Of the fields, the SDK reads only `stream`. */
function encoded(body: unknown): unknown {
  if (!isFields(body)) return body;
  const bytes = joined(partsOf(body));
  made.add(bytes);
  return Object.assign(bytes, { stream: body["stream"] });
}
