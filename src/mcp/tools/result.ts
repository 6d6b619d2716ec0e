import type { ImageContent } from "../../types/run/model.ts";
import type { ToolResult } from "../../types/run/tool.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { shorten } from "../../utils/text/shorten.ts";
import { wrapUntrusted } from "../../utils/text/untrusted.ts";

/** Characters of a result, so that the closing marker is inside the default limit of a tool's result. */
const MOST_CHARS = 15_000;
const MOST_IMAGES = 4;
/** Bytes of one image; providers accept no larger ones. */
const MOST_IMAGE_BYTES = 5 * 1024 * 1024;
const IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Marks the result as content of somebody else, in the field's form. */
const detailsOf = (server: string) => ({
  mcpServer: server,
  externalContent: { untrusted: true, source: "mcp", provider: server, wrapped: true },
});

/** What a server answered to a call, as the model gets it: text between the markers of untrusted content, and images. */
export function callResult(server: string, answer: unknown): ToolResult {
  const { content, structuredContent, isError } = isFields(answer) ? answer : {};
  const parts = (Array.isArray(content) ? content : [content]).map(asPart).filter(isFields);
  const images = parts.flatMap(imageOf);
  const told = parts.flatMap((part) => textOf(part, imageOf(part).length > 0));
  const texts = told.length === 0 && structuredContent !== undefined ? [JSON.stringify(structuredContent)] : told;
  const left = images.length - MOST_IMAGES;
  const notes = left > 0 ? [`[${left} more images were left out]`] : [];
  return {
    content: [
      { type: "text", text: wrapped(server, [...texts, ...notes].join("\n\n")) },
      ...images.slice(0, MOST_IMAGES),
    ],
    details: detailsOf(server),
    ...(isError === true && { isError: true }),
  };
}

/** Some servers write a text where the protocol has a part. */
const asPart = (given: unknown): unknown => (typeof given === "string" ? { type: "text", text: given } : given);

/** The contents of a resource, as the model gets them. */
export function resourceResult(server: string, answer: unknown): ToolResult {
  const contents = isFields(answer) && Array.isArray(answer["contents"]) ? answer["contents"].filter(isFields) : [];
  return callResult(server, { content: contents.flatMap((resource) => [{ type: "resource", resource }]) });
}

/** A text of the server, as the model gets it. */
export const serverText = (server: string, text: string): ToolResult => ({
  content: [{ type: "text", text: wrapped(server, text) }],
  details: detailsOf(server),
});

/** A failure that the server put into words, which are no more trusted than its results. */
export const serverError = (server: string, text: string): ToolResult => ({
  ...serverText(server, text),
  isError: true,
});

const wrapped = (server: string, text: string): string =>
  wrapUntrusted(text === "" ? "[the server answered without text]" : shorten(text, MOST_CHARS), {
    label: "External",
    from: `MCP server ${server}`,
  });

function imageOf(part: Fields): ImageContent[] {
  if (part["type"] === "resource" && isFields(part["resource"])) return imageIn(part["resource"], "blob");
  return part["type"] === "image" ? imageIn(part, "data") : [];
}

function imageIn(part: Fields, key: "data" | "blob"): ImageContent[] {
  const { mimeType, [key]: data } = part;
  if (typeof mimeType !== "string" || typeof data !== "string" || !IMAGE_TYPES.has(mimeType)) return [];
  if (bytesOf(data) > MOST_IMAGE_BYTES || !BASE64.test(data)) return [];
  return [{ type: "image", data, mimeType }];
}

const bytesOf = (base64: string): number => Math.floor((base64.length * 3) / 4);

const word = (value: unknown, otherwise = ""): string => (typeof value === "string" ? value : otherwise);

function textOf(part: Fields, isShown: boolean): readonly string[] {
  const { type, text, data, mimeType, resource, uri, name } = part;
  if (type === "text") return typeof text === "string" || typeof text === "number" ? [String(text)] : [];
  if (type === "resource_link") return [`[resource ${word(name)} ${word(uri)}]`];
  if (type === "resource") return isFields(resource) ? resourceText(resource, isShown) : [];
  if (isShown || typeof data !== "string") return [];
  return [`[${word(type)} ${word(mimeType)}, ${bytesOf(data)} bytes, not shown]`];
}

function resourceText({ uri, text, blob, mimeType }: Fields, isShown: boolean): readonly string[] {
  if (typeof text === "string") return [`[${word(uri, "resource")}]\n${text}`];
  if (isShown || typeof blob !== "string") return [`[${word(uri, "resource")}]`];
  return [`[${word(uri, "resource")} ${word(mimeType)}, ${bytesOf(blob)} bytes, not shown]`];
}
