import { background } from "../../../utils/background.ts";
import { CronDesk } from "../../../automation/cron/desk.ts";
import { CronJobs } from "../../../automation/cron/jobs.ts";
import type { CronPorts, CronRules, CronSessions } from "../../../automation/cron/ports.ts";
import { CronScheduler } from "../../../automation/cron/scheduler.ts";
import type { SessionKey } from "../../../types/ids.ts";
import type { Sessions } from "../../../types/session.ts";
import type { Core } from "../../compose/core.ts";
import type { Live } from "../../compose/live.ts";
import type { Parts } from "../parts.ts";
import type { OpenCron } from "./cron.ts";
import { cronActs } from "./acts.ts";
import { keepUpCron } from "./cron-upkeep.ts";
import { loopDesk } from "./loops.ts";
import { cronReach } from "./reach.ts";
import { cronWatching } from "./watch.ts";

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
    lastAnswer: (key) => lastAnswer(sessions, key),
    idOf: (key) => sessions.peek(key)?.sessionId,
    tell: (key, text) => journal.events.add(key, text),
    remove: async (key) => void (await sessions.remove(key)),
  };
}

/** Entries of a transcript in which the last answer is looked for. */
const LOOKED_AT = 20;

async function lastAnswer(sessions: Pick<Sessions, "history">, key: SessionKey): Promise<string> {
  const { entries } = await sessions.history(key, LOOKED_AT);
  const last = entries.findLast((entry) => entry.type === "message" && entry.message.role === "assistant");
  if (last?.type !== "message" || last.message.role !== "assistant") return "";
  return last.message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}
