import { existsSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { EarlierPlaces } from "../../store/places.ts";
import { SESSION_MARKS, SESSION_SETTINGS, type SessionEntry, type SessionPatch } from "../../types/session.ts";
import { type Fields, isFields } from "../../utils/fields.ts";
import { isInside } from "../../utils/real-path.ts";

// Fields that a new session id does not inherit.
const OF_ONE_ID = [
  "sessionFile",
  "systemSent",
  "abortedLastRun",
  "inputTokens",
  "outputTokens",
  "totalTokens",
  "totalTokensFresh",
  "contextTokens",
  "compactionCount",
  "memoryFlushCompactionCount",
  "memoryFlushAt",
  "heardGuests",
  "untrustedContent",
  "plan",
];

/** A row as another program may have written it; undefined when it names no session. */
export function readRow(value: unknown): SessionEntry | undefined {
  if (!isFields(value)) return undefined;
  const { updatedAt, chatType, lastThreadId } = value;
  const row: unknown = {
    ...value,
    updatedAt: typeof updatedAt === "number" ? updatedAt : 0,
    ...(chatType === "dm" ? { chatType: "direct" } : {}),
    ...(typeof lastThreadId === "number" ? { lastThreadId: String(lastThreadId) } : {}),
  };
  return isRow(row) ? row : undefined;
}

/** A row as it is written. Counters are marked as up to date, because plugins would otherwise count again. */
export function writeRow(row: SessionEntry): SessionEntry {
  const hasCounters = [row.totalTokens, row.inputTokens, row.outputTokens].some((count) => count !== undefined);
  return hasCounters ? { ...row, totalTokensFresh: true } : row;
}

/** The row with fields changed; `undefined` deletes one. */
export function patchRow(row: SessionEntry, patch: SessionPatch): SessionEntry {
  return kept(Object.entries({ ...row, ...patch }).filter(([, value]) => value !== undefined));
}

/** A message after a session was archived brings the session back. */
export const isArchived = ({ archivedAt, updatedAt }: Readonly<SessionEntry>): boolean =>
  archivedAt !== undefined && archivedAt >= updatedAt;

/** The row with the values that the patched fields had before. A field that was changed again since stays. */
export function takenBack(row: SessionEntry, patch: SessionPatch, before: SessionEntry): SessionEntry {
  const [now, made, was]: [Fields, Fields, Fields] = [{ ...row }, { ...patch }, { ...before }];
  const names = Object.keys(made).filter((name) => now[name] === made[name]);
  return patchRow(row, Object.fromEntries(names.map((name) => [name, was[name]])));
}

/** The row of a new session id with the same key. Settings and places stay; fields that belong to the old id are removed. */
export function renewRow(
  row: SessionEntry,
  fresh: { sessionId: string; sessionFile: string; updatedAt: number },
): SessionEntry {
  const stays = Object.entries(row).filter(([field]) => !OF_ONE_ID.includes(field));
  return kept([...stays, ...Object.entries(fresh)]);
}

/** Fields that a copy of a conversation inherits: settings, and what its content brings along. */
const OF_A_COPY: readonly string[] = [
  ...SESSION_SETTINGS.filter((name) => name !== "label"),
  "providerOverride",
  "modelOverride",
  "heardGuests",
  "untrustedContent",
];

/** The row of a copy of another row's conversation. */
export function forkRow(row: SessionEntry, fresh: { sessionId: string; sessionFile: string; updatedAt: number }) {
  const inherited = Object.entries(row).filter(([field]) => OF_A_COPY.includes(field));
  return kept([...inherited, ...Object.entries({ ...fresh, forkedFromParent: true })]);
}

const SETTINGS = [...SESSION_SETTINGS, ...SESSION_MARKS, "providerOverride", "modelOverride"] as const;

/** Whether people have set the same in both rows. A row that is not there yet sets nothing. */
export const hasSameSettings = (one: Readonly<SessionEntry> | undefined, other: Readonly<SessionEntry>): boolean =>
  SETTINGS.every((name) => one?.[name] === other[name]);

/**
 * Absolute path of a row's transcript. `dir`: the directory of the sessions. Only a conversation of another program has
 * its file outside.
 */
export function fileOf(row: SessionEntry, dir: string): string {
  const named = namedFile(row);
  if (named === undefined) return join(dir, `${basename(row.sessionId)}.jsonl`);
  const path = resolve(dir, named);
  const here = join(dir, basename(path));
  return path === here || existsSync(here) || !existsSync(path) ? here : path;
}

/**
 * The row as it is kept: with the name of its file in the directory of the sessions, or the way to it from there, so
 * that a state directory that is copied or moved uses its own file. A path outside of the directory stays for a file
 * that is only there.
 */
export function keptRow(row: SessionEntry, dir: string, earlier: EarlierPlaces): SessionEntry {
  const named = namedFile(row);
  if (named === undefined || named === basename(named)) return row;
  const path = earlier.here(resolve(dir, named), row.updatedAt);
  const here = join(dir, basename(path));
  const isOwn = isInside(path, dirname(dir));
  const file = path === here || existsSync(here) || (isOwn && !existsSync(path)) ? here : path;
  const kept = isInside(file, dirname(dir)) ? relative(dir, file) : file;
  return kept === row.sessionFile ? row : { ...row, sessionFile: kept };
}

/** Undefined where a row names no file, or the database of another program. */
const namedFile = ({ sessionFile }: SessionEntry): string | undefined =>
  sessionFile?.includes(".jsonl") === true && !sessionFile.startsWith("sqlite:") ? sessionFile : undefined;

function kept(fields: readonly (readonly [string, unknown])[]): SessionEntry {
  const row: Fields = Object.fromEntries(fields);
  if (!isRow(row)) throw new Error("a session row needs its sessionId and updatedAt");
  return row;
}

function isRow(value: unknown): value is SessionEntry {
  return isFields(value) && typeof value["sessionId"] === "string" && typeof value["updatedAt"] === "number";
}
