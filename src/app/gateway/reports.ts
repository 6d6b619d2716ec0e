import { performance } from "node:perf_hooks";
import type { Reports } from "../../server/options.ts";
import { tailLogs } from "../log/tail-logs.ts";
import { healthOf, readyOf } from "./parts/health.ts";
import type { Parts } from "./parts/parts.ts";
import { statusOf } from "./status.ts";
import type { JournalCounts } from "../../store/database/counts.ts";
import { formatMetrics, type MetricRow } from "../../server/metrics.ts";

/** Reports of this gateway about itself, for the server. */
export const reportsOf = (parts: Parts): Reports => ({
  status: () => statusOf(parts),
  health: () => healthOf(parts),
  ready: () => readyOf(parts),
  snapshot: () => ({ stateDir: parts.live.paths.stateDir }),
  metrics: () => metricsText(parts),
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
