import { LATEST_RUNS, skippedRuns } from "../../history/engines/turn/skipped-runs.ts";
import { engineSettings } from "../../history/engines/settings.ts";
import type { Parts } from "./parts.ts";

/** The engine of the slot, and whether the latest runs had to do without it. Rejects when the journal cannot be read. */
export async function engineHealth({ live, core }: Parts): Promise<object> {
  const { id } = engineSettings(live.config.plugins);
  const trouble = skippedRuns(id, await core.journal.runs.recent(LATEST_RUNS));
  return { id, ...(trouble && { passedBy: trouble }) };
}
