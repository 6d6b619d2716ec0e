import type { CronPlace } from "../../../automation/cron/cron-message.ts";
import { channelIn } from "../../../channels/target.ts";
import { chatOf } from "../../../sessions/chat-of.ts";
import { buildKey, resolveAlias } from "../../../sessions/keys.ts";
import { WEB_CHAT } from "../../contributions/extensions.ts";
import type { CronDestination, CronJob } from "../../../types/cron/job.ts";
import { agentId, type AgentId, type SessionKey } from "../../../types/ids.ts";
import { type FoundChat, lastChat, mainKey, namedChat, type PlaceParts, whyClosed } from "../parts/heartbeat-place.ts";

/**
 * The session in which a job runs and the chat to which it reports, by the current config. `run` is the last part of
 * the session key of an isolated run.
 */
export async function placeOfJob(job: CronJob, run: string, parts: PlaceParts): Promise<CronPlace> {
  const agent = agentId(job.agentId ?? parts.live.defaultAgent.id);
  const session = sessionFor(job, agent, run, parts);
  const problem = agentProblem(agent, parts);
  if (problem !== undefined) return { sessionKey: session, problem };
  if (job.payload.kind === "systemEvent") return ofConversation(session, agent, parts);
  if (job.delivery?.mode !== "announce") return { sessionKey: session };
  const chat = await chatFor(job.delivery, { agent, origin: job.sessionKey }, parts);
  if (!chat.found) return { sessionKey: session, problem: chat.problem ?? "there is no chat to report to" };
  return at(session, chat.found, parts);
}

function at(session: SessionKey, { to, key }: FoundChat, parts: PlaceParts): CronPlace {
  // In the web chat, the transcript is the delivery.
  if (key === session && to.channel === WEB_CHAT) return { sessionKey: session };
  const isElsewhere = key !== session && parts.sessions.peek(key) !== undefined;
  return { sessionKey: session, to, ...(isElsewhere && { tell: key }) };
}

/**
 * The place of a reminder: the chat of its conversation. For an agent's main conversation, that is the chat in which an
 * owner last wrote.
 */
async function ofConversation(session: SessionKey, agent: AgentId, parts: PlaceParts): Promise<CronPlace> {
  const { live, sessions } = parts;
  const own = chatOf(session, sessions.peek(session), live.defaultAgent.id);
  if (own) {
    const home = { to: own, key: session };
    const problem = await whyClosed(home, parts);
    return problem === undefined ? at(session, home, parts) : { sessionKey: session, problem };
  }
  const { found } = await lastChat(agent, undefined, parts);
  return found && found.to.channel !== WEB_CHAT ? at(found.key, found, parts) : { sessionKey: session };
}

function agentProblem(agent: AgentId, { live }: PlaceParts): string | undefined {
  return live.agents.some(({ id }) => id === agent) ? undefined : `there is no agent "${agent}"`;
}

function sessionFor(job: CronJob, agent: AgentId, run: string, { live }: PlaceParts): SessionKey {
  const defaultAgent = live.defaultAgent.id;
  const { sessionTarget } = job;
  if (sessionTarget.startsWith("session:")) return resolveAlias(sessionTarget.slice("session:".length), defaultAgent);
  if (sessionTarget === "main")
    return job.sessionKey === undefined ? mainKey(agent, defaultAgent) : resolveAlias(job.sessionKey, defaultAgent);
  return buildKey({ kind: "other", agentId: agent, text: `cron:${job.id}:run:${run}` }, defaultAgent);
}

type Wanted = Omit<CronDestination, "mode"> & { readonly threadId?: string | undefined };
interface Chat {
  readonly found?: FoundChat;
  readonly problem?: string;
}

/**
 * The chat that a destination means: the named one, else that of the conversation in which the job was made, else an
 * owner's last.
 */
export async function chatFor(
  { channel: named, to, ...more }: Wanted,
  { agent, origin }: { readonly agent: AgentId; readonly origin: string | undefined },
  parts: PlaceParts,
): Promise<Chat> {
  const channel = named === "last" ? undefined : named;
  if (to !== undefined) return chatCalled(to, { channel, ...more }, parts);
  const home = origin === undefined ? undefined : chatOfConversation(origin, parts);
  const isWanted = home && (channel === undefined || channel === home.to.channel);
  if (!isWanted) return lastChat(agent, channel, parts);
  const problem = await whyClosed(home, parts);
  return problem === undefined ? { found: home } : { problem };
}

function chatCalled(to: string, { channel, accountId, threadId }: Omit<Wanted, "to">, parts: PlaceParts): Chat {
  const prefix = channelIn(to, [...new Set(parts.channels.status().map((row) => String(row.channel)))]);
  if (channel !== undefined && prefix !== undefined && prefix !== channel)
    return { problem: `"${to}" is a chat of ${prefix}, not of ${channel}` };
  return namedChat({ channel: channel ?? prefix, to, accountId, threadId }, parts);
}

function chatOfConversation(named: string, { sessions, live }: PlaceParts): FoundChat | undefined {
  const key = resolveAlias(named, live.defaultAgent.id);
  const to = chatOf(key, sessions.peek(key), live.defaultAgent.id);
  return to && { to, key };
}
