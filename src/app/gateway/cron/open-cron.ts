import { background } from "../../../utils/background.ts";
import { turnIn } from "../../../automation/talk/answers.ts";
import { CronDesk } from "../../../automation/cron/desk.ts";
import { CronJobs } from "../../../automation/cron/jobs.ts";
import type { CronPorts, CronRules, CronSessions, CronReach } from "../../../automation/cron/ports.ts";
import { CronScheduler } from "../../../automation/cron/scheduler.ts";
import { type SessionKey, sessionKey, agentId } from "../../../types/ids.ts";
import type { Sessions } from "../../../types/session.ts";
import type { Core } from "../../compose/core.ts";
import type { Live } from "../../live.ts";
import type { Parts } from "../parts/parts.ts";
import type { OpenCron } from "../parts/cron.ts";
import { cronActs } from "./acts.ts";
import { cronWatching } from "./watch.ts";
import { pause } from "../../../utils/pause.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { isCronKey, chatFor, placeOfJob } from "./place.ts";
import type { CronJobView } from "../../../types/cron/answers.ts";
import type { Clock } from "../../../types/clock.ts";
import type { Loop, LoopDesk } from "../../../types/cron/loops.ts";
import type { CronConfig } from "../../../automation/cron/config.ts";
import type { CronDestination, CronJob } from "../../../types/cron/job.ts";
import type { CronDeliveryStatus } from "../../../types/cron/run.ts";
import { FetchRefused } from "../../../utils/net/safe-fetch.ts";
import { requestWeb } from "../../../utils/net/web-request.ts";
import type { PlaceParts } from "../parts/heartbeat-place.ts";

/** Reads the jobs from the journal. Nothing runs before `start`. */
export async function openCron(
  parts: Pick<Parts, "live" | "log" | "core" | "channels" | "events" | "stopping" | "heartbeats">,
): Promise<OpenCron> {
  const { live, log, core, channels, events, stopping } = parts;
  const ports: CronPorts = {
    clock: core.ports.clock,
    log,
    journal: core.journal,
    reach: cronReach(parts),
    sessions: cronSessions(core),
    // With another gateway on the same chats, this one sends nothing on its own.
    rules: () => rulesOf(live, channels.held !== undefined),
    receive: (messages) => core.dispatch.receive(messages),
    watch: cronWatching(parts),
    publish: (payload) => events.publish({ event: "cron", payload, scope: "operator.read" }),
  };
  const jobs = await CronJobs.open(core.journal.cron, ports.clock);
  for (const { id, why } of jobs.unreadable)
    log.warn("a scheduled job cannot be read and does not run", { job: id, why });
  const scheduler = new CronScheduler(jobs, ports);
  const desk = new CronDesk(jobs, scheduler, ports);
  return {
    desk,
    acts: cronActs({ desk, heartbeats: parts.heartbeats, sessions: core.sessions }),
    loops: loopDesk(desk, ports.clock),
    start() {
      scheduler.start();
      background("upkeep of scheduled jobs", keepUpCron(ports, stopping, live), log);
    },
    close: () => scheduler.close(),
  };
}

function rulesOf({ config, defaultAgent }: Live, isHeld: boolean): CronRules {
  const { cron } = config;
  const { enabled, ...alert } = cron.failureAlert;
  return {
    enabled: cron.enabled && !isHeld && process.env["OPENCLAW_SKIP_CRON"] !== "1",
    maxConcurrentRuns: cron.maxConcurrentRuns,
    skipsMissed: cron.skipMissedJobs,
    timezone: defaultAgent.timezone,
    retry: cron.retry,
    failureAlert: enabled ? alert : undefined,
    failureDestination: cron.failureDestination,
    webhook: cron.webhook,
  };
}

function cronSessions({ sessions, journal }: Pick<Core, "sessions" | "journal">): CronSessions {
  return {
    answerOf: (key, turnId) => answerOf(sessions, key, turnId),
    idOf: (key) => sessions.peek(key)?.sessionId,
    tell: (key, text) => journal.events.add(key, text),
    remove: async (key) => void (await sessions.remove(key)),
  };
}

/** Latest entries of a transcript in which the answer of a turn is looked for. */
const LOOKED_AT = 400;

