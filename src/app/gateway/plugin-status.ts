import { crashText, type Crash } from "../../plugins/trial/crashes.ts";
import type { PluginRecord } from "../../plugins/host/record.ts";

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
  const { blocked = 0, longest, heapMb } = cost ?? {};
  return [
    ...(crashed === undefined ? [] : [`${id} ${crashed}`]),
    ...(longest ? [`${id} blocked the gateway ${timesText(blocked)}, up to ${longest.ms} ms (${longest.what})`] : []),
    ...(heapMb === undefined ? [] : [`${id} holds ${heapMb} MB of the heap`]),
  ];
}

const timesText = (count: number): string => (count === 1 ? "once" : `${count} times`);
