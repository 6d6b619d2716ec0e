import { dropNow } from "../../dispatch/clients/operator.ts";
import { background } from "../../utils/background.ts";
import { packageVersion } from "../package-root.ts";
import { openHookFolders, type OpenHookFolders } from "../plugins/hooks/open-hook-folders.ts";
import { openPlugins, type OpenPlugins } from "../plugins/open-plugins.ts";
import { openTasks } from "../tasks/desk.ts";
import { createHeartbeats } from "./methods/heartbeats.ts";
import type { Parts, StartOptions, OpenCron } from "./parts/parts.ts";
import { isFields } from "../../utils/fields.ts";
import { hookDesk } from "./hooks/open-hooks.ts";
import { maintenanceOf } from "./lifecycle/cleanup.ts";
import { turnIn } from "../../automation/talk/answers.ts";
import { isCronKey } from "../../automation/cron/cron-turn.ts";
import { CronDesk } from "../../automation/cron/desk.ts";
import { CronJobs } from "../../automation/cron/jobs.ts";
import type { CronPorts, CronRules, CronSessions, CronReach } from "../../automation/cron/ports.ts";
import { CronScheduler } from "../../automation/cron/scheduler.ts";
import { sessionKey, agentId, type SessionKey } from "../../types/ids.ts";
import type { Sessions } from "../../types/session.ts";
import type { Core } from "../compose/core.ts";
import type { Live } from "../live.ts";
import { cronActs } from "./cron/acts.ts";
import { cronWatching } from "./cron/watch.ts";
import { pause } from "../../utils/pause.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { chatFor, placeOfJob } from "./cron/place.ts";
import type { CronJobView } from "../../types/cron/answers.ts";
import type { Clock } from "../../types/clock.ts";
import type { Loop, LoopDesk } from "../../types/cron/loops.ts";
import type { CronConfig } from "../../automation/cron/config.ts";
import type { CronDestination, CronJob } from "../../types/cron/job.ts";
import type { CronDeliveryStatus } from "../../types/cron/run.ts";
import { FetchRefused } from "../../utils/net/safe-fetch.ts";
import { requestWeb } from "../../utils/net/web-request.ts";
import type { PlaceParts } from "./parts/heartbeat-place.ts";

/** Completes the parts of a gateway; loads its plugins. */
export async function makeParts(
  opened: Pick<Parts, "live" | "log" | "core" | "channels" | "events" | "stopping">,
  following?: StartOptions["followingErrors"],
): Promise<Parts> {
  const { live, log, core } = opened;
  const kept = { tasks: tasksOf(opened), maintenance: maintenanceOf(opened) };
  const rest = { ...opened, version: packageVersion(), startedAt: Date.now(), model: {}, ...kept };
  const heartbeats = createHeartbeats(rest);
  const cron = await openCron({ ...rest, heartbeats });
  core.desks.open({ tasks: rest.tasks, loops: cron.loops });
  const requestHeartbeat = () => background("heartbeat of a plugin", heartbeats.wake(live.defaultAgent.id), log);
  const plugins = await openPlugins({ live, core, log, requestHeartbeat, ...(following && { following }) });
  const hooks = openHookFolders({ live, core, log });
  await hooks.follow();
  return {
    ...rest,
    heartbeats,
    cron,
    plugins: { ...withHooks(plugins, hooks), started: () => hooks.folders.start(startupFacts(rest)) },
  };
}

/**
 * The plugins together with the hook folders. Plugins are loaded first, because they may have hooks, and closed last.
 */
const withHooks = (plugins: OpenPlugins, hooks: OpenHookFolders): Omit<Parts["plugins"], "started"> => ({
  ...plugins,
  hooks,
  async follow(next) {
    await plugins.follow(next);
    await hooks.follow();
  },
  async close() {
    hooks.close();
    await plugins.close();
  },
});

const tasksOf = ({ live, core }: Pick<Parts, "live" | "core">): Parts["tasks"] =>
  openTasks({
    journal: core.journal,
    sessions: core.sessions,
    end: async (row) => (await dropNow(row, core.dispatch, core.ports)) !== "ended",
    names: { defaultAgent: live.defaultAgent.id, entryOf: (key) => core.sessions.peek(key) },
    processes: () => core.processes?.all() ?? [],
  });

type StartParts = Pick<Parts, "live" | "core" | "channels" | "stopping" | "startedAt">;

/**
 * The context of `gateway:startup`: the agents with their workspaces, and a function that begins a turn of one, whose
 * answer the owner gets.
 */
function startupFacts(parts: StartParts): Readonly<Record<string, unknown>> {
  const { live, channels, startedAt } = parts;
  const config = () => ({ ...live.config.hooks, allowedSessionKeyPrefixes: [] });
  const desk = hookDesk(parts, config);
  const beginTurn = async (asked: unknown): Promise<boolean> => {
    // With another gateway on the same chats, this one sends nothing on its own.
    if (channels.held !== undefined) return false;
    const { name, agentId, message } = readTurn(asked);
    const place = { agentId, sessionKey: name, sessionMode: "isolated" as const, deliver: true };
    const act = { kind: "agent" as const, name, message, ...place, isTrusted: true, isOwn: true as const };
    // Each start has a turn of its own, which the journal keeps until it has ended.
    const begun = await desk.begin([act], [name, agentId, startedAt].join("\n"));
    if ("error" in begun) throw new Error(begun.error);
    return true;
  };
  return {
    workspaceDir: live.defaultAgent.workspace,
    agents: live.agents.map(({ id, workspace }) => ({ agentId: id, workspaceDir: workspace })),
    beginTurn,
  };
}

function readTurn(asked: unknown) {
  const { name, agentId, message } = isFields(asked) ? asked : {};
  if (typeof name === "string" && typeof agentId === "string" && typeof message === "string")
    return { name, agentId, message };
  throw new Error("beginTurn needs a name, an agentId and a message");
}

/** Reads the jobs from the journal. Nothing runs before `start`. */
async function openCron(
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
      const { found, problem } = await chatFor(to, { agent, origin: job.sessionKey }, parts);
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
  const { allowedHostnames, blockedHostnames, dangerouslyAllowPrivateNetwork } = webhookSsrfPolicy;
  try {
    const { status } = await requestWeb(url, {
      method: "POST",
      body: JSON.stringify(run),
      headers: {
        "content-type": "application/json",
        ...(webhookToken && { authorization: `Bearer ${webhookToken.reveal()}` }),
      },
      rules: {
        privateHosts: allowedHostnames,
        blockedHosts: blockedHostnames,
        allowPrivate: dangerouslyAllowPrivateNetwork,
      },
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
