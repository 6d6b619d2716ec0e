import { performance } from "node:perf_hooks";
import type { Reports } from "../../server/options.ts";
import { tailLogs } from "../log/tail-logs.ts";
import { healthOf, readyOf } from "./parts/health.ts";
import type { Parts } from "./parts/parts.ts";
import type { JournalCounts } from "../../store/database/counts.ts";
import { formatMetrics, type MetricRow } from "../../server/metrics.ts";
import { readCrashes, crashText, type Crash } from "../../plugins/trial/crashes.ts";
import { sandboxStates } from "../compose/sandbox/sandboxing.ts";
import { failingNow, LOOKED_AT } from "../runs/failing.ts";
import { defaultModel } from "./parts/model-text.ts";
import type { PluginRecord } from "../../plugins/host/record.ts";
import { readStarts } from "../../store/lock/boots.ts";
import { freedBytesOf, maintenanceText } from "../../sessions/maintenance/report.ts";
import type { PluginCost } from "../../plugins/api/watch.ts";

/** Reports of this gateway about itself, for the server. */
export const reportsOf = (parts: Parts): Reports => ({
  status: () => statusOf(parts),
  health: () => healthOf(parts),
  ready: () => readyOf(parts),
  snapshot: () => ({ stateDir: parts.live.paths.stateDir, configPath: parts.live.paths.configPath }),
  metrics: () => metricsText(parts),
  machine: async () => (await import("./lifecycle/system-methods.ts")).systemInfo(parts),
  tailLogs: (request) => tailLogs(parts.log.file(), request),
});

/** Metrics for alerts, in Prometheus text format. */
function metricsText(parts: Parts): string {
  const { core, channels, startedAt } = parts;
  const memory = process.memoryUsage();
  const gauge = (name: string, help: string, value: number): MetricRow => ({
    name: `openclaw_${name}`,
    help,
    type: "gauge",
    value,
  });
  return formatMetrics([
    gauge("uptime_seconds", "Seconds since the start.", Math.round((Date.now() - startedAt) / 1000)),
    gauge("resident_bytes", "Resident memory.", memory.rss),
    gauge("heap_used_bytes", "JavaScript heap in use.", memory.heapUsed),
    gauge(
      "event_loop_utilization",
      "Share of time the process is busy, 0 to 1.",
      performance.eventLoopUtilization().utilization,
    ),
    gauge("runs_active", "Runs under way.", core.dispatch.registry.active),
    gauge("messages_waiting", "Messages that wait in their session's lane.", core.dispatch.lanes.waiting),
    gauge("approvals_waiting", "Commands that wait for a person.", core.dispatch.approvals.list().length),
    gauge("disk_refuses_writes", "1 while messages wait for the disk.", channels.disk.takesWrites ? 0 : 1),
    ...pathMetrics(core.journal.counts(), gauge),
    ...channels.metrics(),
  ]);
}

type Gauge = (name: string, help: string, value: number) => MetricRow;

/** Messages and replies between the platforms and the agents. */
function pathMetrics(counts: JournalCounts, gauge: Gauge): readonly MetricRow[] {
  const age = (at: number | undefined): number => (at === undefined ? 0 : Math.round((Date.now() - at) / 1000));
  return [
    gauge("inbox_open", "Messages without an outcome.", counts.openInbox),
    gauge("inbox_oldest_seconds", "Age of the oldest message without an outcome.", age(counts.oldestInboxAt)),
    gauge("inbox_unclaimed", "Messages without an outcome that no run has taken.", counts.unclaimedInbox),
    gauge("inbox_stale_day", "Messages of the last day that were too old to be answered.", counts.staleLastDay),
    gauge("outbox_open", "Chunks of replies that are neither sent nor given up.", counts.openOutbox),
    gauge("outbox_oldest_seconds", "Age of the oldest chunk that is not sent.", age(counts.oldestOutboxAt)),
    gauge("outbox_unknown", "Chunks of which nobody knows whether they arrived.", counts.unknownOutbox),
    gauge("outbox_failed_day", "Chunks of the last day that were given up.", counts.failedOutboxLastDay),
  ];
}

