import type { CronTurn, InboundMessage, Peer } from "../../types/chat/message.ts";
import type { CronAgentTurn, CronJob } from "../../types/cron/job.ts";
import { channelId, DEFAULT_ACCOUNT, type SessionKey } from "../../types/ids.ts";
import { CRON_KIND } from "./cron-turn.ts";

/** The channel of scheduled jobs. No adapter has this name. */
export const CRON = channelId("cron");

/** The tools of a job that names none: files, commands, the web, memory and media, but no other conversations and no schedule. */
const CRON_TOOLS: readonly string[] = [
  "group:fs",
  "group:runtime",
  "group:web",
  "group:memory",
  "group:messaging",
  "image",
  "pdf",
  "session_status",
  "update_plan",
];

const DEFAULT_TIMEOUT_SECONDS = 3600;
/** What `timeoutSeconds: 0` means to a run. */
const UNLIMITED_MS = 7 * 24 * 3_600_000;

/** Where a run takes place and who hears of it. */
export interface CronPlace {
  readonly sessionKey: SessionKey;
  /** The chat that gets the answer; unset when none does. */
  readonly to?: Peer;
  /** The conversation of that chat, when it is another one. */
  readonly tell?: SessionKey;
  /** Why the answer cannot be delivered, although the job says that it is to be. */
  readonly problem?: string;
}

/** A slot that begins. */
export interface CronStart {
  readonly job: CronJob;
  readonly eventKey: string;
  readonly place: CronPlace;
  readonly now: number;
  readonly timezone: string;
  /** Milliseconds since the slot, when the run is late. */
  readonly lateMs?: number | undefined;
}

/** A slot as a message of the inbox: durable, run once, and with an outcome like every other. */
export function cronMessage({ job, eventKey, place, now, timezone, lateMs }: CronStart): InboundMessage {
  const { payload } = job;
  const turn = payload.kind === "agentTurn" ? payload : undefined;
  const lines = [bodyOf(job), `It is ${timeText(now, timezone)}.`, lateText(lateMs)];
  return {
    id: eventKey,
    eventKey,
    from: { channel: CRON, account: DEFAULT_ACCOUNT, chat: { kind: "direct", id: job.id } },
    sender: { id: "gateway", name: "Cron" },
    text: lines.filter((line) => line !== undefined).join("\n"),
    media: [],
    mentionsBot: true,
    receivedAt: now,
    options: {
      operator: true,
      sessionKey: place.sessionKey,
      kind: CRON_KIND,
      cron: turnOf(job, place),
      ...(place.to && { deliverTo: place.to }),
      ...(turn && choiceOf(turn)),
    },
  };
}

function bodyOf({ id, name, payload }: CronJob): string {
  if (payload.kind === "agentTurn") return `[cron:${id} ${name}] ${payload.message}`;
  return (
    "Nobody wrote: a scheduled reminder is due, see the System lines above. Tell the user what it says, or do what it asks for. " +
    "If there is nothing to tell, answer NO_REPLY."
  );
}

function turnOf({ id, name, setUpBy, payload }: CronJob, { tell }: CronPlace): CronTurn {
  return {
    jobId: id,
    name,
    setUpBy,
    ...(tell !== undefined && { tell }),
    ...(payload.kind === "systemEvent" ? { event: payload.text } : limitsOf(payload)),
  };
}

function limitsOf({ toolsAllow = CRON_TOOLS, lightContext = true, model, fallbacks }: CronAgentTurn) {
  const named = fallbacks ?? (model === undefined ? undefined : []);
  return {
    ...(!toolsAllow.includes("*") && { tools: toolsAllow }),
    ...(lightContext && { isLight: true }),
    ...(named && { fallbacks: named }),
  };
}

function choiceOf({ model, thinking, timeoutSeconds = DEFAULT_TIMEOUT_SECONDS }: CronAgentTurn) {
  return {
    timeoutMs: timeoutSeconds === 0 ? UNLIMITED_MS : timeoutSeconds * 1000,
    ...(model !== undefined && { model }),
    ...(thinking !== undefined && { thinking }),
  };
}

/** As `2026-11-21 14:30 (Europe/Vienna)`. */
function timeText(now: number, timeZone: string): string {
  return `${new Date(now).toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" })} (${timeZone})`;
}

const lateText = (lateMs: number | undefined): string | undefined =>
  lateMs === undefined ? undefined : `This run is ${durationText(lateMs)} late: the gateway could not run it in time.`;

/** As `3 h 20 min`. */
function durationText(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60)];
  const parts = [days > 0 && `${days} d`, hours > 0 && `${hours} h`, minutes % 60 > 0 && `${minutes % 60} min`];
  return parts.filter(Boolean).join(" ") || "less than a minute";
}
