import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { AgentId, SessionKey } from "../../types/ids.ts";
import { sessionKey } from "../../types/ids.ts";
import type { SessionEntry } from "../../types/session.ts";
import { type Fields, isFields } from "../../utils/fields.ts";
import { writtenKey } from "../keys.ts";
import { readHeader } from "../transcript/prepare.ts";
import { readRow, writeRow } from "./row.ts";
import { readTextFile } from "../../store/text-file.ts";

/** The content of sessions.json. `foreign`: members that are no rows, kept unchanged. */
export interface Rows {
  readonly rows: Map<SessionKey, SessionEntry>;
  readonly foreign: Fields;
}

export const rowsPath = (dir: string): string => join(dir, "sessions.json");

/** Undefined when there is no file. Throws when its text is neither JSON nor JSON5. */
export async function readRowsFile(dir: string, defaultAgent: AgentId): Promise<Rows | undefined> {
  const text = await readTextFile(rowsPath(dir));
  if (text === undefined) return undefined;
  const value = await parseLoosely(text);
  if (!isFields(value)) throw new Error("it holds no object");
  return toRows(value, defaultAgent);
}

/** Rows that are printed before the event loop gets its turn. */
const SLICE = 200;

/** The text to write. It never blocks the event loop for long, however many rows there are. */
export async function printRows({ rows, foreign }: Rows): Promise<string> {
  const members = Object.entries(foreign)
    .filter(([name]) => !rows.has(sessionKey(name)))
    .map(([name, value]) => printMember(name, value));
  for (const [key, row] of rows) {
    members.push(printMember(key, writeRow(row)));
    if (members.length % SLICE === 0) await setImmediate();
  }
  return members.length === 0 ? "{}\n" : `{\n${members.join(",\n")}\n}\n`;
}

const printMember = (name: string, value: unknown): string =>
  `  ${JSON.stringify(name)}: ${JSON.stringify(value, null, 2).replaceAll("\n", "\n  ")}`;

async function parseLoosely(text: string): Promise<unknown> {
  try {
    return JSON.parse(text);
  } catch {
    // A person may have edited the file, so JSON5 is tried too.
    const { default: json5 } = await import("json5");
    return json5.parse(text);
  }
}

function toRows(value: Fields, defaultAgent: AgentId): Rows {
  const rows = new Map<SessionKey, SessionEntry>();
  const foreign: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const row = withOwnKeys(readRow(member), defaultAgent);
    const key = writtenKey(name, defaultAgent);
    const other = rows.get(key);
    if (!row) foreign[name] = member;
    else if (!other || other.updatedAt <= row.updatedAt) rows.set(key, row);
  }
  return { rows, foreign };
}

/** A row that a plugin has written names other conversations as plugins see them. */
function withOwnKeys(row: SessionEntry | undefined, defaultAgent: AgentId): SessionEntry | undefined {
  const { spawnedBy, parentSessionKey } = row ?? {};
  if (!row || (spawnedBy === undefined && parentSessionKey === undefined)) return row;
  return {
    ...row,
    ...(spawnedBy !== undefined && { spawnedBy: writtenKey(spawnedBy, defaultAgent) }),
    ...(parentSessionKey !== undefined && { parentSessionKey: writtenKey(parentSessionKey, defaultAgent) }),
  };
}

/**
 * Rows made from the transcripts of a directory. The header of our own files names the key. Of several transcripts of a
 * key, the last written one counts.
 */
export async function rebuildRows(dir: string): Promise<{ rows: Map<SessionKey, SessionEntry>; unmapped: number }> {
  const rows = new Map<SessionKey, SessionEntry>();
  let unmapped = 0;
  for (const name of (await readdir(dir)).filter((one) => one.endsWith(".jsonl"))) {
    const path = join(dir, name);
    const header = await readHeader(path);
    if (header?.sessionKey === undefined) {
      unmapped += 1;
      continue;
    }
    const key = sessionKey(header.sessionKey);
    const updatedAt = Math.floor((await stat(path)).mtimeMs);
    if ((rows.get(key)?.updatedAt ?? -1) < updatedAt)
      rows.set(key, { sessionId: header.id, updatedAt, sessionFile: name });
  }
  return { rows, unmapped };
}
