import type { CronPorts } from "../../../automation/cron/ports.ts";
import { sessionKey } from "../../../types/ids.ts";
import { pause } from "../../../utils/pause.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import type { Live } from "../../compose/live.ts";
import { isCronKey } from "./place.ts";

const EVERY_MS = 5 * 60_000;
/** Conversations that are removed in one round. */
const MOST_REMOVED = 100;
/** Milliseconds of a day. */
const DAY_MS = 86_400_000;

/** Removes the conversations of isolated runs and old records when their time is over, until the signal. */
export async function keepUpCron(ports: CronPorts, signal: AbortSignal, live: Live): Promise<void> {
  while (!signal.aborted) {
    try {
      await round(ports, live);
    } catch (error) {
      ports.log.warn("old runs of scheduled jobs not removed", { error: errorText(error) });
    }
    await pause(EVERY_MS, { clock: ports.clock, signal });
  }
}

async function round({ journal, sessions, clock }: CronPorts, { config }: Live): Promise<void> {
  const { sessionRetention, runLog } = config.cron;
  const now = clock.now();
  if (sessionRetention !== false) {
    for (const key of await journal.cron.sessionsBefore(now - sessionRetention, MOST_REMOVED)) {
      // A job of a conversation that people have, too, has its runs there.
      if (isCronKey(key)) await sessions.remove(sessionKey(key));
      await journal.cron.forgetSession(key);
    }
  }
  await journal.cron.prune(now - config.retention.rowsDays * DAY_MS, runLog.keepLines);
}
