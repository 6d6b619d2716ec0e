import type { ChatMessage, UserMessage } from "../../types/run/model.ts";
import type { TranscriptEntry } from "../../types/session.ts";
import { type Fields, isFields } from "../../utils/fields.ts";
import { Mending, readChatMessage, readProvenance, readSeenPart } from "../../types/run/read-chat-message.ts";

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
export interface EntryLink {
  readonly id: string;
  readonly parentId: string | null;
  readonly entry?: TranscriptEntry;
}

/** The parent of an entry as its line names it. A line without a parent follows the entry before it. */
export interface WrittenLink extends Omit<EntryLink, "parentId"> {
  readonly parentId: string | null | undefined;
}

/** How well an entry could be read. */
export interface EntryReading {
  /** Some values of the entry have a wrong type: they are mended, or left out. */
  readonly isOdd: boolean;
  /** False where a part of the entry's content is left out, or all of it. */
  readonly isWhole: boolean;
}

/**
 * `entry`: `link.entry` is missing where no part of the entry can be read. `bad`: no JSON object; `link` is the
 * readable part of its place in the tree. `foreign`: an object that is no entry.
 */
export type TranscriptLine =
  | ({ readonly kind: "entry"; readonly link: WrittenLink } & EntryReading)
  | { readonly kind: "bad"; readonly link: WrittenLink | undefined }
  | { readonly kind: "foreign" };

/** Undefined when the text is no JSON object. Commas that a person left behind the last value are passed over. */
export function parseFields(text: string): Fields | undefined {
  const value = jsonIn(text) ?? (SPARE_COMMA.test(text) ? jsonIn(withoutSpareCommas(text)) : undefined);
  return isFields(value) ? value : undefined;
}

const SPARE_COMMA = /,\s*(?:[}\]]|$)/;
/** The pattern matches strings too, so that no comma inside a string is removed. */
const withoutSpareCommas = (text: string): string =>
  text.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"|,(?=\s*(?:[}\]]|$))/gs, (found) => (found === "," ? "" : found));

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The text is not JSON: the caller decides what to do with the line.
    return undefined;
  }
}

/** Undefined when the line is no header. Version 1 had no version field. */
export function parseHeader(text: string): Header | undefined {
  // Some editors put a byte order mark in front.
  const fields = parseFields(text.replace(/^\uFEFF/, ""));
  if (!fields || fields["type"] !== "session" || typeof fields["id"] !== "string") return undefined;
  const { version, timestamp, cwd, sessionKey } = fields;
  return {
    type: "session",
    version: versionIn(version),
    id: fields["id"],
    timestamp: typeof timestamp === "string" ? timestamp : "",
    cwd: typeof cwd === "string" ? cwd : "",
    ...(typeof sessionKey === "string" ? { sessionKey } : {}),
  };
}

/** Some programs write the number as a text. */
const versionIn = (version: unknown): number => {
  const number = typeof version === "string" && version.trim() !== "" ? Number(version) : version;
  return typeof number === "number" && !Number.isNaN(number) ? number : 1;
};

/** Reads the line that begins at this byte. An entry without an id gets one from the byte. */
export function parseLine(text: string, offset: number): TranscriptLine {
  const fields = parseFields(text);
  if (!fields) return { kind: "bad", link: placeIn(text) };
  const { type, parentId } = fields;
  if (type === "session" || (typeof fields["id"] !== "string" && type !== "message" && type !== "compaction"))
    return { kind: "foreign" };
  const id = typeof fields["id"] === "string" ? fields["id"] : `${UNNAMED_LINE}${offset}`;
  const parent = typeof parentId === "string" || parentId === null ? parentId : undefined;
  const { entry, ...reading } = readEntry({ ...fields, id, parentId: parent ?? null });
  return { kind: "entry", link: { id, parentId: parent, ...(entry && { entry }) }, ...reading };
}

/** Beginning of the id that an entry without one gets. */
export const UNNAMED_LINE = "line-";

const ID = /"id"\s*:\s*"([^"\\]{1,100})"/;
const PARENT = /"parentId"\s*:\s*(?:"([^"\\]{1,100})"|(null))/;

/** The place of a damaged line in the tree, if that part of it can be read. */
function placeIn(text: string): WrittenLink | undefined {
  const id = ID.exec(text)?.[1];
  if (id === undefined) return undefined;
  const [, parent, none] = PARENT.exec(text) ?? [];
  return { id, parentId: none === undefined ? parent : null };
}

interface ReadEntry extends EntryReading {
  readonly entry?: TranscriptEntry;
}

/** Makes typed entries of stored ones: see `readChatMessage`. */
function readEntry(given: Fields | TranscriptEntry): ReadEntry {
  const mending = new Mending();
  const timed = mending.fields({ ...given }, { timestamp: isoTime });
  const fields = fromHook(timed) ?? timed;
  const read = fields["type"] === "message" ? withMessage(fields, mending) : withBody(fields, mending);
  const { isOdd, isWhole } = mending;
  if (read && isEntry(read)) return { entry: read, isOdd, isWhole };
  return { isOdd: isKnown(fields["type"]), isWhole: !SAYING.has(fields["type"]) };
}

/** The entry as it is read again once it is written: the entry in memory and the entry in the file are the same. */
export const asRead = (entry: TranscriptEntry): TranscriptEntry => readEntry(entry).entry ?? entry;

