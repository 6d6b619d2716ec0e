import { readCrashes, crashText, type Crash } from "../../plugins/trial/crashes.ts";
import { sandboxStates } from "../compose/sandbox/sandboxing.ts";
import { failingNow, LOOKED_AT } from "../runs/failing.ts";
import type { Parts } from "./parts/parts.ts";
import { defaultModel } from "./parts/model-text.ts";
import type { PluginRecord } from "../../plugins/host/record.ts";
import type { PluginCost } from "../../plugins/api/watch.ts";

/** The facts of `status` in addition to the server's own. */
export async function statusOf(parts: Parts) {
  const { live, core, channels } = parts;
  const ref = await defaultModel(parts);
  const found = await core.models.of(live.defaultAgent.id).find(ref);
  const since = Date.now() - 24 * 60 * 60 * 1000;
  const { pairing } = core.journal;
  const [journal, day, plugins, latest, requests, turnedAway, crashes] = await Promise.all([
    core.journal.stats(),
    core.journal.runs.totals(since),
    core.journal.runs.pluginTotals(since),
    core.journal.runs.recent(LOOKED_AT),
    pairing.list(),
    pairing.turnedAway(),
    readCrashes(live.paths),
  ]);
  const failing = failingNow(latest);
  return {
    stateDir: live.paths.stateDir,
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
    waiting: core.dispatch.lanes.waiting,
    stuck: core.dispatch.lanes.still(),
  };
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
