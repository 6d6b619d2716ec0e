import { LATEST_RUNS, skippedRuns } from "../../history/engines/turn/skipped-runs.ts";
import { engineSettings } from "../../history/engines/settings.ts";
import type { Parts } from "./parts.ts";

/** The selected engine, and whether the latest runs skipped it. Rejects when the journal cannot be read. */
export async function engineHealth({ live, core }: Parts): Promise<object> {
  const { id } = engineSettings(live.config.plugins);
  const trouble = skippedRuns(id, await core.journal.runs.recent(LATEST_RUNS));
  return { id, ...(trouble && { passedBy: trouble }) };
}
