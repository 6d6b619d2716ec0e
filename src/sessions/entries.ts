import type { ChatMessage } from "../types/model.ts";
import type { TranscriptEntry } from "../types/session.ts";
import { type Fields, isFields } from "../utils/fields.ts";

/** The version that this program writes and the highest that it reads. */
export const TRANSCRIPT_VERSION = 3;

/** A transcript's first line. `sessionKey` is ours: from it a lost sessions.json is rebuilt. */
export interface Header {
  readonly type: "session";
  readonly version: number;
  readonly id: string;
  readonly timestamp: string;
  readonly cwd: string;
  readonly sessionKey?: string;
}

/** An entry as a place in the tree. `entry` is missing for kinds that only another program knows. */
export interface Link {
  readonly id: string;
  readonly parentId: string | null;
  readonly entry?: TranscriptEntry;
}

/** `bad`: no JSON object. `foreign`: one that is no entry. */
export type Line =
  | { readonly kind: "entry"; readonly link: Link }
  | { readonly kind: "bad" }
  | { readonly kind: "foreign" };

const METADATA = new Set([
  "model_change",
  "thinking_level_change",
  "branch_summary",
  "custom",
  "label",
  "session_info",
]);

/** Undefined when the text is no JSON object. */
export function parseFields(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    // Not JSON: the caller decides what that means for its line.
    return undefined;
  }
}

/** Undefined when the line is no header. Version 1 had no version field. */
export function parseHeader(text: string): Header | undefined {
  const fields = parseFields(text);
  if (!fields || fields["type"] !== "session" || typeof fields["id"] !== "string") return undefined;
  const { version, timestamp, cwd, sessionKey } = fields;
  return {
    type: "session",
    version: typeof version === "number" ? version : 1,
    id: fields["id"],
    timestamp: typeof timestamp === "string" ? timestamp : "",
    cwd: typeof cwd === "string" ? cwd : "",
    ...(typeof sessionKey === "string" ? { sessionKey } : {}),
  };
}

export function parseLine(text: string): Line {
  const fields = parseFields(text);
  if (!fields) return { kind: "bad" };
  const { type, id, parentId } = fields;
  if (typeof id !== "string" || type === "session") return { kind: "foreign" };
  const entry = readEntry(fields);
  const parent = typeof parentId === "string" ? parentId : null;
  return { kind: "entry", link: { id, parentId: parent, ...(entry ? { entry } : {}) } };
}

function readEntry(fields: Fields): TranscriptEntry | undefined {
  if (isEntry(fields)) return fields;
  const message = fields["message"];
  if (fields["type"] !== "message" || !isFields(message) || message["role"] !== "custom") return undefined;
  // A hook's message of an older version, which is what `custom_message` is now.
  const { id, parentId, timestamp } = fields;
  const lifted: unknown = {
    display: false,
    customType: "custom",
    ...message,
    type: "custom_message",
    id,
    parentId,
    timestamp,
  };
  return isEntry(lifted) ? lifted : undefined;
}

function isEntry(value: unknown): value is TranscriptEntry {
  if (!isFields(value) || typeof value["type"] !== "string") return false;
  const { type, content } = value;
  if (type === "message") return isMessage(value["message"]);
  if (type === "compaction")
    return typeof value["summary"] === "string" && typeof value["firstKeptEntryId"] === "string";
  if (type === "custom_message") return typeof content === "string" || Array.isArray(content);
  return METADATA.has(type);
}

function isMessage(value: unknown): value is ChatMessage {
  if (!isFields(value)) return false;
  const { role, content } = value;
  if (role === "user") return typeof content === "string" || Array.isArray(content);
  return (role === "assistant" || role === "toolResult") && Array.isArray(content);
}

/** What the model reads of an entry; undefined for what is only kept. */
export function messageOf(entry: TranscriptEntry): ChatMessage | undefined {
  if (entry.type === "message") return entry.message;
  const timestamp = Date.parse(entry.timestamp) || 0;
  if (entry.type === "custom_message") return { role: "user", content: entry.content, timestamp };
  if (entry.type !== "branch_summary" || entry.summary === "") return undefined;
  return { role: "user", content: `Summary of a branch that was left:\n\n${entry.summary}`, timestamp };
}
