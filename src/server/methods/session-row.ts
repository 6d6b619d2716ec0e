import { agentOf, isMainKey, isSubagentKey, parseKey } from "../../sessions/keys.ts";
import { isArchived } from "../../sessions/rows/row.ts";
import { noticeIn } from "../../sessions/shown/notice.ts";
import { shownTitle } from "../../sessions/shown/title.ts";
import { shownText } from "../../sessions/shown/shown-text.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { ModelInfo } from "../../types/run/model.ts";
import type { RunFacts } from "../../types/run/run.ts";
import { SESSION_SETTINGS, type SessionEntry, type SessionRow, type TranscriptEntry } from "../../types/session.ts";
import { defined } from "../../utils/defined.ts";
import { readableName } from "../../utils/text/clean-text.ts";
import type { ServerPorts } from "../options.ts";

type Ports = Pick<ServerPorts, "catalog">;

/** A session as clients see it in a list. */
export function showSession({ key, entry }: SessionRow, active: readonly RunFacts[], { catalog }: Ports) {
  const { sessionId, updatedAt, chatType = "direct", inputTokens = 0, outputTokens = 0, totalTokens = 0 } = entry;
  const activeRunIds = active.map((facts) => facts.runId);
  const title = shownTitle(entry);
  return {
    ...placeOf(key, chatType, catalog),
    chatType,
    sessionId,
    updatedAt,
    inputTokens,
    outputTokens,
    totalTokens,
    ...modelOf(entry, catalog.defaultModel()),
    status: activeRunIds.length > 0 ? "running" : "done",
    hasActiveRun: activeRunIds.length > 0,
    activeRunIds,
    archived: isArchived(entry),
    pinned: entry.pinnedAt !== undefined,
    unread: entry.markedUnreadAt !== undefined,
    ...shownFields(entry),
    ...(entry.subject !== undefined && { subject: readableName(entry.subject) }),
    ...(title !== undefined && { displayName: title, derivedTitle: title }),
  };
}

/** A session that nobody has used yet, as `showSession`. */
export function showUnused(key: SessionKey, { catalog }: Ports) {
  const model = catalog.defaultModel();
  return {
    ...placeOf(key, "direct", catalog),
    updatedAt: null,
    archived: false,
    pinned: false,
    unread: false,
    model: model?.id ?? null,
    modelProvider: model?.provider ?? null,
    contextTokens: model?.contextWindow ?? null,
    hasActiveRun: false,
    activeRunIds: [],
  };
}

function placeOf(key: SessionKey, chatType: string, { defaultAgent }: Ports["catalog"]) {
  return {
    key,
    kind: chatType === "direct" ? "direct" : "group",
    classification: classOf(key, chatType),
    agentId: agentOf(key, defaultAgent),
    isMain: isMainKey(key),
    isBackground: isBackground(key),
  };
}

function classOf(key: SessionKey, chatType: string): string {
  if (isMainKey(key)) return "main";
  if (isSubagentKey(key)) return "subagent";
  const parsed = parseKey(key);
  if (parsed.kind === "other") return parsed.text.startsWith("cron:") ? "cron" : "custom";
  return chatType === "direct" ? "direct" : "group";
}

const isBackground = (key: SessionKey): boolean => ["subagent", "cron"].includes(classOf(key, "direct"));

function modelOf(entry: Readonly<SessionEntry>, model: ModelInfo | undefined) {
  return {
    model: entry.modelOverride ?? model?.id ?? null,
    modelProvider: entry.providerOverride ?? model?.provider ?? null,
    modelOverrideSource: entry.modelOverride === undefined ? null : "user",
    contextTokens: entry.contextTokens ?? model?.contextWindow ?? null,
  };
}

const SHOWN = [
  ...SESSION_SETTINGS,
  "channel",
  "subject",
  "groupId",
  "spawnedBy",
  "parentSessionKey",
  "forkedFromParent",
  "pinnedAt",
  "markedUnreadAt",
  "totalTokensFresh",
  "systemSent",
  "abortedLastRun",
  "lastChannel",
  "lastTo",
  "lastAccountId",
  "lastThreadId",
] as const satisfies readonly (keyof SessionEntry)[];

/** The further fields of a row that clients may see; paths and unknown fields are left out. */
function shownFields(entry: Readonly<SessionEntry>): Partial<SessionEntry> {
  return Object.fromEntries(SHOWN.flatMap((name) => (entry[name] === undefined ? [] : [[name, entry[name]]])));
}

/** Characters of a title that is the beginning of a message, and of the last message in a list. */
const MOST_TITLE = 60;
const MOST_PREVIEW = 200;
/** Entries in which the last text is searched: a long tool loop has no text. */
const SEARCHED = 8;

export interface TextsWanted {
  readonly includeDerivedTitles?: boolean | undefined;
  readonly includeLastMessage?: boolean | undefined;
}

/** Texts of a session for a list that asks for them: a title for a session without one, and the last message. */
export async function rowTexts(
  { key, entry }: SessionRow,
  { includeDerivedTitles = false, includeLastMessage = false }: TextsWanted,
  { sessions }: Pick<ServerPorts, "sessions">,
): Promise<{ readonly derivedTitle?: string; readonly lastMessagePreview?: string }> {
  const isUntitled = shownTitle(entry) === undefined;
  const [opening, last] = await Promise.all([
    includeDerivedTitles && isUntitled ? sessions.opening(key) : undefined,
    includeLastMessage ? lastText(key, sessions) : undefined,
  ]);
  const title = opening === undefined ? undefined : lineOf(shownText(opening).text, MOST_TITLE);
  const preview = last === undefined ? undefined : lineOf(last, MOST_PREVIEW);
  return defined({ derivedTitle: title === "" ? undefined : title, lastMessagePreview: preview });
}

async function lastText(key: SessionKey, sessions: ServerPorts["sessions"]): Promise<string | undefined> {
  const { entries } = await sessions.history(key, SEARCHED);
  return entries
    .toReversed()
    .map(entryText)
    .find((text) => text !== "");
}

/** The text of an entry as people read it; empty when it has none. */
export function entryText(entry: TranscriptEntry): string {
  const notice = noticeIn(entry);
  if (notice) return notice.text;
  if (entry.type !== "message") return "";
  const { role, content } = entry.message;
  if (role === "toolResult") return "";
  const text =
    typeof content === "string" ? content : content.map((part) => ("text" in part ? part.text : "")).join("");
  return role === "user" ? shownText(text).text : text;
}

const lineOf = (text: string, most: number): string => {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
};
