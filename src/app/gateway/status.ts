import { readCrashes } from "../../plugins/trial/crashes.ts";
import { sandboxStates } from "../compose/sandbox/sandboxing.ts";
import { failingNow, LOOKED_AT } from "../runs/failing.ts";
import type { Parts } from "./parts.ts";
import { pluginStatus } from "./plugin-status.ts";
import { defaultModel } from "./model-text.ts";

/** The facts of `status` in addition to the server's own. */
export async function statusOf(parts: Parts): Promise<Record<string, unknown>> {
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
    plugins: pluginStatus(parts.plugins.plugins.records, crashes),
    strangers: { waiting: requests.length, turnedAway: turnedAway.length },
    journal,
    lastDay: { ...day, plugins },
    ...(failing && { failing }),
    waiting: core.dispatch.lanes.waiting,
    stuck: core.dispatch.lanes.still(),
  };
}
