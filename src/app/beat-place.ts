import type { BeatPlace } from "../automation/heartbeat.ts";
import type { BeatCause } from "../automation/wake-up.ts";
import { chatOf } from "../dispatch/deliver-to.ts";
import { agentOf, buildKey, OPERATOR_KEY, parseKey, resolveAlias } from "../sessions/keys.ts";
import type { AgentId, SessionKey } from "../types/ids.ts";
import type { Peer } from "../types/message.ts";
import { MethodError } from "../types/method.ts";
import type { SessionRow, Sessions } from "../types/session.ts";
import type { AgentSettings, HeartbeatSettings } from "../types/settings.ts";
import type { Config } from "./config/schema.ts";
import { peerOf, type OutgoingParts } from "./gateway/outgoing.ts";
import type { Live } from "./live.ts";
import { createRules } from "./rules.ts";

export interface PlaceParts {
  readonly live: Live;
  readonly channels: OutgoingParts["channels"];
  readonly sessions: Pick<Sessions, "list" | "peek">;
}

type Chat = FoundChat | { readonly problem: string } | undefined;
interface FoundChat {
  readonly to: Peer;
  readonly key: SessionKey;
}

/** Where an agent's heartbeat speaks, and in which conversation it goes on. */
export function placeOfBeat(
  { id }: AgentSettings,
  settings: HeartbeatSettings,
  { cause, parts }: { cause: BeatCause; parts: PlaceParts },
): BeatPlace {
  const defaultAgent = parts.live.defaultAgent.id;
  const chat = allowed(chatFor(id, settings, parts), settings);
  const found = chat !== undefined && "to" in chat ? chat : undefined;
  // News are told in the conversation that they belong to.
  const isOwn = settings.isolated && cause !== "event";
  const sessionKey = isOwn ? ownKey(id, defaultAgent) : sharedKey(settings, found, { id, defaultAgent });
  if (chat !== undefined && "problem" in chat) return { sessionKey, problem: chat.problem };
  if (!found) return { sessionKey };
  const isElsewhere = found.key !== sessionKey && parts.sessions.peek(found.key) !== undefined;
  return { sessionKey, to: found.to, ...(isElsewhere && { tell: found.key }) };
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

const mainKey = (agent: AgentId, defaultAgent: AgentId): SessionKey =>
  agent === defaultAgent ? OPERATOR_KEY : buildKey({ kind: "main", agentId: agent }, defaultAgent);

function chatFor(agent: AgentId, settings: HeartbeatSettings, parts: PlaceParts): Chat {
  const { target, to, accountId } = settings;
  if (target === "none") return undefined;
  const channel = target === "last" ? undefined : target;
  return channel !== undefined && to !== undefined
    ? namedChat({ channel, to, accountId }, parts)
    : lastChat(agent, channel, parts);
}

function namedChat(named: { channel: string; to: string; accountId: string | undefined }, parts: PlaceParts): Chat {
  try {
    const to = peerOf(named, { live: parts.live, channels: parts.channels });
    return { to, key: keyOf(to, parts.live) };
  } catch (error) {
    if (error instanceof MethodError) return { problem: error.message };
    throw error;
  }
}

/** The session that a message from there would belong to. */
function keyOf(to: Peer, live: Live): SessionKey {
  const said = { id: "", eventKey: "", text: "", media: [], mentionsBot: true, receivedAt: 0 };
  return createRules(live)().keyFor({ ...said, from: to, sender: { id: to.chat.id } });
}

/** The direct chat in which an owner last wrote; without owners the only direct chat that there is. */
function lastChat(agent: AgentId, channel: string | undefined, { live, sessions }: PlaceParts): Chat {
  const defaultAgent = live.defaultAgent.id;
  const chats = sessions
    .list()
    .filter(({ key, entry }) => agentOf(key, defaultAgent) === agent && entry.chatType === "direct")
    .flatMap((row) => {
      const to = chatOf(row.key, row.entry, defaultAgent);
      return to && (channel === undefined || to.channel === channel) ? [{ to, row }] : [];
    })
    .toSorted((a, b) => b.row.entry.updatedAt - a.row.entry.updatedAt);
  const hasOwners = live.config.commands.ownerAllowFrom.length > 0;
  const ours = hasOwners ? chats.filter(({ to, row }) => isOwners(row, to, live.config)) : chats;
  const [last, ...others] = ours;
  if (!last) return { problem: hasOwners ? "no owner has written in a direct chat yet" : "nobody has written yet" };
  if (!hasOwners && others.length > 0)
    return { problem: "several people write: name yours in commands.ownerAllowFrom" };
  return { to: last.to, key: last.row.key };
}

/** By the sender in the session's key, else by the chat's id, which on most platforms is the sender's. */
function isOwners({ key }: SessionRow, { channel, chat }: Peer, { commands, session }: Config): boolean {
  const owners = new Set(commands.ownerAllowFrom.map(String));
  const parsed = parseKey(key);
  const linked = parsed.kind === "peer" ? (session.identityLinks[parsed.name] ?? [parsed.name]) : [];
  const ids = [...(parsed.kind === "direct" ? [parsed.sender] : [chat.id]), ...linked];
  return ids.some((id) => owners.has(id) || owners.has(`${channel}:${id}`));
}

function allowed(chat: Chat, { intoDirect }: HeartbeatSettings): Chat {
  const isBlocked = !intoDirect && chat !== undefined && "to" in chat && chat.to.chat.kind === "direct";
  return isBlocked ? { problem: "directPolicy blocks direct chats" } : chat;
}
