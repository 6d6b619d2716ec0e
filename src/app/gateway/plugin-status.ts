import { crashText, type Crash } from "../../plugins/trial/crashes.ts";
import type { PluginRecord } from "../../plugins/host/record.ts";
import type { PluginCost } from "../../plugins/host/watch.ts";

/** How many plugins are loaded, and what an operator should know of those that are not, end or block the gateway, or hold its memory. */
export const pluginStatus = (
  records: readonly PluginRecord[],
  crashes: readonly Crash[],
): { loaded: number; problems: readonly string[] } => ({
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
