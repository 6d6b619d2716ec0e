import { z } from "zod";
import type { UsageDays } from "../../../types/answers/usage.ts";
import { lastDays } from "../../runs/usage.ts";
import type { Parts } from "../parts/parts.ts";

const date = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .optional();
const RANGES = { "7d": 7, "30d": 30, "90d": 90, "1y": 366, all: 36_500 } as const;

/** The days that a client asks for. */
export const period = z.looseObject({
  startDate: date,
  endDate: date,
  days: z.int().min(1).max(36_500).optional(),
  range: z.enum(["7d", "30d", "90d", "1y", "all"]).optional(),
});

export type Period = Partial<Record<"startDate" | "endDate", string | undefined>> & {
  readonly days?: number | undefined;
  readonly range?: keyof typeof RANGES | undefined;
};

export function daysOf({ startDate, endDate, days, range = "30d" }: Period, { live }: Pick<Parts, "live">): UsageDays {
  const last = lastDays(days ?? RANGES[range], Date.now(), live.config.budgets.timezone);
  return { since: startDate ?? last.since, until: endDate ?? last.until };
}
