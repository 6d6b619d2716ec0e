import { MOST_CAP, MOST_DEBOUNCE_MS, queueDropOf, queueModeOf } from "../../types/queue.ts";
import type { QueueWish } from "../queue/queue-settings.ts";

/** Whether a word looks like an option of a queue, right or wrong. */
export const looksLikeOption = (word: string): boolean => OPTION.test(word);

const OPTION = /^(debounce|cap|drop)[:=](.+)$/i;
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m)?$/i;
const MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

/** One word of `/queue`: a mode, or `debounce:2s`, `cap:25`, `drop:old`. Undefined when it is none of these. Pure. */
export function queueWord(word: string): QueueWish | undefined {
  const mode = queueModeOf(word);
  if (mode) return { mode };
  const [, name = "", value = ""] = OPTION.exec(word) ?? [];
  switch (name.toLowerCase()) {
    case "debounce":
      return wish("debounceMs", durationOf(value));
    case "cap":
      return wish("cap", capOf(value));
    case "drop":
      return wish("drop", queueDropOf(value));
    default:
      return undefined;
  }
}

const wish = <Name extends keyof QueueWish>(name: Name, value: QueueWish[Name] | undefined): QueueWish | undefined =>
  value === undefined ? undefined : { [name]: value };

/** Milliseconds of `2s`, `500ms`, `1.5m` or a bare number of milliseconds; at most ten minutes. */
function durationOf(text: string): number | undefined {
  const [, amount, unit = "ms"] = DURATION.exec(text) ?? [];
  const ms = Math.round(Number(amount) * (MS[unit.toLowerCase()] ?? 1));
  return amount === undefined || ms > MOST_DEBOUNCE_MS ? undefined : ms;
}

function capOf(text: string): number | undefined {
  const cap = /^\d+$/.test(text) ? Number(text) : 0;
  return cap >= 1 && cap <= MOST_CAP ? cap : undefined;
}
