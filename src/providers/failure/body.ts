import { z } from "zod";
import { isFields } from "../../utils/fields.ts";

/** The content of a refusal's body, whatever its shape. */
export interface RefusalBody {
  /** The provider's text, of one or more lines, without HTML tags. */
  readonly message: string;
  /** `code` and `type` of the error if they are words, such as `insufficient_quota` or `exceed_context_size_error`. */
  readonly names: readonly string[];
  /** A status that the body names: errors in the middle of a stream have no other. */
  readonly status?: number;
  /** Figures that the body has in addition to its text. */
  readonly figures: Readonly<Record<string, number>>;
  /** The start of the body as it came. */
  readonly source: string;
}

/** A longer text is a page and no message. */
const LONGEST = 4000;

const word = z.union([z.string(), z.number()]).nullish().catch(undefined);
const shape = z.looseObject({
  message: z.unknown().optional(),
  msg: z.unknown().optional(),
  detail: z.unknown().optional(),
  error: z.unknown().optional(),
  error_message: z.unknown().optional(),
  code: word,
  type: word,
  status: word,
});
type Shape = z.infer<typeof shape>;

/** Reads a refusal's body: OpenAI's `error.message`, Mistral's and vLLM's `message`, FastAPI's `detail`, text, HTML. */
export function readRefusal(body: string): RefusalBody | undefined {
  const text = body.trim();
  if (text === "") return undefined;
  const parsed = jsonIn(text);
  if (parsed === undefined)
    return { message: plainText(text).slice(0, LONGEST), names: [], figures: {}, source: text.slice(0, LONGEST) };
  return fromJson(Array.isArray(parsed) ? parsed[0] : parsed, text);
}

/** The refusal in the last event of a stream that began well. Undefined when the stream ended otherwise. */
export function readStreamRefusal(tail: string): RefusalBody | undefined {
  const lines = tail.trimEnd().split("\n");
  // Google sends the error of such a stream without the frame of an event.
  const line = lines.findLast((one) => /^(?:data:|\{)/.test(one) && !/^data:\s*\[DONE\]/.test(one));
  const parsed = jsonIn(line?.replace(/^data:\s*/, "") ?? "");
  const read = shape.safeParse(parsed);
  if (!read.success || read.data.error === undefined || read.data.error === null) return undefined;
  return fromJson(parsed, line ?? "");
}

function fromJson(value: unknown, text: string): RefusalBody | undefined {
  if (typeof value === "string")
    return { message: value.slice(0, LONGEST), names: [], figures: {}, source: text.slice(0, LONGEST) };
  const read = shape.safeParse(value);
  if (!read.success) return undefined;
  const outer = read.data;
  const inner = shape.safeParse(outer.error).data;
  const said = wordsIn(inner) ?? wordsIn(outer);
  const message = (said ?? (Object.keys(outer).length === 0 ? "" : text)).slice(0, LONGEST);
  const all = [inner?.code, inner?.type, inner?.status, outer.code, outer.type, outer.status];
  const status = all.map(Number).find((code) => code >= 400 && code < 600);
  const names = all.filter((name) => typeof name === "string" && !/^\d+$/.test(name)).map(String);
  return {
    message,
    names,
    figures: { ...figuresIn(outer), ...figuresIn(inner) },
    source: text.slice(0, LONGEST),
    ...(status !== undefined && { status }),
  };
}

/** The first field with text. A list of errors, as FastAPI sends, becomes JSON. */
function wordsIn(from: Shape | undefined): string | undefined {
  if (from === undefined) return undefined;
  const { message, msg, detail, error, error_message: older } = from;
  for (const field of [message, msg, detail, older, error]) {
    if (typeof field === "string" && field.trim() !== "") return `${field}${rawIn(from)}`;
    if (Array.isArray(field) && field.length > 0) return JSON.stringify(field.map(withoutInput));
  }
  const nested = shape.safeParse(message ?? detail);
  return nested.success ? wordsIn(nested.data) : undefined;
}

/**
 * The error without FastAPI's quote of the part of the request that it did not understand: a person may have written
 * that part.
 */
const withoutInput = (one: unknown): unknown => {
  if (!isFields(one)) return one;
  const { input: _written, ctx: _about, ...rest } = one;
  return rest;
};

/** OpenRouter passes on the text of the provider that it asked. */
function rawIn(from: Shape): string {
  const { data } = z.object({ raw: z.string() }).safeParse(from["metadata"]);
  return data === undefined ? "" : `\n${data.raw}`;
}

const figuresIn = (from: Shape | undefined): Record<string, number> =>
  Object.fromEntries(
    Object.entries(from ?? {}).flatMap(([name, value]) => (typeof value === "number" ? [[name, value]] : [])),
  );

/** The title of a web page, which may be empty. Undefined when the text is no web page. */
export function pageTitle(text: string): string | undefined {
  if (!/^\s*<(?:!doctype html|html)\b/i.test(text)) return undefined;
  return TITLE.exec(text)?.[1]?.trim() ?? "";
}

const TITLE = /<title[^>]*>([^<]{0,200})/i;

function plainText(text: string): string {
  if (!/^<(?:!doctype|html|\?xml)/i.test(text)) return text;
  const title = TITLE.exec(text)?.[1];
  return title ?? text.replace(/<(?:script|style)[\s\S]*?<\/(?:script|style)>|<[^>]*>/gi, " ").trim();
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A refusal may be any text.
    return undefined;
  }
}