const EPOCH = new Date(0).toISOString();

/** Other programs may write milliseconds. */
function isoTime(value: unknown): string {
  if (typeof value === "string") return value;
  const time = new Date(typeof value === "number" ? value : 0);
  return Number.isNaN(time.getTime()) ? EPOCH : time.toISOString();
}

function withMessage(fields: Fields, mending: Mending): Fields | undefined {
  const given = fields["message"];
  const read = readChatMessage(given, Date.parse(String(fields["timestamp"])) || 0);
  if (!read) return undefined;
  mending.isOdd ||= read.isOdd;
  mending.isWhole &&= read.isWhole;
  return read.message === given ? fields : { ...fields, message: read.message };
}

/** An older form of `custom_message`. */
function fromHook({ message, id, parentId, timestamp, type }: Fields): Fields | undefined {
  if (type !== "message" || !isFields(message)) return undefined;
  if (message["role"] !== "custom" && message["role"] !== "hookMessage") return undefined;
  return { display: false, customType: "custom", ...message, type: "custom_message", id, parentId, timestamp };
}

/** The texts that an entry of a type must have to be of any use, and the texts that it may have. */
const TEXTS: Readonly<Record<string, { readonly needed: readonly string[]; readonly other: readonly string[] }>> = {
  compaction: { needed: ["summary", "firstKeptEntryId"], other: [] },
  branch_summary: { needed: ["summary"], other: ["fromId"] },
  model_change: { needed: ["provider", "modelId"], other: [] },
  thinking_level_change: { needed: ["thinkingLevel"], other: [] },
  custom: { needed: ["customType"], other: [] },
  label: { needed: ["targetId"], other: ["label"] },
  session_info: { needed: [], other: ["name"] },
  custom_message: { needed: [], other: [] },
};

/** The types of entries that say something to the model or to people. */
const SAYING: ReadonlySet<unknown> = new Set(["message", "compaction", "custom_message", "branch_summary"]);

/** Entries of other programs are skipped. An own entry that cannot be read is odd. */
const isKnown = (type: unknown): boolean =>
  type === "message" || (typeof type === "string" && Object.hasOwn(TEXTS, type));

function withBody(fields: Fields, mending: Mending): Fields | undefined {
  const { type } = fields;
  const texts = typeof type === "string" && Object.hasOwn(TEXTS, type) ? TEXTS[type] : undefined;
  if (!texts || texts.needed.some((name) => typeof fields[name] !== "string")) return undefined;
  const textOrNone = (value: unknown) => (typeof value === "string" ? value : undefined);
  const typed = mending.fields(fields, Object.fromEntries(texts.other.map((name) => [name, textOrNone])));
  if (type === "compaction") return mending.fields(typed, { tokensBefore: figure });
  return type === "custom_message" ? withContent(typed, mending) : typed;
}

const figure = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) ? value : 0);

function withContent(fields: Fields, mending: Mending): Fields | undefined {
  const { content } = fields;
  if (typeof content !== "string" && !Array.isArray(content)) return undefined;
  return mending.fields(fields, {
    content: (given) => (Array.isArray(given) ? mending.parts(given, readSeenPart) : given),
    customType: (given) => (typeof given === "string" ? given : "custom"),
    display: (given) => given === true,
  });
}

const isEntry = (value: Fields): value is Fields & TranscriptEntry => typeof value["type"] === "string";

/** Custom entries of this type say that a provider refuses the thinking of a model in this conversation. */
export const REFUSED_THINKING = "openclaw.refused-thinking";

export interface RefusedThinking {
  /** Name of the model, as in `modelName`. */
  readonly model: string;
  /** The time of the latest answer whose thinking is refused, in milliseconds. */
  readonly until: number;
}

/** Content of an entry of the type `REFUSED_THINKING`; undefined for every other entry. */
export function refusedThinkingIn(entry: TranscriptEntry): RefusedThinking | undefined {
  if (entry.type !== "custom" || entry.customType !== REFUSED_THINKING || !isFields(entry.data)) return undefined;
  const { model, until } = entry.data;
  return typeof model === "string" && typeof until === "number" ? { model, until } : undefined;
}

/** Custom messages of this type are the host's own: the model reads them, a context engine never does. */
export const RUNTIME_CONTEXT = "openclaw.runtime-context";

/** A text that somebody other than a person has added. `details` may say where it comes from, and that it joined a turn. */
function noteOf({ content, customType, details }: Note, timestamp: number): UserMessage {
  const { provenance, insteadOf } = isFields(details) ? details : {};
  return {
    role: "user",
    content,
    timestamp,
    customType,
    provenance: readProvenance(provenance) ?? { kind: "internal_system" },
    ...(typeof insteadOf === "string" && { steered: true }),
  };
}

type Note = Extract<TranscriptEntry, { type: "custom_message" }>;

/** The message of an entry for the model. Undefined for an entry that is only kept. */
export function messageOf(entry: TranscriptEntry): ChatMessage | undefined {
  if (entry.type === "message") return entry.message;
  const timestamp = Date.parse(entry.timestamp) || 0;
  if (entry.type === "custom_message") return noteOf(entry, timestamp);
  if (entry.type !== "branch_summary" || entry.summary === "") return undefined;
  const content = `Summary of a branch that was left:\n\n${entry.summary}`;
  return { role: "user", content, timestamp, customType: entry.type, provenance: { kind: "internal_system" } };
}
