import { performance } from "node:perf_hooks";
import { formatMetrics, type MetricRow } from "../../server/metrics.ts";
import type { Parts } from "./parts.ts";

/** Prometheus text: what a person would put an alarm on. */
export function metricsText(parts: Parts): string {
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
    gauge("runs_active", "Runs under way.", core.dispatch.lanes.runs().length),
    gauge("messages_waiting", "Messages that wait in their session's lane.", core.dispatch.lanes.waiting),
    gauge("approvals_waiting", "Commands that wait for a person.", core.dispatch.approvals.list().length),
    ...channels.metrics(),
  ]);
}
