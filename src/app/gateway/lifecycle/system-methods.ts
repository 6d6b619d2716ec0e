import { statfs } from "node:fs/promises";
import { cpus, freemem, homedir, hostname, loadavg, totalmem, type as systemName, release } from "node:os";
import { z } from "zod";
import { preflightAnswer } from "../../../types/answers/config.ts";
import { OpenClawError, withFix } from "../../../types/errors.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { type SystemFacts, systemAnswers } from "../../../types/answers/system.ts";
import { excessOf, growthOf, QUICK, shownGrowth } from "../../growth/growth.ts";
import { reloadConfig } from "./reload.ts";
import { cleanupMethods } from "./cleanup.ts";
import { versionMethods } from "./version-methods.ts";
import type { Parts } from "../parts/parts.ts";

/** Parameters of methods that take none. */
const done = z.looseObject({ ok: z.boolean() });
const none = z.looseObject({});

const lanesShape = z.looseObject({
  ts: z.number(),
  lanes: z.array(
    z.looseObject({
      lane: z.string(),
      activeCount: z.number(),
      queuedCount: z.number(),
      maxConcurrent: z.number(),
      draining: z.boolean(),
      generation: z.number(),
      blockedBy: z.null(),
    }),
  ),
  dynamic: z.looseObject({
    laneCount: z.number(),
    activeCount: z.number(),
    queuedCount: z.number(),
    queuedLaneCount: z.number(),
  }),
});
const stabilityShape = z.looseObject({
  generatedAt: z.string(),
  capacity: z.number(),
  count: z.number(),
  dropped: z.number(),
  events: z.array(z.unknown()),
  summary: z.looseObject({
    byType: z.record(z.string(), z.number()),
    memory: z.looseObject({ latest: z.record(z.string(), z.number()), pressureCount: z.number() }),
  }),
});

/** The protocol's methods about the machine, the process and its work. */
export const systemMethods = (parts: Parts): readonly Method[] => [
  ...cleanupMethods(parts),
  ...versionMethods(parts),
  defineMethod({
    name: "system.growth",
    scope: "operator.read",
    params: none,
    result: systemAnswers.growth,
    run: () => shownGrowing(parts),
  }),
  defineMethod({
    name: "gateway.restart.preflight",
    scope: "operator.read",
    params: none,
    result: preflightAnswer,
    run: () => restartPreflight(parts),
  }),
  defineMethod({
    name: "diagnostics.lanes",
    scope: "operator.read",
    params: none,
    result: lanesShape,
    run: async () => lanesOf(parts),
  }),
  defineMethod({
    name: "diagnostics.stability",
    scope: "operator.read",
    params: z.looseObject({
      limit: z.int().min(1).max(1000).optional(),
      type: z.string().optional(),
      sinceSeq: z.int().min(0).optional(),
    }),
    result: stabilityShape,
    run: async () => stability(),
  }),
  defineMethod({
    name: "secrets.reload",
    scope: "operator.admin",
    params: none,
    result: done.extend({ warningCount: z.number() }),
    run: () => reloadSecrets(parts),
  }),
];

/** Facts about the machine and the process. */
export async function systemInfo({ live, startedAt }: Parts): Promise<SystemFacts> {
  const [first, ...others] = cpus();
  const disk = await diskOf(live.paths.stateDir);
  return {
    machineName: hostname(),
    hostname: hostname(),
    platform: process.platform,
    release: release(),
    arch: process.arch,
    osLabel: `${systemName()} ${release()}`,
    nodeVersion: process.version,
    pid: process.pid,
    uptimeMs: Math.max(0, Math.round(Date.now() - startedAt)),
    cpuCount: first === undefined ? 0 : others.length + 1,
    ...(first !== undefined && { cpuModel: first.model }),
    loadAverage: loadavg(),
    memoryTotalBytes: totalmem(),
    memoryFreeBytes: freemem(),
    ...disk,
  };
}

