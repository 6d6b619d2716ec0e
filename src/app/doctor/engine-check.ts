import { existsSync } from "node:fs";
import { engineChecks, type Latest } from "../../history/engines/checks.ts";
import { LATEST_RUNS } from "../../history/engines/turn/skipped-runs.ts";
import { engineSettings } from "../../history/engines/settings.ts";
import type { Contributions } from "../../plugins/contributions.ts";
import { openJournalToRead } from "../../store/journal/read-only.ts";
import type { Check } from "../../types/check.ts";
import { systemClock } from "../../types/clock.ts";
import { contributedEngines } from "../compose/engines.ts";
import type { Config } from "../config/schema.ts";

/** Checks the selected context engine. `journal`: the path where the latest runs are read. */
export function enginesOf({ plugins }: Config, contributions: Contributions, journal: string): readonly Check[] {
  const { id, timeouts } = engineSettings(plugins);
  const engines = contributedEngines(contributions);
  return engineChecks(id, { engines, context: {}, clock: systemClock, ms: timeouts.bootstrap }, latestIn(journal));
}

/** A check does not create a journal. */
const latestIn =
  (path: string): Latest =>
  async () => {
    if (!existsSync(path)) return [];
    const journal = await openJournalToRead(path);
    try {
      return await journal.runs.recent(LATEST_RUNS);
    } finally {
      await journal.close();
    }
  };
