import { endOldQuestions } from "../../../dispatch/recovery/old-questions.ts";
import { recover } from "../../../dispatch/recovery/recover.ts";
import { tellRestarted } from "../../../dispatch/recovery/restarted.ts";
import type { InboxRow } from "../../../types/journal.ts";
import type { Parts } from "../parts.ts";

const HOUR_MS = 3_600_000;

/** Continues what an earlier process left. Replies first: finished answers must not wait for new runs. */
export async function takeUp(
  { core, live, log }: Pick<Parts, "core" | "live" | "log">,
  left: readonly InboxRow[],
): Promise<void> {
  await endOldQuestions(core.ports);
  const replies = await core.outbox.recover();
  if (replies > 0) log.info("replies taken up again", { count: replies });
  await tellRestarted(core.dispatch.replies.notices, core.ports);
  const { maxAgeHours, maxRows } = live.config.messages.recovery;
  await recover(core.dispatch, core.ports, left, { maxAgeMs: maxAgeHours * HOUR_MS, maxRows });
}
