import type { ImageContent, TextContent } from "../types/run/model.ts";
import type { ToolContext, ToolResult } from "../types/run/tool.ts";
import { Mending, readSeenPart } from "../types/run/read-chat-message.ts";
import type { FileBackend } from "../types/run/backend.ts";
import { isFields } from "../utils/fields.ts";
import { errorText } from "../utils/text/error-text.ts";
import { shorten } from "../utils/text/shorten.ts";
import { headBytes, MAX_RESULT_BYTES } from "./cap.ts";

type Content = TextContent | ImageContent;

/**
 * The content that a tool returned, with all its values of their types: a plugin's tool may return anything. Undefined
 * when none of the content can be shown.
 */
export function contentIn(given: unknown): readonly Content[] | undefined {
  if (typeof given === "string") return [{ type: "text", text: given }];
  if (!Array.isArray(given)) return undefined;
  const parts = new Mending().parts(given, readSeenPart).filter(isContent);
  return parts.length === 0 && given.length > 0 ? undefined : parts;
}

function isContent(value: unknown): value is Content {
  if (!isFields(value)) return false;
  const { type } = value;
  return type === "text" ? typeof value["text"] === "string" : type === "image" && typeof value["data"] === "string";
}

type Note = (left: number) => string;

/** The parts with their text cut to `most` UTF-16 units in all: the beginning and the end of each is kept. */
export function shortened(content: readonly Content[], most: number | undefined, note?: Note): readonly Content[] {
  if (most === undefined) return content;
  let left = most;
  return content.map((part) => {
    if (part.type === "image") return part;
    // The end of an output shows why it failed.
    const text = shorten(part.text, left, note, endsInError(part.text) ? 0.4 : 0.7);
    left = Math.max(0, left - text.length);
    return text === part.text ? part : { type: "text", text };
  });
}

/** Characters at the end of a text that are searched for a failure. */
const ERROR_CHARS = 2000;

const endsInError = (text: string): boolean =>
  /\b(?:error|exception|failed|failure|fatal|panic|traceback)\b/i.test(text.slice(-ERROR_CHARS));

/** The parts within the bytes that any result may have. */
export function capped(content: readonly Content[], most: number | undefined): Content[] {
  const limit = Math.max(MAX_RESULT_BYTES, most ?? 0);
  let left = limit;
  return content.map((part) => {
    if (part.type === "image") return part;
    const kept = headBytes(part.text, left);
    left -= Buffer.byteLength(kept);
    if (kept === part.text) return part;
    return { type: "text", text: `${kept}\n[... cut: a result may have ${Math.floor(limit / 1024)} KB ...]` };
  });
}

/** The result; the rest of a text that is too long for the model is kept in a file, which the result names. */
export async function keepingLong(
  result: ToolResult,
  files: FileBackend,
  { mostChars: most }: Pick<ToolContext, "mostChars">,
): Promise<ToolResult> {
  if (most === undefined || !isFields(result) || !Array.isArray(result.content)) return result;
  const content = contentIn(result.content);
  if (!content) return result;
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (texts.reduce((sum, text) => sum + text.length, 0) <= most) return result;
  const { rest, ...more } = await placeOf(texts.join("\n"), files);
  const note: Note = (left) => `\n[…${left} characters left out; ${rest}…]\n`;
  const details = isFields(result.details) ? result.details : {};
  return { ...result, content: [...shortened(content, most, note)], details: { ...details, ...more } };
}

/**
 * The place of the whole text, for the model, or the reason why the text could not be kept: a full disk loses the
 * middle of the text, not the call.
 */
async function placeOf(whole: string, files: FileBackend) {
  try {
    const path = await files.keep(whole);
    return { rest: `all of it is in ${path}: search it with grep, or read it from an offset`, fullResult: path };
  } catch (error) {
    const why = errorText(error);
    return { rest: `they could not be kept in a file: ${why}`, notKept: why };
  }
}
