import { z } from "zod";
import type { Answer } from "../../types/method.ts";
import type { AgentFilter } from "../../types/run/agent-filter.ts";
import { shellText } from "./command/command-call.ts";
import type { CronEntry } from "./jobs.ts";

/** Filter, order and page of a list of jobs, in the protocol's terms. */
export const listParams = z.looseObject({
  limit: z.int().min(1).max(200).default(50),
  offset: z.int().min(0).default(0),
  includeDisabled: z.boolean().optional(),
  enabled: z.enum(["all", "enabled", "disabled"]).optional(),
  query: z.string().max(500).optional(),
  scheduleKind: z.string().optional(),
  lastRunStatus: z.string().optional(),
  trigger: z.enum(["all", "conditional", "unconditional"]).optional(),
  agentId: z.string().min(1).max(200).optional(),
  sortBy: z.enum(["nextRunAtMs", "updatedAtMs", "name"]).optional(),
  sortDir: z.enum(["asc", "desc"]).optional(),
  /** Rows without payload and delivery. */
  compact: z.boolean().optional(),
  includeDeliveryPreviews: z.boolean().optional(),
});
export type CronListQuery = Partial<Answer<z.output<typeof listParams>>> & AgentFilter;

type Wanted = (entry: Pick<CronEntry, "job" | "state">, query: CronListQuery) => boolean;

const WANTED: readonly Wanted[] = [
  ({ job }, { enabled, includeDisabled }) => {
    const which = enabled ?? (includeDisabled === true ? "all" : "enabled");
    return which === "all" || job.enabled === (which === "enabled");
  },
  ({ job }, { query }) => query === undefined || textOf(job).includes(query.trim().toLowerCase()),
  ({ job }, { scheduleKind }) => isAny(scheduleKind) || job.schedule.kind === scheduleKind,
  ({ state }, { lastRunStatus }) => isAny(lastRunStatus) || (state.lastRunStatus ?? "unknown") === lastRunStatus,
  ({ job }, { agentId, orUnnamed }) =>
    agentId === undefined || job.agentId === agentId || (orUnnamed === true && job.agentId === undefined),
  // No job of this gateway has a condition.
  (_, { trigger }) => trigger !== "conditional",
];

export const isWanted: Wanted = (entry, query) => WANTED.every((wanted) => wanted(entry, query));

const isAny = (word: string | undefined): boolean => word === undefined || word === "all";

const textOf = ({ id, name, description = "", payload }: CronEntry["job"]): string =>
  [id, name, description, whatOf(payload)].join("\n").toLowerCase();

/** The text of a job: its message, its reminder or its command. */
export function whatOf(payload: CronEntry["job"]["payload"]): string {
  if (payload.kind === "command") return shellText(payload.argv);
  return payload.kind === "agentTurn" ? payload.message : payload.text;
}

/** The jobs by their next run unless another order is asked for; jobs without a next run come last. */
export function sorted(
  entries: readonly CronEntry[],
  { sortBy = "nextRunAtMs", sortDir = "asc" }: CronListQuery,
): readonly CronEntry[] {
  const sign = sortDir === "asc" ? 1 : -1;
  return entries.toSorted((a, b) => {
    if (sortBy === "name") return sign * a.job.name.localeCompare(b.job.name);
    if (sortBy === "updatedAtMs") return sign * (a.job.updatedAtMs - b.job.updatedAtMs);
    const [one, other] = [a.runsAtMs, b.runsAtMs];
    if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined);
    return sign * (one - other);
  });
}
