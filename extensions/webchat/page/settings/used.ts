import { fields, list, nonEmpty, number } from "../model/json.ts";

/** Use on a day. */
export interface UsedDay {
  /** As `2026-11-27`. */
  readonly day: string;
  readonly tokens: number;
  /** US dollars. */
  readonly cost: number;
}

/** Reads the days of `usage.cost`, and of the aggregates of `sessions.usage`; the latest first. */
export function readDays(answer: unknown): readonly UsedDay[] {
  const days = fields(answer)["daily"] ?? fields(fields(answer)["aggregates"])["daily"];
  const read = list(days).flatMap((item) => {
    const { date, totalTokens, totalCost } = fields(item);
    const day = nonEmpty(date);
    return day === undefined ? [] : [{ day, tokens: number(totalTokens), cost: number(totalCost) }];
  });
  return read.toReversed();
}
