import type { BeatPlace } from "../../../automation/heartbeat.ts";
import type { BeatCause } from "../../../automation/wake-up.ts";
import { chatOf, keyOfChat } from "../../../sessions/chat-of.ts";
import { buildKey, parseKey, resolveAlias } from "../../../sessions/keys.ts";
import { channelId, DEFAULT_ACCOUNT, type AgentId, type SessionKey } from "../../../types/ids.ts";
import type { Peer, Sender } from "../../../types/chat/message.ts";
import { MethodError } from "../../../types/method.ts";
import type { SessionEntry, SessionRow, Sessions } from "../../../types/session.ts";
import type { AgentSettings, HeartbeatSettings } from "../../../types/settings.ts";
import type { Config } from "../../config/schema/schema.ts";
import { WEB_CHAT } from "../../contributions/extensions.ts";
import { targetPeer, type OutgoingParts } from "../../outgoing.ts";
import type { Live } from "../../live.ts";
import { createRules } from "../../compose/rules.ts";
import type { GatewayChannels } from "./gateway-channels.ts";
import { own } from "../../../utils/own.ts";

export interface PlaceParts {
  readonly live: Live;
  readonly channels: OutgoingParts["channels"] & Pick<GatewayChannels, "mayWrite">;
  readonly sessions: Pick<Sessions, "newest" | "peek">;
}

/** The chat for the report, if there is one, and the reason why it is not the configured one. */
interface Chat {
  readonly found?: FoundChat;
  readonly problem?: string;
}
export interface FoundChat {
  readonly to: Peer;
  readonly key: SessionKey;
}

/** The chat to which an agent's heartbeat delivers, and the conversation in which it runs. */
export async function placeOfBeat(
  { id }: AgentSettings,
  settings: HeartbeatSettings,
  { cause, parts }: { cause: BeatCause; parts: PlaceParts },
): Promise<BeatPlace> {
  const defaultAgent = parts.live.defaultAgent.id;
  const { found, problem } = allowed(await chatFor(id, settings, parts), settings);
  // A report is delivered in the conversation that it belongs to.
  const isOwn = settings.isolated && cause !== "event";
  const sessionKey = isOwn ? ownKey(id, defaultAgent) : sharedKey(settings, found, { id, defaultAgent });
  const why = problem === undefined ? {} : { problem };
  // In the web chat, the transcript is the delivery.
  if (!found || (found.key === sessionKey && found.to.channel === WEB_CHAT)) return { sessionKey, ...why };
  const isElsewhere = found.key !== sessionKey && parts.sessions.peek(found.key) !== undefined;
  return { sessionKey, to: found.to, ...(isElsewhere && { tell: found.key }), ...why };
}

function sharedKey(
  { session }: HeartbeatSettings,
  found: FoundChat | undefined,
  { id, defaultAgent }: { id: AgentId; defaultAgent: AgentId },
): SessionKey {
  if (session !== undefined) return resolveAlias(session, defaultAgent);
  return found?.key ?? mainKey(id, defaultAgent);
}

const ownKey = (agent: AgentId, defaultAgent: AgentId): SessionKey =>
  buildKey({ kind: "other", agentId: agent, text: "heartbeat" }, defaultAgent);

/** An agent's main conversation. */
export const mainKey = (agent: AgentId, defaultAgent: AgentId): SessionKey =>
  buildKey({ kind: "main", agentId: agent }, defaultAgent);

async function chatFor(agent: AgentId, settings: HeartbeatSettings, parts: PlaceParts): Promise<Chat> {
  const { target, to, accountId } = settings;
  if (target === "none") return {};
  const channel = target === "last" ? undefined : target;
  return channel !== undefined && to !== undefined
    ? namedChat({ channel, to, accountId }, parts)
    : lastChat(agent, channel, parts);
}

/** The chat that somebody has named, with its channel; the channel may be left out when there is only one. */
export function namedChat(
  named: { channel: string | undefined; to: string; accountId: string | undefined; threadId?: string | undefined },
  parts: PlaceParts,
): Chat {
  try {
    const to = targetPeer(named, { live: parts.live, channels: parts.channels });
    return { found: { to, key: keyOf(to, parts) } };
  } catch (error) {
    if (error instanceof MethodError) return { problem: error.message };
    throw error;
  }
}

/** The session of a message from the chat. */
function keyOf(to: Peer, { live, sessions }: PlaceParts): SessionKey {
  const said = { id: "", eventKey: "", text: "", media: [], mentionsBot: true, receivedAt: 0 };
  const key = createRules(live)().keyFor({ ...said, from: to, sender: { id: to.chat.id } });
  return keyOfChat(to, key, { sessions, defaultAgent: live.defaultAgent.id });
}

/**
 * The chat in which an owner last wrote: a direct one whose person may still write, or the operator's own on the page.
 */
export async function lastChat(agent: AgentId, channel: string | undefined, parts: PlaceParts): Promise<Chat> {
  const chat = await directChat(agent, channel, parts);
  if (channel !== undefined) return chat;
  const { found: direct, ...why } = chat;
  const web = webChat(agent, parts);
  const [last] = [...(direct ? [direct] : []), ...(web?.usedAt === undefined ? [] : [web])].toSorted(
    (a, b) => usedAt(b) - usedAt(a),
  );
  if (last) return { found: last };
  return { ...(web && { found: web }), ...why };
}

