import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CronDesk } from "../../../src/automation/cron/desk.ts";
import { CronJobs } from "../../../src/automation/cron/jobs.ts";
import type { CronEvent, CronPorts, CronRules } from "../../../src/automation/cron/ports.ts";
import { CronScheduler } from "../../../src/automation/cron/scheduler.ts";
import { openJournal, type OpenJournal } from "../../../src/store/journal/journal.ts";
import type { InboundMessage } from "../../../src/types/chat/message.ts";
import type { CronDestination } from "../../../src/types/cron/job.ts";
import type { CronDeliveryStatus, CronRun } from "../../../src/types/cron/run.ts";
import { sessionKey } from "../../../src/types/ids.ts";
import type { Outcome } from "../../../src/types/journal.ts";
import { manualClock, type ManualClock } from "../clock.ts";
import { recordLog, type RecordedLog } from "../log.ts";

export const CRON_RULES: CronRules = {
  enabled: true,
  maxConcurrentRuns: 8,
  skipsMissed: false,
  timezone: "Europe/Vienna",
  retry: { maxAttempts: 3, backoffMs: [60_000, 120_000, 300_000] },
  failureAlert: { after: 2, cooldownMs: 3_600_000 },
  failureDestination: undefined,
  webhook: undefined,
};

/** The process of a gateway as far as scheduled jobs see it. */
export interface CronBoot {
  readonly desk: CronDesk;
  readonly scheduler: CronScheduler;
  /** Ends the process: nothing that it was about to write is written. */
  kill(): Promise<void>;
}

/** Scheduled jobs over a real journal. What stands for the rest of the gateway: `outcome` says how each run ends. */
export interface CronWorld {
  readonly clock: ManualClock;
  readonly log: RecordedLog;
  readonly journal: OpenJournal;
  rules: CronRules;
  /** Every message that a run began with, once each. */
  readonly begun: InboundMessage[];
  readonly events: CronEvent[];
  readonly alerts: { readonly text: string; readonly to: CronDestination }[];
  readonly calls: { readonly url: string; readonly run: CronRun }[];
  readonly told: string[];
  /** Undefined: the run has not ended yet. */
  outcome: (message: InboundMessage) => Outcome | undefined;
  /** The disk takes no messages. */
  isFull: boolean;
  answer: string;
  problem: string | undefined;
  webhook: { readonly status: CronDeliveryStatus; readonly error?: string };
  /** Starts the command that a job watches. */
  watch: CronPorts["watch"];
  /** Called when a message is durable, before the scheduler hears of it. */
  accepted: (message: InboundMessage) => void;
  boot(): Promise<CronBoot>;
  /** Ends the run of a message. */
  end(message: InboundMessage, outcome: Outcome): Promise<void>;
  close(): Promise<void>;
}

export async function openCronWorld(start?: number): Promise<CronWorld> {
  const dir = await mkdtemp(join(tmpdir(), "cron-"));
  const clock = manualClock(start);
  const journal = await openJournal({ path: join(dir, "journal.sqlite"), bootId: "one", sync: "normal", clock });
  const log = recordLog();
  const world: CronWorld = {
    clock,
    log,
    journal,
    rules: CRON_RULES,
    begun: [],
    events: [],
    alerts: [],
    calls: [],
    told: [],
    outcome: () => ({ kind: "replied" }),
    isFull: false,
    answer: "done",
    problem: undefined,
    webhook: { status: "delivered" },
    watch: async () => "there are no commands here",
    accepted: () => undefined,
    boot: () => boot(world),
    async end(message, outcome) {
      const row = await journal.inbox.find(message.from.channel, message.from.account, message.eventKey);
      if (row) await journal.inbox.finish([row.id], outcome);
    },
    async close() {
      await journal.close();
      await rm(dir, { recursive: true });
    },
  };
  return world;
}

async function boot(world: CronWorld): Promise<CronBoot> {
  const life = { isOver: false };
  const ports = portsOf(world, life);
  const jobs = await CronJobs.open(ports.journal.cron, world.clock);
  const scheduler = new CronScheduler(jobs, ports);
  return {
    desk: new CronDesk(jobs, scheduler, ports),
    scheduler,
    async kill() {
      life.isOver = true;
      await scheduler.close();
    },
  };
}

function portsOf(world: CronWorld, life: { isOver: boolean }): CronPorts {
  const { journal, clock, log } = world;
  return {
    clock,
    log,
    journal: { ...journal, cron: whileAlive(journal.cron, life) },
    rules: () => world.rules,
    publish: (event) => void world.events.push(event),
    receive: (messages) => receive(world, messages),
    watch: (job) => world.watch(job),
    reach: {
      placeOf: async (job, run) => ({
        sessionKey: sessionKey(job.sessionTarget === "isolated" ? `cron:${job.id}:run:${run}` : "main"),
        ...(world.problem !== undefined && { problem: world.problem }),
      }),
      alert: async (_job, text, { to }) => void world.alerts.push({ text, to }),
      call: async (url, run) => {
        world.calls.push({ url, run });
        return world.webhook;
      },
    },
    sessions: {
      answerOf: async () => world.answer,
      idOf: () => undefined,
      tell: async (_key, text) => void world.told.push(text),
      remove: async () => undefined,
    },
  };
}

async function receive(world: CronWorld, messages: readonly InboundMessage[]): Promise<void> {
  const { inbox } = world.journal;
  if (world.isFull) throw new Error("the disk is full");
  for (const { row, isNew } of await inbox.accept(messages)) {
    world.accepted(row.message);
    if (!isNew) continue;
    world.begun.push(row.message);
    const outcome = world.outcome(row.message);
    if (outcome) await inbox.finish([row.id], outcome);
  }
}

/** A process that was killed writes nothing more: its writes never resolve. */
function whileAlive<T extends object>(table: T, life: { readonly isOver: boolean }): T {
  const entries = Object.entries(table).map(([name, write]) => [
    name,
    (...args: unknown[]) => (life.isOver ? Promise.reject(new Error("killed")) : Reflect.apply(write, table, args)),
  ]);
  return Object.fromEntries(entries) as T;
}
