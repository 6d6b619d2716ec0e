import { channelId, DEFAULT_ACCOUNT, type AgentId, type SessionKey } from "../types/ids.ts";
import type { HeartbeatTurn, InboundMessage, Peer } from "../types/chat/message.ts";
import type { HeartbeatSettings } from "../types/settings.ts";

/** Cause of a heartbeat: its time, a request, or news that should not wait for a message. */
export type BeatCause = "interval" | "asked" | "event";

/** The channel of heartbeats. No adapter has this name. */
export const HEARTBEAT = channelId("heartbeat");

/** The user text of a heartbeat. The system prompt announces it. */
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
  /** Permanent and unique: the event key. */
  readonly name: string;
  readonly sessionKey: SessionKey;
  readonly now: number;
  readonly to: Peer | undefined;
  /** The conversation of the chat that gets the report, when the heartbeat runs in another one. */
  readonly tell: SessionKey | undefined;
  /** The news of a heartbeat with the cause `event`. */
  readonly news?: string | undefined;
}

/** A heartbeat as a message of the inbox: durable, run once, and with an outcome like every other. */
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

/** User text of a heartbeat. The news themselves are in the System lines before it. */
const promptFor = ({ settings, cause }: WakeUp): string =>
  cause === "event" ? NEWS_PROMPT : (settings.prompt ?? DEFAULT_PROMPT);

/** The present time as `2026-11-21 14:30 (Europe/Vienna)`. */
function timeText(now: number, timeZone: string): string {
  return `${new Date(now).toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" })} (${timeZone})`;
}
