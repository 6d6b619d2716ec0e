import { buildKey, canonicalKey, DIRECT, fieldChat, fieldId, OPERATOR_KEY } from "../../../sessions/keys.ts";
import { type AgentId, agentId, type SessionKey, sessionKey } from "../../../types/ids.ts";
import { THINK_LEVELS } from "../../../types/run/model.ts";
import { readRow } from "../../../sessions/rows/row.ts";
import type { SessionEntry } from "../../../types/session.ts";
import { type Fields, isFields } from "../../../utils/fields.ts";

/** What decides how the keys of a source are read. */
export interface SourceKeyRules {
  /** The agent in whose store the key is. */
  readonly agent: string;
  /** The agent whose keys have no prefix here. */
  readonly defaultAgent: AgentId;
  /** Whether all direct chats share the agent's main conversation here. */
  readonly isShared: boolean;
  /** Name of the main conversation in the source. */
  readonly mainKey: string;
}

/**
 * The key of the same conversation here. `row`: facts about its chat that the source's key lacks, such as the account and the case of
 * ids. A key of no known form keeps its text. Pure.
 */
export function keyHere(text: string, row: Fields, rules: SourceKeyRules): SessionKey {
  const { defaultAgent } = rules;
  const [, named, inner] = /^agent:([^:]+):(.+)$/s.exec(text) ?? [];
  const agent = agentId(named ?? rules.agent);
  const rest = inner ?? text;
  if (rest === "main" || rest === rules.mainKey || rest === "global") return mainHere(agent, row, rules);
  const chat = chatIn(rest, row);
  if (chat) return buildKey({ agentId: agent, ...chat }, defaultAgent);
  return canonicalKey(sessionKey(`agent:${agent}:${rest}`), defaultAgent);
}

/** The main conversation: that of all direct chats, if people wrote in a chat; else that of the operator. */
function mainHere(agent: AgentId, row: Fields, { defaultAgent, isShared }: SourceKeyRules): SessionKey {
  const { channel } = placeIn(row);
  const isChat = channel !== undefined && channel !== "webchat";
  if (agent === defaultAgent && !(isShared && isChat)) return OPERATOR_KEY;
  return buildKey({ kind: "main", agentId: agent }, defaultAgent);
}

type Chat =
  | { readonly kind: "peer"; readonly name: string }
  | {
      readonly kind: "direct";
      readonly channel: string;
      readonly account: string;
      readonly sender: string;
      readonly thread?: string;
    }
  | {
      readonly kind: "group";
      readonly channel: string;
      readonly account: string;
      readonly group: string;
      readonly thread?: string;
    };

/** The chat of a key of the field, with what its row knows better. */
function chatIn(rest: string, row: Fields): Chat | undefined {
  const named = fieldChat(rest);
  if (!named) return undefined;
  const isDirect = DIRECT.has(named.kind);
  const id = inCase(named.id, row, named.channel);
  if (named.channel === undefined && isDirect) return { kind: "peer", name: id };
  const where = placeIn(row);
  const channel = named.channel ?? where.channel ?? channelOf(id);
  if (channel === undefined) return undefined;
  const account = named.account ?? where.account ?? "default";
  const thread = named.thread === undefined ? undefined : inCase(named.thread, row, named.channel);
  const place = { channel, account, ...(thread !== undefined && { thread }) };
  return isDirect ? { kind: "direct", ...place, sender: id } : { kind: "group", ...place, group: id };
}

/** In the first versions there was one channel, and its keys did not name it. */
const channelOf = (group: string): string | undefined => (group.endsWith("@g.us") ? "whatsapp" : undefined);

/** The row has the ids as the platform writes them. */
function inCase(id: string, row: Fields, channel: string | undefined): string {
  for (const text of textsIn(row)) {
    const at = text.toLowerCase().indexOf(id.toLowerCase());
    if (at >= 0) return text.slice(at, at + id.length).replace(/^uuid:/, "");
  }
  return fieldId(id, channel);
}

function textsIn(row: Fields): readonly string[] {
  const { lastTo, groupId, origin, deliveryContext } = row;
  const parts = [
    lastTo,
    groupId,
    ...[origin, deliveryContext].flatMap((one) => (isFields(one) ? Object.values(one) : [])),
  ];
  return parts.filter((part) => typeof part === "string");
}

interface Where {
  readonly channel?: string;
  readonly account?: string;
  readonly to?: string;
  readonly thread?: string;
}

