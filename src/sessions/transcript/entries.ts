import type { ChatMessage } from "../../types/run/model.ts";
import type { TranscriptEntry } from "../../types/session.ts";
import { type Fields, isFields } from "../../utils/fields.ts";
import { readMessage } from "./read-message.ts";

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

/** An entry as a place in the tree. `entry` is missing for kinds that only another program knows, and for what cannot be read. */
export interface Link {
  readonly id: string;
  readonly parentId: string | null;
  readonly entry?: TranscriptEntry;
}

/** The parent of an entry as its line names it. A line without a parent follows the entry before it. */
export interface WrittenLink extends Omit<Link, "parentId"> {
  readonly parentId: string | null | undefined;
}

/**
 * `entry`: `isWhole` is false where its message, or a part of it, cannot be read. `bad`: no JSON object; `link` is what can
 * still be made out of its place in the tree. `foreign`: an object that is no entry.
 */
export type Line =
  | { readonly kind: "entry"; readonly link: WrittenLink; readonly isWhole: boolean }
  | { readonly kind: "bad"; readonly link: WrittenLink | undefined }
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
    // Not JSON: the caller decides what to do with the line.
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

/** Reads the line that begins at this byte. An entry without an id gets one from the byte. */
export function parseLine(text: string, offset: number): Line {
  const fields = parseFields(text);
  if (!fields) return { kind: "bad", link: placeIn(text) };
  const { type, parentId } = fields;
  if (type === "session" || (typeof fields["id"] !== "string" && type !== "message" && type !== "compaction"))
    return { kind: "foreign" };
  const id = typeof fields["id"] === "string" ? fields["id"] : `line-${offset}`;
  const parent = typeof parentId === "string" || parentId === null ? parentId : undefined;
  const { entry, isWhole } = readEntry({ ...fields, id, parentId: parent ?? null });
  return { kind: "entry", link: { id, parentId: parent, ...(entry && { entry }) }, isWhole };
}

const ID = /"id"\s*:\s*"([^"\\]{1,100})"/;
const PARENT = /"parentId"\s*:\s*(?:"([^"\\]{1,100})"|(null))/;

/** The place of a damaged line in the tree, if that part of it can be read. */
function placeIn(text: string): WrittenLink | undefined {
  const id = ID.exec(text)?.[1];
  if (id === undefined) return undefined;
  const [, parent, none] = PARENT.exec(text) ?? [];
  return { id, parentId: none === undefined ? parent : null };
}

interface ReadEntry {
  readonly entry?: TranscriptEntry;
  readonly isWhole: boolean;
}

function readEntry(fields: Fields): ReadEntry {
  if (fields["type"] !== "message") return isEntry(fields) ? { entry: fields, isWhole: true } : unread(fields);
  const lifted = fromHook(fields);
  if (lifted) return isEntry(lifted) ? { entry: lifted, isWhole: true } : { isWhole: false };
  const read = readMessage(fields["message"]);
  if (!read) return { isWhole: false };
  const entry: unknown = read.message === fields["message"] ? fields : { ...fields, message: read.message };
  return isEntry(entry) ? { entry, isWhole: read.isWhole } : { isWhole: false };
}

/** Entries of other programs are skipped. An own entry with a missing field is damaged. */
const unread = ({ type }: Fields): ReadEntry => ({ isWhole: type !== "compaction" && type !== "custom_message" });

/** An older form of `custom_message`. */
function fromHook({ message, id, parentId, timestamp }: Fields): Fields | undefined {
  if (!isFields(message) || (message["role"] !== "custom" && message["role"] !== "hookMessage")) return undefined;
  return { display: false, customType: "custom", ...message, type: "custom_message", id, parentId, timestamp };
}

function isEntry(value: unknown): value is TranscriptEntry {
  if (!isFields(value) || typeof value["type"] !== "string") return false;
  const { type, content } = value;
  if (type === "message") return isFields(value["message"]);
  if (type === "compaction")
    return typeof value["summary"] === "string" && typeof value["firstKeptEntryId"] === "string";
  if (type === "custom_message") return typeof content === "string" || Array.isArray(content);
  return METADATA.has(type);
}

/** Custom messages of this type are the host's own: the model reads them, a context engine never does. */
export const RUNTIME_CONTEXT = "openclaw.runtime-context";

const hostMark = ({ customType }: { readonly customType: string }) =>
  customType === RUNTIME_CONTEXT ? { customType } : {};

/** The message of an entry for the model. Undefined for an entry that is only kept. */
export function messageOf(entry: TranscriptEntry): ChatMessage | undefined {
  if (entry.type === "message") return entry.message;
  const timestamp = Date.parse(entry.timestamp) || 0;
  if (entry.type === "custom_message") return { role: "user", content: entry.content, timestamp, ...hostMark(entry) };
  if (entry.type !== "branch_summary" || entry.summary === "") return undefined;
  return { role: "user", content: `Summary of a branch that was left:\n\n${entry.summary}`, timestamp };
}
