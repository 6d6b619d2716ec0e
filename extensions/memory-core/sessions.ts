import { lstatSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { chunksOfLines, type Chunk, type Line } from "./chunks.ts";
import type { SessionPlace } from "./job.ts";
import type { NoteFile } from "./notes.ts";
import { SESSIONS } from "./session-paths.ts";

/** Bytes; a larger transcript is not searched. */
const MOST_BYTES = 20_000_000;
/** A conversation that has grown is read again after so many more bytes, or when nobody has written in it for so long. */
const GROWN_BYTES = 100_000;
const REST_MS = 60_000;

/** A conversation as it is searched. */
export interface SessionText {
  readonly chunks: readonly Chunk[];
  /** Text of each line of the file, in one line; only of a conversation. */
  readonly said?: readonly string[];
  /** The conversation has read untrusted content. */
  readonly isUntrusted: boolean;
}

/**
 * The conversations that owners had alone with the agent, as `sessions.json` lists them. `known`: the versions in the
 * index. A list that cannot be read gives no conversations.
 */
export function sessionFiles(place: SessionPlace, known: ReadonlyMap<string, string>): readonly NoteFile[] {
  return ownRows(place).flatMap(({ file }): readonly NoteFile[] => {
    const path = `${SESSIONS}${file}`;
    const stat = lstatSync(join(place.dir, file), { throwIfNoEntry: false });
    if (!stat?.isFile()) return [];
    if (stat.size > MOST_BYTES) return [{ path, version: "", leftOut: "too large" }];
    const before = known.get(path);
    const grown = stat.size - Number(before?.split(" ")[0] ?? 0);
    const isFresh = before !== undefined && grown >= 0 && grown < GROWN_BYTES && Date.now() - stat.mtimeMs < REST_MS;
    return [{ path, version: isFresh ? before : `${stat.size} ${stat.mtimeMs} ${stat.ino}` }];
  });
}

/** The text of a conversation; undefined when there is no such file. Its lines are the lines of the file. */
export function readSession(place: SessionPlace, path: string): SessionText | undefined {
  const row = ownRows(place).find(({ file }) => `${SESSIONS}${file}` === path);
  if (!row) return undefined;
  const entries = linesIn(join(place.dir, row.file)).flatMap((text, index) => {
    const entry = fieldsIn(text);
    return entry ? [{ entry, number: index + 1 }] : [];
  });
  const first = entries.find(({ entry }) => entry["type"] === "message")?.entry["timestamp"];
  const lines = entries.flatMap(saidIn);
  const said: string[] = [];
  for (const { number, text } of lines) said[number - 1] = [said[number - 1] ?? [], text].flat().join(" ");
  return {
    said: Array.from(said, (line) => line ?? ""),
    chunks: chunksOfLines(lines, `Conversation${typeof first === "string" ? ` of ${first.slice(0, 10)}` : ""}`),
    isUntrusted: row.isUntrusted || entries.some(({ entry }) => hasUntrusted(entry)),
  };
}

interface Row {
  readonly file: string;
  readonly isUntrusted: boolean;
}

function ownRows({ dir, agent, isDefault }: SessionPlace): readonly Row[] {
  const rows = fieldsIn(linesIn(join(dir, "sessions.json")).join("\n")) ?? {};
  return Object.entries(rows).flatMap(([key, value]) => {
    const row = fieldsOf(value);
    const owner = /^agent:([^:]+):/.exec(key)?.[1];
    const isOwn = owner === undefined ? isDefault : decodeURIComponent(owner) === agent;
    const isAlone =
      row["chatType"] === "direct" &&
      row["heardGuests"] !== true &&
      !/::|:(?:group|channel|thread|subagent):/.test(key);
    const { sessionId, sessionFile } = row;
    if (!isOwn || !isAlone || typeof sessionId !== "string") return [];
    const file = basename(typeof sessionFile === "string" ? sessionFile : `${sessionId}.jsonl`);
    return [{ file, isUntrusted: row["untrustedContent"] !== undefined }];
  });
}

interface Entry {
  readonly entry: Readonly<Record<string, unknown>>;
  readonly number: number;
}

/** The texts of the person and the agent; results of tools are left out. */
function saidIn({ entry, number }: Entry): readonly Line[] {
  const { role, content } = fieldsOf(entry["message"]);
  if (entry["type"] !== "message" || (role !== "user" && role !== "assistant")) return [];
  const parts = Array.isArray(content) ? content.map(fieldsOf) : [{ type: "text", text: content }];
  const text = parts
    .flatMap(({ type, text: part }) => (type === "text" && typeof part === "string" ? [part] : []))
    .join("\n");
  if (text.trim() === "") return [];
  const lines = `${role === "user" ? "Person" : "Agent"}: ${text}`.split("\n");
  return lines.map((line) => ({ number, text: line }));
}

function hasUntrusted(entry: Readonly<Record<string, unknown>>): boolean {
  const { details } = fieldsOf(entry["message"]);
  return fieldsOf(fieldsOf(details)["externalContent"])["untrusted"] === true;
}

function linesIn(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

/** Undefined for a text that is not JSON, such as a line that is being written. */
function fieldsIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return text.trim() === "" ? undefined : fieldsOf(JSON.parse(text));
  } catch {
    // Another program may have written the file, or writes it now.
    return undefined;
  }
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};
