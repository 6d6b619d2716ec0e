import { createReadStream, createWriteStream } from "node:fs";
import { copyFile, readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { agentOf, OPERATOR_KEY, parseKey } from "../../sessions/keys.ts";
import { fileOf, writeRow } from "../../sessions/rows/row.ts";
import { parseFields, parseHeader } from "../../sessions/transcript/entries.ts";
import { prepareTranscript, readHeader } from "../../sessions/transcript/prepare.ts";
import { makePrivateDir, writeAtomic } from "../../store/disk.ts";
import { sessionKey, type AgentId, type SessionKey } from "../../types/ids.ts";
import type { Log } from "../../types/log.ts";
import type { SessionEntry } from "../../types/session.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { exists } from "../../utils/exists.ts";
import type { LeftItem } from "./records.ts";
import { openClawKey, type KeyScene } from "./session-keys.ts";

export interface SessionsScene {
  readonly sessionsDir: string;
  readonly rows: ReadonlyMap<SessionKey, SessionEntry>;
  readonly defaultAgent: AgentId;
  readonly dmScope: string;
  /** The agent's workspace as OpenClaw will have it. */
  workspaceOf(agent: AgentId): string;
  /** A text of the time `at`, with the paths of files in the new directory. */
  moved(text: string, at: number): string;
  readonly log: Log;
  now(): number;
}

export interface ExportedSessions {
  readonly sessions: number;
  readonly transcripts: number;
  /** Transcripts from before `/new`, and of removed conversations. */
  readonly archives: number;
  readonly left: readonly LeftItem[];
  /** The new key of each conversation. */
  readonly names: ReadonlyMap<SessionKey, string>;
}

/**
 * The scope of direct chats that gives each conversation its own key there: a key of OpenClaw names the account only in one of them, and a key
 * here always does.
 */
export function scopeFor(keys: Iterable<SessionKey>, given: string, defaultAgent: AgentId): string {
  if (given !== "per-channel-peer") return given;
  const isSeveral = [...keys].some((key) => {
    const parsed = parseKey(key, defaultAgent);
    return parsed.kind === "direct" && parsed.channel !== "webchat" && parsed.account !== "default";
  });
  return isSeveral ? "per-account-channel-peer" : given;
}

/** Writes the conversations of every agent below `dir`, as OpenClaw keeps them. Throws DISK_FULL and DISK_WRITE. */
export async function exportSessions(scene: SessionsScene, dir: string): Promise<ExportedSessions> {
  const left: LeftItem[] = [];
  const stores = new Map<AgentId, Map<string, SessionEntry>>();
  const names = namesOf(scene, left);
  let transcripts = 0;
  for (const [key, entry] of scene.rows) {
    const agent = agentOf(key, scene.defaultAgent);
    const folder = folderOf(dir, agent);
    await makePrivateDir(folder);
    const from = fileOf(entry, scene.sessionsDir);
    const file = `${basename(entry.sessionId)}.jsonl`;
    if (await writeTranscript(from, join(folder, file), agent, scene)) transcripts += 1;
    else if (await exists(from))
      left.push({ what: `the transcript of ${names.get(key) ?? key}`, why: "it cannot be read" });
    const store = stores.get(agent) ?? new Map<string, SessionEntry>();
    store.set(names.get(key) ?? key, rowOf(entry, file, names));
    stores.set(agent, store);
  }
  for (const [agent, store] of stores)
    await writeAtomic(
      join(folderOf(dir, agent), "sessions.json"),
      `${JSON.stringify(Object.fromEntries(store), null, 2)}\n`,
    );
  const archives = await exportArchives(scene, dir);
  return { sessions: scene.rows.size, transcripts, archives, left, names };
}

const folderOf = (dir: string, agent: AgentId): string => join(dir, "agents", agent.toLowerCase(), "sessions");

/** The new key of each conversation. Of two that would have one, the one that was used last has it. */
function namesOf(scene: SessionsScene, left: LeftItem[]): ReadonlyMap<SessionKey, string> {
  const { defaultAgent, dmScope } = scene;
  const rules: KeyScene = { defaultAgent, dmScope };
  const newest = [...scene.rows].toSorted(([, one], [, other]) => other.updatedAt - one.updatedAt);
  const names = new Map<SessionKey, string>();
  const used = new Set<string>();
  for (const [key, entry] of newest) {
    const wanted = key === OPERATOR_KEY ? `agent:${defaultAgent.toLowerCase()}:main` : openClawKey(key, entry, rules);
    const name = used.has(wanted) ? `${wanted}:${basename(entry.sessionId).slice(0, 8).toLowerCase()}` : wanted;
    if (name !== wanted)
      left.push({
        what: `${key} is ${name}, which no chat continues`,
        why: `a newer conversation has the key ${wanted}`,
      });
    used.add(name);
    names.set(key, name);
  }
  return names;
}

/** A row without what only this gateway knows, and with the new keys in it. */
function rowOf(entry: SessionEntry, file: string, names: ReadonlyMap<SessionKey, string>): SessionEntry {
  const { heardGuests: _guests, untrustedContent: _mark, plan: _plan, archiveAt: _at, ...row } = writeRow(entry);
  const renamed = (key: string) => names.get(sessionKey(key)) ?? key;
  const { spawnedBy, parentSessionKey } = row;
  return {
    ...row,
    sessionFile: file,
    ...(spawnedBy !== undefined && { spawnedBy: renamed(spawnedBy) }),
    ...(parentSessionKey !== undefined && { parentSessionKey: renamed(parentSessionKey) }),
  };
}

/**
 * Copies a transcript in the present version, its damaged end cut off, with the paths of the new directory. False when there is none, or none
 * that can be read.
 */
async function writeTranscript(from: string, to: string, agent: AgentId, scene: SessionsScene): Promise<boolean> {
  if (!(await exists(from))) return false;
  const draft = `${to}.draft`;
  await copyFile(from, draft);
  await prepareTranscript(draft, scene);
  if (!(await exists(draft))) return false;
  const target = createWriteStream(to, { flags: "wx", mode: 0o600, flush: true });
  await pipeline(Readable.from(linesIn(draft, agent, scene)), target);
  await rm(draft);
  return true;
}

async function* linesIn(path: string, agent: AgentId, scene: SessionsScene): AsyncGenerator<string> {
  const lines = createInterface({ input: createReadStream(path, "utf8"), crlfDelay: Number.POSITIVE_INFINITY });
  let isFirst = true;
  for await (const line of lines) {
    yield `${isFirst ? headerIn(line, agent, scene) : lineIn(line, scene)}\n`;
    isFirst = false;
  }
}

/** The first line, with the folder in which OpenClaw's tools will work. */
function headerIn(line: string, agent: AgentId, scene: SessionsScene): string {
  const header = parseHeader(line);
  if (!header) return lineIn(line, scene);
  const { type, version, id, timestamp } = header;
  return JSON.stringify({ type, version, id, timestamp, cwd: scene.workspaceOf(agent) });
}

/** A line with the paths of files in the new directory. Thinking stays, because some providers sign it. */
function lineIn(line: string, { moved }: SessionsScene): string {
  const fields = moved(line, 0) === line ? undefined : parseFields(line);
  if (!fields) return line;
  const at = Date.parse(String(fields["timestamp"])) || 0;
  return JSON.stringify(valueIn(fields, (text) => moved(text, at)));
}

function valueIn(value: unknown, moved: (text: string) => string): unknown {
  if (typeof value === "string") return moved(value);
  if (Array.isArray(value)) return value.map((one) => valueIn(one, moved));
  if (!isFields(value) || /thinking/i.test(String(value["type"]))) return value;
  const fields: Fields = value;
  return Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, valueIn(one, moved)]));
}

const ARCHIVE = /\.jsonl\.(?:reset|deleted)\.[^/]+$/;

/** Copies what `/new` and removals have set aside, under the names that OpenClaw gives them. */
async function exportArchives({ sessionsDir, defaultAgent }: SessionsScene, dir: string): Promise<number> {
  const names = (await exists(sessionsDir)) ? (await readdir(sessionsDir)).filter((name) => ARCHIVE.test(name)) : [];
  for (const name of names) {
    const from = join(sessionsDir, name);
    const key = (await readHeader(from))?.sessionKey;
    const folder = folderOf(dir, key === undefined ? defaultAgent : agentOf(sessionKey(key), defaultAgent));
    await makePrivateDir(folder);
    await copyFile(from, join(folder, name));
  }
  return names.length;
}
