import type { CronDesk } from "../../../automation/cron/desk.ts";
import type { CronJobView } from "../../../automation/cron/views.ts";
import type { Clock } from "../../../types/clock.ts";
import type { Loop, LoopDesk } from "../../../types/cron/loops.ts";

/** How such a job is known. */
const DESCRIPTION = "Set up with /loop.";
/** The first run comes at once. */
const FIRST_MS = 1000;
/** Where the runs choose and say nothing. */
const USUAL_MS = 10 * 60_000;
const PACING = { min: "1m", max: "1h" };
const MOST_LISTED = 50;

/** The repeated tasks of conversations: scheduled jobs that run in them. */
export function loopDesk(desk: CronDesk, clock: Pick<Clock, "now">): LoopDesk {
  return {
    async begin({ key, agentId, task, everyMs }) {
      const job = {
        description: DESCRIPTION,
        agentId,
        sessionKey: key,
        sessionTarget: `session:${key}`,
        schedule: { kind: "every", everyMs: everyMs ?? USUAL_MS, anchorMs: clock.now() + FIRST_MS },
        payload: { kind: "agentTurn", message: task, lightContext: false, toolsAllow: ["*"] },
        delivery: { mode: "announce" },
        ...(everyMs === undefined && { pacing: PACING }),
      };
      const added = await desk.add(job, { setUpBy: "owner", owner: { agentId, sessionKey: key } });
      if ("view" in added) return loopOf(added.view);
      return "problem" in added ? added.problem : "it could not be added";
    },
    list(key) {
      const { jobs } = desk.list({ limit: Number.MAX_SAFE_INTEGER, sortBy: "name" });
      const own = ({ description, sessionTarget }: CronJobView) =>
        description === DESCRIPTION && sessionTarget === `session:${key}`;
      return jobs.filter(own).slice(0, MOST_LISTED).map(loopOf);
    },
    remove: (id) => desk.remove(id),
  };
}

const loopOf = ({ id, name, schedule, pacing }: CronJobView): Loop => ({
  id,
  name,
  ...(!pacing && schedule.kind === "every" && { everyMs: schedule.everyMs }),
});