/** The facts of `status` in addition to the server's own. */
async function statusOf(parts: Parts) {
  const { live, core, channels } = parts;
  const ref = await defaultModel(parts);
  const found = await core.models.of(live.defaultAgent.id).find(ref);
  const since = Date.now() - 24 * 60 * 60 * 1000;
  const { pairing } = core.journal;
  const [journal, day, plugins, latest, requests, turnedAway, crashes, starts] = await Promise.all([
    core.journal.stats(),
    core.journal.runs.totals(since),
    core.journal.runs.pluginTotals(since),
    core.journal.runs.recent(LOOKED_AT),
    pairing.list(),
    pairing.turnedAway(),
    readCrashes(live.paths),
    readStarts(live.paths.stateDir),
  ]);
  const failing = failingNow(latest);
  return {
    stateDir: live.paths.stateDir,
    ...(live.safeMode !== undefined && { safeMode: live.safeMode }),
    starts,
    config: {
      path: live.loaded.path,
      exists: live.loaded.exists,
      problems: live.problems,
      warnings: live.loaded.warnings.map((warning) => warning.text),
    },
    model: {
      ...ref,
      demo: !("missing" in found) && found.info.demo === true,
      available: !("missing" in found),
      ...("missing" in found && { problem: found.missing }),
    },
    sandboxes: sandboxStates(live.agents, core.sandboxes.machine),
    channels: channels.status(),
    channelSummary: channels.statusLines(),
    plugins: pluginStatus(parts.plugins.plugins.records, crashes),
    strangers: { waiting: requests.length, turnedAway: turnedAway.length },
    journal,
    lastDay: { ...day, plugins },
    ...(failing && { failing }),
    ...upkeepOf(parts),
    waiting: core.dispatch.lanes.waiting,
    stuck: core.dispatch.lanes.still(),
  };
}

/** The latest upkeep of the sessions; nothing before the first one. */
function upkeepOf({ maintenance: { last } }: Pick<Parts, "maintenance">) {
  if (!last) return {};
  const { mode, dryRun, diskBudget } = last.report;
  const due = maintenanceText(last.report);
  const about = { mode, at: last.at, dryRun, bytes: freedBytesOf(last.report) };
  return { upkeep: { ...about, overBudget: diskBudget?.overBudget === true, ...(due !== undefined && { due }) } };
}

/**
 * The number of loaded plugins, and the problems of plugins that are left out, end or block the gateway, or hold its
 * memory.
 */
const pluginStatus = (records: readonly PluginRecord[], crashes: readonly Crash[]) => ({
  loaded: records.filter(({ state }) => state === "loaded").length,
  problems: records.flatMap((record) => problemsOf(record, crashText(record.id, crashes))),
});

function problemsOf({ id, state, why, cost }: PluginRecord, crashed: string | undefined): readonly string[] {
  if (state === "failed" || state === "broken") return [`${id} is left out: ${why ?? "for an unknown reason"}`];
  const { heapMb } = cost ?? {};
  return [
    ...(crashed === undefined ? [] : [`${id} ${crashed}`]),
    ...blocksOf(id, cost),
    ...(heapMb === undefined ? [] : [`${id} holds ${heapMb} MB of the heap`]),
  ];
}

function blocksOf(id: string, { blocked = 0, longest, latest }: Partial<PluginCost> = {}): readonly string[] {
  if (!longest || !latest) return [];
  const last = new Date(latest.at).toISOString();
  if (blocked === 1) return [`${id} blocked the gateway once, for ${longest.ms} ms (${longest.what}), at ${last}`];
  const before = `${id} blocked the gateway ${blocked} times, up to ${longest.ms} ms (${longest.what})`;
  return [`${before}, last at ${last} for ${latest.ms} ms (${latest.what})`];
}