async function answerOf(sessions: Pick<Sessions, "history">, key: SessionKey, turnId: string): Promise<string> {
  const { entries } = await sessions.history(key, LOOKED_AT);
  // The message of an announcement is no entry of this list.
  const own = turnIn(entries, turnId);
  const last = (own.length > 0 ? own : entries).findLast(
    (entry) => entry.type === "message" && entry.message.role === "assistant",
  );
  if (last?.type !== "message" || last.message.role !== "assistant") return "";
  return last.message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

const EVERY_MS = 5 * 60_000;
/** Most conversations that are removed in one round. */
const MOST_REMOVED = 100;
/** Milliseconds of a day. */
const DAY_MS = 86_400_000;

/** Removes the conversations of isolated runs and old records when their time is over, until the signal aborts. */
async function keepUpCron(ports: CronPorts, signal: AbortSignal, live: Live): Promise<void> {
  while (!signal.aborted) {
    try {
      await round(ports, live);
    } catch (error) {
      ports.log.warn("old runs of scheduled jobs not removed", { error: errorText(error) });
    }
    await pause(EVERY_MS, { clock: ports.clock, signal });
  }
}

async function round({ journal, sessions, clock }: CronPorts, { config }: Live): Promise<void> {
  const { sessionRetention, runLog } = config.cron;
  const now = clock.now();
  if (sessionRetention !== false) {
    for (const key of await journal.cron.sessionsBefore(now - sessionRetention, MOST_REMOVED)) {
      // A job in a conversation of people has its runs there, and that conversation stays.
      if (isCronKey(key)) await sessions.remove(sessionKey(key));
      await journal.cron.forgetSession(key);
    }
  }
  await journal.cron.prune(now - config.retention.rowsDays * DAY_MS, runLog.keepLines);
}

/** Description by which a job of `/loop` is recognised. */
const DESCRIPTION = "Set up with /loop.";
/** Milliseconds until the first run, which comes at once. */
const FIRST_MS = 1000;
/** Milliseconds between two runs that choose their next time, when a run has chosen none. */
const USUAL_MS = 10 * 60_000;
const PACING = { min: "1m", max: "1h" };
const MOST_LISTED = 50;

/** The repeated tasks of conversations: scheduled jobs that run in them. */
function loopDesk(desk: CronDesk, clock: Pick<Clock, "now">): LoopDesk {
  return {
    async begin({ key, agentId, task, everyMs }) {
      const job = {
        description: DESCRIPTION,
        agentId,
        sessionKey: key,
        sessionTarget: `session:${key}`,
        schedule: { kind: "every", everyMs: everyMs ?? USUAL_MS, anchorMs: clock.now() + FIRST_MS },
        payload: { kind: "agentTurn", message: task, lightContext: false, toolsAllow: ["*"] },
        delivery: { mode: "announce" },
        ...(everyMs === undefined && { pacing: PACING }),
      };
      const added = await desk.add(job, { setUpBy: "owner", owner: { agentId, sessionKey: key } });
      if ("view" in added) return loopOf(added.view);
      return "problem" in added ? added.problem : "it could not be added";
    },
    list(key) {
      const { jobs } = desk.list({ limit: Number.MAX_SAFE_INTEGER, sortBy: "name" });
      const own = ({ description, sessionTarget }: CronJobView) =>
        description === DESCRIPTION && sessionTarget === `session:${key}`;
      return jobs.filter(own).slice(0, MOST_LISTED).map(loopOf);
    },
    remove: (id) => desk.remove(id),
  };
}

const loopOf = ({ id, name, schedule, pacing }: CronJobView): Loop => ({
  id,
  name,
  ...(!pacing && schedule.kind === "every" && { everyMs: schedule.everyMs }),
});

const TIMEOUT_MS = 30_000;
const MOST_ANSWER_BYTES = 64 * 1024;

/** Access of scheduled jobs to chats and webhooks. */
function cronReach({
  live,
  core,
  channels,
  stopping,
}: Pick<Parts, "live" | "core" | "channels" | "stopping">): CronReach {
  const parts: PlaceParts = { live, channels, sessions: core.sessions };
  const call: CronReach["call"] = (url, run) => callWebhook(url, run, { config: live.config.cron, signal: stopping });
  return {
    placeOf: (job, run) => placeOfJob(job, run, parts),
    call,
    async alert(job, text, { key, to }) {
      if (to.mode === "webhook") return callForAlert(job, text, to, call);
      const agent = agentId(job.agentId ?? live.defaultAgent.id);
      const { found, problem } = chatFor(to, { agent, origin: job.sessionKey }, parts);
      if (!found) throw new Error(`nobody was told that "${job.name}" failed: ${problem ?? "there is no chat for it"}`);
      const blocks = [{ kind: "notice" as const, markdown: text, because: "error" as const }];
      await core.outbox.deliver({ replyKey: key, to: found.to, blocks });
    },
  };
}

async function callForAlert(
  { id, name }: CronJob,
  text: string,
  { to }: CronDestination,
  call: CronReach["call"],
): Promise<void> {
  if (to === undefined) throw new Error(`nobody was told that "${name}" failed: the alert names no address to call`);
  const now = Date.now();
  const run = { ts: now, jobId: id, jobName: name, action: "finished", status: "error", error: text } as const;
  const { status, error } = await call(to, { ...run, slotAtMs: now, runAtMs: now, deliveryStatus: "not-requested" });
  if (status !== "delivered") throw new Error(`the webhook for the alert about "${name}" was not reached: ${error}`);
}

/** Calls a webhook once, never again: the receiver may have acted on a call whose answer was lost. Never rejects. */
async function callWebhook(
  url: string,
  run: unknown,
  { config, signal }: { readonly config: CronConfig; readonly signal: AbortSignal },
): Promise<{ status: CronDeliveryStatus; error?: string }> {
  const { webhookToken, webhookSsrfPolicy } = config;
  const { allowedHostnames, dangerouslyAllowPrivateNetwork } = webhookSsrfPolicy;
  try {
    const { status } = await requestWeb(url, {
      method: "POST",
      body: JSON.stringify(run),
      headers: {
        "content-type": "application/json",
        ...(webhookToken && { authorization: `Bearer ${webhookToken.reveal()}` }),
      },
      rules: { privateHosts: allowedHostnames, allowPrivate: dangerouslyAllowPrivateNetwork },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MOST_ANSWER_BYTES,
      maxRedirects: 0,
      signal,
    });
    if (status >= 200 && status < 300) return { status: "delivered" };
    return { status: "not-delivered", error: `the webhook answered ${status}` };
  } catch (error) {
    if (error instanceof FetchRefused && error.because !== "network")
      return { status: "not-delivered", error: `${error.message} (cron.webhookSsrfPolicy)` };
    return { status: "unknown", error: errorText(error) };
  }
}
