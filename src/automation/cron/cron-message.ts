import type { CronTurn, InboundMessage, Peer } from "../../types/chat/message.ts";
import type { CronAgentTurn, CronCommand, CronJob } from "../../types/cron/job.ts";
import { channelId, DEFAULT_ACCOUNT, type SessionKey } from "../../types/ids.ts";
import { commandTurnOf, DEFAULT_COMMAND_SECONDS, shellText } from "./command/command-call.ts";
import { CRON_KIND } from "./cron-turn.ts";
import { wrapUntrusted } from "../../utils/text/untrusted.ts";

/** The channel of scheduled jobs. No adapter has this name. */
export const CRON = channelId("cron");

/**
 * Tools of a job that names none: files, commands, the web, memory and media, but no other conversations and no
 * schedule.
 */
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
/** Time limit of a run with `timeoutSeconds: 0`. */
const UNLIMITED_MS = 7 * 24 * 3_600_000;

/** The conversation of a run, and the chat and conversation that get its answer. */
export interface CronPlace {
  readonly sessionKey: SessionKey;
  /** The chat that gets the answer; unset when none does. */
  readonly to?: Peer;
  /** The conversation of that chat, when the run has another one. */
  readonly tell?: SessionKey;
  /** Reason why the answer cannot be delivered, although the job has a delivery. */
  readonly problem?: string;
}

/** Cause of a run that does not begin at its time. */
export interface CronCause {
  /** Milliseconds since the slot, when the run is late. */
  readonly lateMs?: number | undefined;
  /** The event of the job's command. */
  readonly event?: string | undefined;
}

/** A slot that begins. */
export interface CronStart extends CronCause {
  readonly job: CronJob;
  readonly eventKey: string;
  readonly place: CronPlace;
  readonly now: number;
  readonly timezone: string;
}

/** A slot as a message of the inbox: durable, run once, and with an outcome like every other. */
export function cronMessage({ job, eventKey, place, now, timezone, lateMs, event }: CronStart): InboundMessage {
  const { payload } = job;
  const turn = payload.kind === "agentTurn" ? payload : undefined;
  const own = job.payload.kind === "agentTurn" ? event : undefined;
  const lines = [
    withEvent(bodyOf(job), job, own),
    `It is ${timeText(now, timezone)}.`,
    lateText(lateMs),
    paceText(job),
  ];
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
      cron: turnOf(job, place, event),
      ...(place.to && { deliverTo: place.to }),
      ...(turn && choiceOf(turn)),
      ...(payload.kind === "command" && { timeoutMs: commandTimeout(payload) }),
    },
  };
}

function bodyOf({ id, name, payload }: CronJob): string {
  if (payload.kind === "agentTurn") return `[cron:${id} ${name}] ${payload.message}`;
  if (payload.kind === "command") return `[cron:${id} ${name}] $ ${shellText(payload.argv)}`;
  return (
    "Nobody wrote: a scheduled reminder is due, see the System lines above. Tell the user what it says, or do what it asks for. " +
    "If there is nothing to tell, answer NO_REPLY."
  );
}

/**
 * A text with the event of its job's command, which is marked as untrusted content. Only a turn with a text of its own
 * has the event in that text.
 */
export const withEvent = (text: string, { name }: Pick<CronJob, "name">, event: string | undefined): string =>
  event === undefined ? text : `${text}\n\n${wrapUntrusted(event, { label: "Command", from: name, hasNotice: true })}`;

function turnOf(job: CronJob, { tell }: CronPlace, happened: string | undefined): CronTurn {
  const { id, name, setUpBy, payload, pacing } = job;
  return {
    jobId: id,
    name,
    setUpBy,
    ...(tell !== undefined && { tell }),
    ...contentOf(payload, pacing),
    ...(happened !== undefined && { isFromOutside: true }),
    ...(payload.kind === "systemEvent" && happened !== undefined && { event: withEvent(payload.text, job, happened) }),
  };
}

function contentOf(payload: CronJob["payload"], pacing: CronJob["pacing"]): Partial<CronTurn> {
  switch (payload.kind) {
    case "systemEvent":
      return { event: payload.text, ...only(payload.toolsAllow) };
    case "command":
      return { tools: ["exec"], isLight: true, command: commandTurnOf(payload) };
    case "agentTurn":
      return limitsOf(payload, pacing ? [...CRON_TOOLS, "cron"] : CRON_TOOLS);
  }
}

/** Time limit of the run, above that of its command, so that the command's own limit ends the command first. */
function commandTimeout({ timeoutSeconds }: CronCommand): number {
  if (timeoutSeconds === 0) return UNLIMITED_MS;
  return ((timeoutSeconds ?? DEFAULT_COMMAND_SECONDS) + 60) * 1000;
}

function limitsOf(
  { toolsAllow, lightContext = true, model, fallbacks }: CronAgentTurn,
  usual: readonly string[],
): Partial<CronTurn> {
  const named = fallbacks ?? (model === undefined ? undefined : []);
  return {
    ...only(toolsAllow ?? usual),
    ...(lightContext && { isLight: true }),
    ...(named && { fallbacks: named }),
  };
}

const only = (tools: readonly string[] | undefined): Pick<CronTurn, "tools"> =>
  tools && !tools.includes("*") ? { tools } : {};

function choiceOf({ model, thinking, timeoutSeconds = DEFAULT_TIMEOUT_SECONDS }: CronAgentTurn) {
  return {
    timeoutMs: timeoutSeconds === 0 ? UNLIMITED_MS : timeoutSeconds * 1000,
    ...(model !== undefined && { model }),
    ...(thinking !== undefined && { thinking }),
  };
}

/** The present time as `2026-11-21 14:30 (Europe/Vienna)`. */
function timeText(now: number, timeZone: string): string {
  return `${new Date(now).toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" })} (${timeZone})`;
}

const lateText = (lateMs: number | undefined): string | undefined =>
  lateMs === undefined ? undefined : `This run is ${durationText(lateMs)} late: the gateway could not run it in time.`;

function paceText({ pacing }: CronJob): string | undefined {
  if (!pacing) return undefined;
  const bounds = [
    pacing.min && `at the earliest after ${pacing.min}`,
    pacing.max && `at the latest after ${pacing.max}`,
  ];
  return (
    "If the next run should come at another time than the schedule says, call the tool cron with action next_check " +
    `and in (such as 30m), ${bounds.filter(Boolean).join(", ")}.`
  );
}

/** A duration as `3 h 20 min`. */
function durationText(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60)];
  const parts = [days > 0 && `${days} d`, hours > 0 && `${hours} h`, minutes % 60 > 0 && `${minutes % 60} min`];
  return parts.filter(Boolean).join(" ") || "less than a minute";
}
