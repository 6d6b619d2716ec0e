const DURATION = /(\d+(?:\.\d+)?)\s*(ms|milli|d|h|m|s)?/gi;
const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  milli: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds of `34.07s`, `1m2.5s`, `500 ms`, `~45 min`, `2 hours`; a bare number is seconds. */
export function durationMs(text: string): number | undefined {
  const parts = [...text.matchAll(DURATION)];
  if (parts.length === 0) return undefined;
  const total = parts.reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * (UNIT_MS[unit?.toLowerCase() ?? "s"] ?? 1000),
    0,
  );
  return Math.round(total);
}

/** Numbers from here on are times since 1970: from the first in seconds, from the second in milliseconds. */
const EPOCH_S = 1e9;
const EPOCH_MS = 1e11;

/** Milliseconds from `now` to a header's time: a duration, a time since 1970, or a date. */
export function untilMs(value: string, now: number): number | undefined {
  const text = value.trim();
  if (/^\d+(\.\d+)?$/.test(text) && Number(text) >= EPOCH_S)
    return Math.max(0, Number(text) * (Number(text) >= EPOCH_MS ? 1 : 1000) - now);
  if (/^(?:\d+(?:\.\d+)?(?:ms|[dhms])?)+$/i.test(text)) return durationMs(text);
  const at = /\d{4}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/** Milliseconds that an answer's headers ask to wait: the variants of `Retry-After`. */
export function retryAfterIn(headers: ReadonlyMap<string, string>, now: number): number | undefined {
  const ms = headers.get("retry-after-ms") ?? headers.get("x-ms-retry-after-ms");
  if (ms !== undefined && /^\d+(\.\d+)?$/.test(ms)) return Math.round(Number(ms));
  const after = headers.get("retry-after");
  return after === undefined ? undefined : untilMs(after, nowThere(headers, now));
}

/**
 * Time at which the limit that was reached is free again, read from the rate limit headers: the latest of the used-up
 * limits, or else the earliest of the limits without a count. OpenAI, Groq and Azure send `x-ratelimit-reset-requests:
 * 6m0s`, Anthropic `anthropic-ratelimit-tokens-reset` with a date, OpenRouter `x-ratelimit-reset` with milliseconds
 * since 1970.
 */
export function limitResetIn(headers: ReadonlyMap<string, string>, now: number): number | undefined {
  const there = nowThere(headers, now);
  const empty: number[] = [];
  const uncounted: number[] = [];
  for (const [name, value] of headers) {
    if (!/ratelimit.*reset/.test(name)) continue;
    const wait = untilMs(value, there);
    const left = headers.get(name.replace("reset", "remaining"));
    if (wait === undefined) continue;
    if (left === undefined) uncounted.push(wait);
    else if (Number(left) <= 0) empty.push(wait);
  }
  if (empty.length > 0) return Math.max(...empty);
  return uncounted.length > 0 ? Math.min(...uncounted) : undefined;
}

/** The server's own time, if it sends one, because its clock may differ. */
export function nowThere(headers: ReadonlyMap<string, string>, now: number): number {
  const date = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(date) ? now : date;
}
