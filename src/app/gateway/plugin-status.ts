import type { PluginRecord } from "../../plugins/host/record.ts";

/** How many plugins are loaded, and what an operator should know of those that are not, block the gateway or hold its memory. */
export const pluginStatus = (records: readonly PluginRecord[]): { loaded: number; problems: readonly string[] } => ({
  loaded: records.filter(({ state }) => state === "loaded").length,
  problems: records.flatMap(problemsOf),
});

function problemsOf({ id, state, why, cost }: PluginRecord): readonly string[] {
  if (state === "failed" || state === "broken") return [`${id} is left out: ${why ?? "for an unknown reason"}`];
  const { blocked = 0, longest, heapMb } = cost ?? {};
  return [
    ...(longest ? [`${id} blocked the gateway ${timesText(blocked)}, up to ${longest.ms} ms (${longest.what})`] : []),
    ...(heapMb === undefined ? [] : [`${id} holds ${heapMb} MB of the heap`]),
  ];
}

const timesText = (count: number): string => (count === 1 ? "once" : `${count} times`);