/** Where the source delivered the last answer. */
function placeIn(row: Fields): Where {
  const { deliveryContext, delivery, origin } = row;
  const places = [row, deliveryContext, delivery, origin].map((one) => (isFields(one) ? one : {}));
  const first = (...names: readonly string[]): string | undefined => {
    for (const place of places)
      for (const name of names) {
        const value = place[name];
        if (typeof value === "string" && value !== "") return value;
        if (typeof value === "number") return String(value);
      }
    return undefined;
  };
  const found = {
    channel: first("lastChannel", "channel", "provider"),
    account: first("lastAccountId", "accountId"),
    to: first("lastTo", "to"),
    thread: first("lastThreadId", "threadId"),
  };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const time = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
const oneOf =
  (...known: readonly string[]) =>
  (value: unknown): string | undefined =>
    typeof value === "string" && known.includes(value) ? value : undefined;

/** Fields that mean the same here, with what is read of them. Values of other versions that have no meaning here are named in a note. */
const CHOICES: Readonly<Record<string, (value: unknown) => string | number | undefined>> = {
  thinkingLevel: oneOf(...THINK_LEVELS),
  verboseLevel: oneOf("off", "on", "full"),
  reasoningLevel: oneOf("off", "on", "stream"),
  responseUsage: text,
  ttsAuto: text,
  providerOverride: text,
  modelOverride: text,
  authProfileOverride: text,
  authProfileOverrideSource: oneOf("auto", "user"),
  sendPolicy: oneOf("allow", "deny"),
  groupActivation: oneOf("mention", "always"),
  queueMode: text,
  queueDebounceMs: time,
  queueCap: time,
  queueDrop: text,
  execHost: text,
  execSecurity: text,
  execAsk: text,
  elevatedLevel: text,
  label: text,
  category: text,
  icon: text,
  color: text,
  archivedAt: time,
  pinnedAt: time,
  markedUnreadAt: time,
  subject: text,
  spawnDepth: time,
  inputTokens: time,
  outputTokens: time,
  totalTokens: time,
  contextTokens: time,
  compactionCount: time,
  lastHeartbeatText: text,
  lastHeartbeatSentAt: time,
};

export interface RowHere {
  readonly row: SessionEntry;
  readonly notes: readonly string[];
}

interface Facts {
  readonly sessionId: string;
  readonly updatedAt: number;
  readonly sessionFile: string;
}

/** A row of the source with what means something here: choices, names, the place of the last answer. Pure. */
export function rowHere(text: string, given: Fields, facts: Facts, rules: SourceKeyRules): RowHere {
  const chosen = Object.entries(CHOICES).map(([name, read]) => [name, read(given[name])] as const);
  const lost = chosen.filter(([name, value]) => value === undefined && isSaid(given[name])).map(([name]) => name);
  const { displayName, spawnedBy, parentSessionKey } = given;
  const other = (value: unknown) => (typeof value === "string" ? keyHere(value, {}, rules) : undefined);
  const named = {
    // The source makes names such as `telegram:g-ops` for chats without one.
    displayName: typeof displayName === "string" && !displayName.includes(":") ? displayName : undefined,
    spawnedBy: other(spawnedBy),
    parentSessionKey: other(parentSessionKey),
  };
  const row = readRow(withValues({ ...Object.fromEntries(chosen), ...named, ...chatHere(text, given), ...facts }));
  if (!row) throw new Error("a row of an import needs its id and time");
  return { row, notes: lost.map((name) => `${name} ${JSON.stringify(given[name])} has no meaning here`) };
}

/** The fields about the chat, as a message in it sets them. */
function chatHere(text: string, given: Fields): Fields {
  const rest = /^agent:[^:]+:(.+)$/s.exec(text)?.[1] ?? text;
  const chat = chatIn(rest, given);
  if (chat?.kind !== "group" && chat?.kind !== "direct")
    return chat?.kind === "peer" || !rest.includes(":") ? lastPlace(given) : {};
  const id = chat.kind === "group" ? chat.group : chat.sender;
  return {
    ...whereabouts({ channel: chat.channel, account: chat.account, id, thread: chat.thread }),
    chatType: chat.thread === undefined ? chat.kind : "thread",
    // Nobody knows who of a group is an owner.
    ...(chat.kind === "group" ? { groupId: id, heardGuests: true } : originOf(chat.channel, id)),
  };
}

/** Of a conversation that several chats share: where the last answer went. */
function lastPlace(given: Fields): Fields {
  const { channel, account = "default", to, thread } = placeIn(given);
  if (channel === undefined) return {};
  if (channel === "webchat" || to === undefined) return { chatType: "direct", lastChannel: channel };
  const bare = to.startsWith(`${channel}:`) ? to.slice(channel.length + 1) : to;
  const id = bare.replace(/^(?:user|dm|uuid):/, "");
  return { ...whereabouts({ channel, account, id, thread }), chatType: "direct", ...originOf(channel, id) };
}

const originOf = (provider: string, id: string): Fields => ({ origin: { provider, from: `${provider}:${id}` } });

const whereabouts = (at: { channel: string; account: string; id: string; thread: string | undefined }): Fields => ({
  channel: at.channel,
  lastChannel: at.channel,
  lastTo: `${at.channel}:${at.id}`,
  lastAccountId: at.account,
  lastThreadId: at.thread,
});

const isSaid = (value: unknown): boolean => value !== undefined && value !== null && value !== "";

const withValues = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
