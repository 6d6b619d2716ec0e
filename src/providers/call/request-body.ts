import type { PiStreamOptions } from "../pi.ts";
import { type Fields, isFields, isSameData } from "../../utils/fields.ts";

/** The APIs whose SDK sends a body of bytes as it is. */
const TAKES_BYTES: ReadonlySet<string> = new Set(["openai-completions", "openai-responses"]);
/** Elements of a list, such as messages, that become one text. */
const AT_ONCE = 8;

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
  const texts = [...textsOf(body)];
  // With memory of its own.
  const bytes = Buffer.allocUnsafeSlow(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
  let at = 0;
  for (const text of texts) at += bytes.write(text, at);
  made.add(bytes);
  return Object.assign(bytes, { stream: body["stream"] });
}

/** The parts of the JSON of an object, as `JSON.stringify` makes it. */
function* textsOf(body: Readonly<Record<string, unknown>>): Generator<string> {
  let before = "{";
  for (const [key, value] of Object.entries(body)) {
    const text = Array.isArray(value) ? "" : JSON.stringify(value);
    // JSON has no such value.
    if (text === undefined) continue;
    yield `${before}${JSON.stringify(key)}:${text}`;
    if (Array.isArray(value)) yield* key === "tools" ? textsOfTools(value) : textsOfList(value);
    before = ",";
  }
  yield before === "{" ? "{}" : "}";
}

function* textsOfList(list: readonly unknown[]): Generator<string> {
  if (list.length === 0) yield "[]";
  for (let at = 0; at < list.length; at += AT_ONCE) {
    const text = JSON.stringify(list.slice(at, at + AT_ONCE));
    const isLast = at + AT_ONCE >= list.length;
    yield `${at === 0 ? "[" : ","}${text.slice(1, -1)}${isLast ? "]" : ""}`;
  }
}

/** The JSON of tools, by their schemas: they stay the same from request to request. */
const ofSchema = new WeakMap<object, { readonly tool: unknown; readonly text: string }>();

function* textsOfTools(list: readonly unknown[]): Generator<string> {
  if (list.length === 0) yield "[]";
  for (const [at, tool] of list.entries())
    yield `${at === 0 ? "[" : ","}${textOfTool(tool)}${at === list.length - 1 ? "]" : ""}`;
}

function textOfTool(tool: unknown): string {
  const schema = isFields(tool) ? schemaOf(tool) : undefined;
  if (!schema) return JSON.stringify(tool);
  const known = ofSchema.get(schema);
  if (known && isSameData(known.tool, tool)) return known.text;
  const text = JSON.stringify(tool);
  ofSchema.set(schema, { tool, text });
  return text;
}

/** Its place in a tool of both APIs. */
function schemaOf({ parameters, function: called }: Fields): object | undefined {
  const schema = isFields(called) ? called["parameters"] : parameters;
  return isFields(schema) ? schema : undefined;
}