/** What grows below the state directory, in a look that takes no long time. */
async function shownGrowing({ live, core }: Parts) {
  const { config, paths } = live;
  const scene = { config, stateDir: paths.stateDir, home: process.env["HOME"] ?? homedir(), env: process.env };
  const all = await growthOf(scene, QUICK);
  const beyond = new Set(excessOf(all));
  const rows = all.map((row) => ({ ...shownGrowth(row), isBeyond: beyond.has(row), fix: row.fix }));
  return { ts: core.ports.clock.now(), rows };
}

/** The disk of the state directory; nothing where the system does not tell. */
async function diskOf(path: string) {
  try {
    const { bsize, blocks, bavail } = await statfs(path);
    const [totalBytes, availableBytes] = [bsize * blocks, bsize * bavail];
    const disks = [{ path, totalBytes, availableBytes }];
    return { disks, diskPath: path, diskTotalBytes: totalBytes, diskAvailableBytes: availableBytes };
  } catch {
    // The fields are optional, and `health` reports a broken disk.
    return {};
  }
}

const KINDS = [
  ["queueSize", "queue", "queued message"],
  ["pendingReplies", "reply", "unsent reply chunk"],
  ["embeddedRuns", "embedded-run", "active run"],
  ["cronRuns", "cron-run", "active job"],
  ["activeTasks", "task", "active task"],
] as const;

/** The work that a restart would interrupt. The next start continues it; still people may want to wait. */
async function restartPreflight({ core, cron, tasks }: Parts) {
  const { tasks: active } = await tasks.list({ statuses: ["queued", "running"], limit: 500 });
  const counted = {
    queueSize: core.dispatch.lanes.waiting,
    pendingReplies: core.journal.counts().openOutbox,
    embeddedRuns: core.dispatch.registry.active,
    cronRuns: cron.desk.status().running,
    activeTasks: active.length,
  };
  const totalActive = Object.values(counted).reduce((sum, count) => sum + count, 0);
  const blockers = KINDS.flatMap(([name, kind, what]) => {
    const count = counted[name];
    return count === 0 ? [] : [{ kind, count, message: `${count} ${what}${count === 1 ? "" : "s"}` }];
  });
  const why = blockers.map(({ message }) => message).join("; ");
  return {
    safe: totalActive === 0,
    counts: { ...counted, backgroundExecSessions: 0, rootRequests: 0, totalActive },
    blockers,
    summary: totalActive === 0 ? "safe to restart now" : `restart deferred: ${why}`,
  };
}

/** The slots for runs of conversations and of jobs, and the lanes of conversations that have work. */
function lanesOf({ core, cron, live }: Parts) {
  const { lanes } = core.dispatch;
  const { agents, cron: jobs } = live.config;
  const load = lanes.load();
  const lane = (name: string, activeCount: number, queuedCount: number, maxConcurrent: number) => ({
    lane: name,
    activeCount,
    queuedCount,
    maxConcurrent,
    draining: false,
    generation: 0,
    blockedBy: null,
  });
  return {
    ts: Date.now(),
    lanes: [
      lane("main", core.dispatch.registry.active, lanes.waiting, agents.defaults.maxConcurrent),
      lane("cron", cron.desk.status().running, 0, jobs.maxConcurrentRuns),
    ],
    dynamic: load,
  };
}

/** This gateway keeps no record of such events: its log and its metrics have them. */
function stability() {
  const { rss, heapTotal, heapUsed, external, arrayBuffers } = process.memoryUsage();
  const latest = {
    rssBytes: rss,
    heapTotalBytes: heapTotal,
    heapUsedBytes: heapUsed,
    externalBytes: external,
    arrayBuffersBytes: arrayBuffers,
  };
  const summary = { byType: {}, memory: { latest, pressureCount: 0 } };
  return { generatedAt: new Date().toISOString(), capacity: 0, count: 0, dropped: 0, events: [], summary };
}

async function reloadSecrets(parts: Parts) {
  try {
    return { ok: true, warningCount: (await reloadConfig(parts)).warnings.length };
  } catch (error) {
    if (error instanceof OpenClawError) throw new MethodError("UNAVAILABLE", withFix(error));
    throw error;
  }
}
