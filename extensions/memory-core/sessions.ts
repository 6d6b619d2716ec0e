import { lstatSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readSessionRows } from "openclaw/plugin-sdk/session-rows";
import { chunksOfLines, type Chunk, type Line } from "./chunks.ts";
import type { SessionPlace } from "./job.ts";
import type { NoteFile } from "./notes.ts";
import { SESSIONS } from "./session-paths.ts";

/** Bytes; a larger transcript is not searched. */
const MOST_BYTES = 20_000_000;

/** A conversation as it is searched. */
export interface SessionText {
  readonly chunks: readonly Chunk[];
  /** Text of each line of the file, in one line; only of a conversation. */
  readonly said?: readonly string[];
  /** The conversation has read untrusted content. */
  readonly isUntrusted: boolean;
}

/** The conversations of an agent that are searched, as the gateway knows them at one moment. */
export interface SearchedConversations {
  readonly dir: string;
  readonly rows: readonly ConversationRow[];
}

interface ConversationRow {
  readonly file: string;
  readonly isUntrusted: boolean;
}

/** The conversations that owners had alone with the agent. Rejects when the journal, which lists them, cannot be read. */
export async function readConversations({ dir, agent, isDefault }: SessionPlace): Promise<SearchedConversations> {
  const all = await readSessionRows(dirname(dir));
  const rows = [...all].flatMap(([key, row]): readonly ConversationRow[] => {
    const owner = /^agent:([^:]+):/.exec(key)?.[1];
    const isOwn = owner === undefined ? isDefault : decodeURIComponent(owner) === agent;
    const isAlone =
      row.chatType === "direct" && row.heardGuests !== true && !/::|:(?:group|channel|thread|subagent):/.test(key);
    if (!isOwn || !isAlone) return [];
    const file = basename(row.sessionFile ?? `${row.sessionId}.jsonl`);
    return [{ file, isUntrusted: row.untrustedContent !== undefined }];
  });
  return { dir, rows };
}

/** The files of the conversations. */
export const sessionFiles = ({ dir, rows }: SearchedConversations): readonly NoteFile[] =>
  rows.flatMap(({ file, isUntrusted }): readonly NoteFile[] => {
    const path = `${SESSIONS}${file}`;
    const stat = lstatSync(join(dir, file), { throwIfNoEntry: false });
    if (!stat?.isFile()) return [];
    if (stat.size > MOST_BYTES) return [{ path, version: "", leftOut: "too large" }];
    return [{ path, version: `${stat.size} ${stat.mtimeMs} ${stat.ino}${isUntrusted ? " untrusted" : ""}` }];
  });

/** The text of a conversation; undefined when there is no such file. Its lines are the lines of the file. */
export function readSession({ dir, rows }: SearchedConversations, path: string): SessionText | undefined {
  const row = rows.find(({ file }) => `${SESSIONS}${file}` === path);
  if (!row) return undefined;
  const entries = linesIn(join(dir, row.file)).flatMap((text, index) => {
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
