import { open, stat } from "node:fs/promises";
import { performance } from "node:perf_hooks";
import type { Reports, LogTail, LogTailRequest } from "../../server/options.ts";
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

const MOST_BYTES = 250_000;
const MOST_LINES = 500;

/** The last lines of the log file, or the lines after a cursor; complete lines only. */
async function tailLogs(path: string | undefined, request: LogTailRequest): Promise<LogTail> {
  if (path === undefined) return { file: "", cursor: 0, size: 0, lines: [] };
  const { size } = await stat(path);
  const reset = request.cursor !== undefined && request.cursor > size;
  const from = reset ? 0 : (request.cursor ?? 0);
  const start = Math.max(from, size - (request.maxBytes ?? MOST_BYTES));
  const text = await readFrom(path, start, size - start);
  const end = text.lastIndexOf("\n") + 1;
  const whole = wholeLines(text.slice(0, end), start === from);
  const lines = whole.slice(-(request.limit ?? MOST_LINES));
  const truncated = lines.length < whole.length || start > from;
  const cursor = start + Buffer.byteLength(text.slice(0, end));
  return { file: path, cursor, size, lines, ...(truncated && { truncated }), ...(reset && { reset }) };
}

/** Skips the first line if the read began in the middle of it. */
function wholeLines(text: string, fromLineStart: boolean): readonly string[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return fromLineStart ? lines : lines.slice(1);
}

async function readFrom(path: string, start: number, length: number): Promise<string> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, start);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

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
