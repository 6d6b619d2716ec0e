import type { RunFilter } from "../../types/journal.ts";
import { OpenClawError } from "../../types/errors.ts";
import { findRun, runWithMessages } from "./find.ts";
import { promptOf, type RunPlace } from "./prompt.ts";

/** The latest runs first, without what their models saw. */
export async function listRuns({ journal }: RunPlace, limit: number, filter: RunFilter) {
  const runs = await journal.runs.recent(limit, filter);
  return { runs: runs.map(({ receipt: { prompt: _seen, ...receipt }, ...run }) => ({ ...run, receipt })) };
}

/** All that is known of one run. Throws NOT_FOUND, and USAGE when its id is incomplete and several fit. */
export async function showRun({ journal }: RunPlace, id: string) {
  return runWithMessages(journal, await findRun(journal, id));
}

/** What its model saw. Throws as `showRun`, and NOT_FOUND when the run kept no record of that. */
export async function showPrompt(place: RunPlace, id: string) {
  const { runId, ...run } = await findRun(place.journal, id);
  const prompt = await promptOf(place, { runId, ...run });
  if (prompt) return { runId, ...prompt };
  throw new OpenClawError("NOT_FOUND", {
    message: `The run ${runId} kept no record of what its model saw.`,
    fix: "No model was asked, or an older version ran it. See the rest: openclaw runs show, without --prompt.",
  });
}
