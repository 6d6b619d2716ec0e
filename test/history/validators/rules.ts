type Field =
  | "additionalModelRequestFields"
  | "args"
  | "arguments"
  | "bytes"
  | "cachePoint"
  | "call_id"
  | "content"
  | "contents"
  | "data"
  | "encrypted_content"
  | "format"
  | "function"
  | "functionCall"
  | "functionResponse"
  | "id"
  | "image"
  | "imageUrl"
  | "image_url"
  | "inlineData"
  | "input"
  | "media_type"
  | "messages"
  | "mimeType"
  | "name"
  | "output"
  | "parts"
  | "reasoningContent"
  | "reasoningText"
  | "response"
  | "role"
  | "signature"
  | "source"
  | "status"
  | "summary"
  | "system"
  | "text"
  | "thinking"
  | "thoughtSignature"
  | "toolCallId"
  | "toolCalls"
  | "toolConfig"
  | "toolResult"
  | "toolUse"
  | "toolUseId"
  | "tool_call_id"
  | "tool_calls"
  | "tools"
  | "tool_use_id"
  | "type"
  | "url";

/** A request, or a part of one, of which nothing is known but that it is an object. */
export type Json = Partial<Record<Field, unknown>>;

/** What is wrong with a request, in words. */
export type Faults = string[];

export const unless = (right: boolean, fault: string): Faults => (right ? [] : [fault]);

export const show = (value: unknown): string => JSON.stringify(value) ?? "nothing";

export function objects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isText = (value: unknown): value is string => typeof value === "string";

/** Text that a provider does not refuse as empty. */
export const isFilled = (value: unknown): boolean => isText(value) && value.trim() !== "" && value.isWellFormed();

export const isWebImage = (type: unknown): boolean =>
  isText(type) && ["image/jpeg", "image/png", "image/gif", "image/webp"].includes(type);

export const isBase64 = (data: unknown): boolean =>
  isText(data) && data.length > 0 && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);

export const isDataUrl = (url: unknown): boolean => {
  const [, type, data] = isText(url) ? (/^data:([^;]+);base64,(.*)$/s.exec(url) ?? []) : [];
  return isWebImage(type) && isBase64(data);
};

/** Providers parse a body strictly: half a surrogate pair is an error. */
export function wholeStrings(value: unknown, path = "$"): Faults {
  if (isText(value)) return value.isWellFormed() ? [] : [`${path}: half a surrogate pair`];
  if (Array.isArray(value)) return value.flatMap((item, index) => wholeStrings(item, `${path}[${index}]`));
  return isObject(value) ? Object.entries(value).flatMap(([key, item]) => wholeStrings(item, `${path}.${key}`)) : [];
}

export const repeated = (ids: readonly unknown[]): unknown[] => ids.filter((id, index) => ids.indexOf(id) !== index);
