import { isFields } from "../../../utils/fields.ts";

const FRESHNESS: ReadonlyMap<unknown, string> = new Map([
  ["pd", "day"],
  ["pw", "week"],
  ["pm", "month"],
  ["py", "year"],
]);
const RANGE = /^(\d{4}-\d{2}-\d{2})to(\d{4}-\d{2}-\d{2})$/;

/** Arguments with today's names for a time: models learnt from older ones, which were those of Brave. */
export function withNewNames(args: unknown): unknown {
  if (!isFields(args)) return args;
  const { freshness, ...others } = args;
  const range = typeof freshness === "string" ? RANGE.exec(freshness) : null;
  if (range) return { date_after: range[1], date_before: range[2], ...others };
  const today = FRESHNESS.get(freshness);
  return today === undefined ? args : { ...others, freshness: today };
}
