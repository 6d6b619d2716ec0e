import type { Answers } from "openclaw/plugin-sdk/answers";

/** Use on a day. */
export interface UsedDay {
  /** As `2026-11-27`. */
  readonly day: string;
  readonly tokens: number;
  /** US dollars. */
  readonly cost: number;
}

/** Reads the days of an answer about usage; the latest first. */
export const readDays = (daily: Answers["usage.cost"]["daily"]): readonly UsedDay[] =>
  daily.map(({ date, totalTokens, totalCost }) => ({ day: date, tokens: totalTokens, cost: totalCost })).toReversed();
