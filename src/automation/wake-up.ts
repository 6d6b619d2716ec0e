import { channelId, DEFAULT_ACCOUNT, type AgentId, type SessionKey } from "../types/ids.ts";
import type { HeartbeatTurn, InboundMessage, Peer } from "../types/chat/message.ts";
import type { HeartbeatSettings } from "../types/settings.ts";

/** What began a heartbeat: its time, somebody who asked for one, or news that should not wait for a message. */
export type BeatCause = "interval" | "asked" | "event";

/** No adapter has this name: nothing comes from it but what the gateway says to itself. */
export const HEARTBEAT = channelId("heartbeat");

/** What an agent is woken with; the system prompt says so beforehand. */
export const DEFAULT_PROMPT =
  "This is a heartbeat: nobody wrote. See what HEARTBEAT.md in the workspace asks for, do that and nothing else, and " +
  "leave alone what older conversations left open. If nothing needs anybody's attention, answer HEARTBEAT_OK.";

const NEWS_PROMPT =
  "This is a heartbeat: nobody wrote, but there is news, in the System lines above. Tell what of it matters, or do what " +
  "it asks for. If nothing needs anybody's attention, answer HEARTBEAT_OK.";

export interface WakeUp {
  readonly agentId: AgentId;
  readonly settings: HeartbeatSettings;
  readonly timezone: string;
  readonly cause: BeatCause;
  /** Tells it from every other one for ever. */
  readonly name: string;
  readonly sessionKey: SessionKey;
  readonly now: number;
  readonly to: Peer | undefined;
  /** The conversation of the chat that it speaks to, when that is another one. */
  readonly tell: SessionKey | undefined;
  /** What it is woken for, with the cause `event`. */
  readonly news?: string | undefined;
}

/** A heartbeat as an event of the inbox: durable, done once, and with an outcome like every other. */
export function wakeUp(one: WakeUp): InboundMessage {
  const { agentId, settings, name, sessionKey, now, to } = one;
  const { model, timeoutMs } = settings;
  return {
    id: name,
    eventKey: name,
    from: { channel: HEARTBEAT, account: DEFAULT_ACCOUNT, chat: { kind: "direct", id: agentId } },
    sender: { id: "gateway", name: "Heartbeat" },
    text: `${promptFor(one)}\n\nIt is ${timeText(now, one.timezone)}.`,
    media: [],
    mentionsBot: true,
    receivedAt: now,
    options: {
      operator: true,
      sessionKey,
      kind: "heartbeat",
      heartbeat: turnOf(one),
      ...(to && { deliverTo: to }),
      ...(model !== undefined && { model }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    },
  };
}

function turnOf({ settings, cause, tell, news }: WakeUp): HeartbeatTurn {
  const { ackMaxChars, isolated, light } = settings;
  const isOwn = isolated && cause !== "event";
  return {
    ackMaxChars,
    ...(isOwn && { isolated }),
    ...(light && { light }),
    ...(tell !== undefined && { tell }),
    ...(news !== undefined && { news }),
  };
}

/** The news themselves stand before it, as every event of the gateway's does. */
const promptFor = ({ settings, cause }: WakeUp): string =>
  cause === "event" ? NEWS_PROMPT : (settings.prompt ?? DEFAULT_PROMPT);

/** As `2026-11-21 14:30 (Europe/Vienna)`. */
function timeText(now: number, timeZone: string): string {
  return `${new Date(now).toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" })} (${timeZone})`;
}
