import { existsSync } from "node:fs";
import { openJournalToRead } from "../../store/journal/read-only.ts";
import type { Check } from "../../types/check.ts";
import { failingNow, failingText, LOOKED_AT } from "../runs/failing.ts";

/** Whether the latest runs came to an answer. */
export const runsCheck = (path: string): Check => ({
  id: "app.runs",
  title: "Latest runs",
  run: async () => {
    // A check does not create a journal.
    if (!existsSync(path)) return [{ status: "ok", message: "None yet." }];
    const journal = await openJournalToRead(path);
    try {
      const failing = failingNow(await journal.runs.recent(LOOKED_AT));
      if (!failing) return [{ status: "ok", message: "The latest one did not fail." }];
      const fix = "See openclaw runs list --failed, and ask the models with openclaw models status --probe.";
      return [{ status: "warn", message: `${failingText(failing)}.`, fix }];
    } finally {
      await journal.close();
    }
  },
});