interface UsedChat extends FoundChat {
  readonly usedAt?: number;
}

const usedAt = (chat: UsedChat): number => chat.usedAt ?? 0;

const SEVERAL = "several people write: name yours in commands.ownerAllowFrom";

/**
 * The newest chat of an owner; without owners, the only chat, because its person is the only candidate. A chat whose
 * person may not write any more is none. Reads only rows that name an owner, and without owners at most two of people
 * who may write.
 */
async function directChat(
  agent: AgentId,
  channel: string | undefined,
  parts: PlaceParts,
): Promise<{ readonly found?: UsedChat; readonly problem?: string }> {
  const { live, sessions } = parts;
  const defaultAgent = live.defaultAgent.id;
  const hasOwners = live.config.commands.ownerAllowFrom.length > 0;
  const people = hasOwners ? namesOfOwners(live.config) : undefined;
  let only: UsedChat | undefined;
  let closed: string | undefined;
  for (const row of sessions.newest({ agent, chatType: "direct", channel, people })) {
    const to = chatOf(row.key, row.entry, defaultAgent);
    if (!to) continue;
    if (hasOwners && !isOwners(row, to, live.config)) continue;
    const why = await whyClosed({ to, key: row.key }, parts);
    closed ??= why;
    if (why !== undefined) continue;
    const chat = { to, key: row.key, usedAt: row.entry.updatedAt };
    if (hasOwners) return { found: chat };
    // A row that was used meanwhile comes again.
    if (only && only.key !== row.key) return { problem: SEVERAL };
    only = chat;
  }
  if (only) return { found: only };
  const nobody = hasOwners ? "no owner has written in a direct chat yet" : "nobody has written there yet";
  return { problem: closed ?? nobody };
}

/**
 * The reason why a chat gets no answers that nobody in it has asked for: its person may not write any more. Undefined
 * for a group, and where the person may write.
 */
export async function whyClosed(
  { to, key }: FoundChat,
  { channels, sessions }: PlaceParts,
): Promise<string | undefined> {
  if (to.chat.kind === "group") return undefined;
  for (const sender of sendersOf(to, key, sessions.peek(key)?.origin))
    if (await channels.mayWrite(to, sender)) return undefined;
  return `the person of ${to.channel}:${to.chat.id} may not write to the agent any more: let the person in again, or name another chat`;
}

/** The names under which a direct chat's person may be let in: that of the last message, the key's and the chat's. */
function sendersOf({ channel, chat }: Peer, key: SessionKey, origin: SessionEntry["origin"]): readonly Sender[] {
  const { from = "", username } = origin ?? {};
  const parsed = parseKey(key);
  const last = from.startsWith(`${channel}:`) ? [from.slice(channel.length + 1)] : [];
  const ids = new Set([...last, ...(parsed.kind === "direct" ? [parsed.sender] : []), chat.id]);
  return [...ids].map((id) => ({
    id,
    ...(id.startsWith("+") && { e164: id }),
    ...(username !== undefined && { username }),
  }));
}

/**
 * The agent's conversation on the page. The default agent's is the operator's own, which exists before anybody wrote;
 * another agent's exists only after that.
 */
function webChat(agent: AgentId, { live, sessions }: PlaceParts): UsedChat | undefined {
  const defaultAgent = live.defaultAgent.id;
  const key = mainKey(agent, defaultAgent);
  const entry = sessions.peek(key);
  if (!entry && agent !== defaultAgent) return undefined;
  const to = { channel: channelId(WEB_CHAT), account: DEFAULT_ACCOUNT, chat: { kind: "direct", id: key } } as const;
  return { to, key, ...(entry && { usedAt: entry.updatedAt }) };
}

/** Every name by which a row can mean an owner: ids without their channel, and the names that ids are linked to. */
function namesOfOwners({ commands, session }: Config): readonly string[] {
  const owners = commands.ownerAllowFrom.map(String);
  const ids = new Set(owners.flatMap((owner) => [owner, owner.slice(owner.indexOf(":") + 1)]));
  const links = Object.entries(session.identityLinks ?? {});
  return [...ids, ...links.filter(([, linked]) => linked.some((id) => ids.has(id))).map(([name]) => name)];
}

/**
 * Whether an owner wrote last in the chat; in rows of older versions by the session's key, else by the chat's id, which
 * often is the sender's.
 */
function isOwners({ key, entry }: SessionRow, { channel, chat }: Peer, { commands, session }: Config): boolean {
  const owners = new Set(commands.ownerAllowFrom.map(String));
  const parsed = parseKey(key);
  const linked = parsed.kind === "peer" ? (own(session.identityLinks, parsed.name) ?? [parsed.name]) : [];
  const person = parsed.kind === "direct" ? [parsed.sender] : [];
  const from = entry.origin?.from;
  const ids = [...person, ...(from === undefined ? [chat.id, ...linked] : [from.slice(from.indexOf(":") + 1)])];
  return ids.some((id) => owners.has(id) || owners.has(`${channel}:${id}`));
}

function allowed(chat: Chat, { intoDirect }: HeartbeatSettings): Chat {
  const { found } = chat;
  const isBlocked = !intoDirect && found?.to.chat.kind === "direct" && found.to.channel !== WEB_CHAT;
  return isBlocked ? { problem: "directPolicy blocks direct chats" } : chat;
}
