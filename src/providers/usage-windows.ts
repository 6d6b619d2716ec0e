import type { UsageWindow } from "../types/answers/usage.ts";
import { BoundedMap } from "../utils/bounded-map.ts";
import { nowThere, untilMs } from "./waits.ts";

type Headers = ReadonlyMap<string, string>;

/** Windows of one answer. Further windows of a server do not count. */
const MOST = 12;
const LABEL = /^[a-z0-9][a-z0-9 _.-]{0,39}$/;
const DAY_MINUTES = 1440;

/**
 * The limits in the headers of an answer. OpenAI, Azure and Groq send `x-ratelimit-remaining-tokens` with its `limit`
 * and `reset`, Anthropic `anthropic-ratelimit-tokens-remaining` for a key and
 * `anthropic-ratelimit-unified-5h-utilization` for a subscription, Codex `x-codex-primary-used-percent`. None for a
 * provider that sends no such headers.
 */
function windowsIn(headers: Headers, now: number): readonly UsageWindow[] {
  const there = nowThere(headers, now);
  const found = [...headers].flatMap(([name, value]) => {
    const read = countedAt(headers, name, value) ?? sharedAt(headers, name, value) ?? codexAt(headers, name, value);
    if (!read || !Number.isFinite(read.used) || !LABEL.test(read.label)) return [];
    const wait = read.reset === undefined ? undefined : untilMs(read.reset, there);
    const usedPercent = Math.round(Math.min(1, Math.max(0, read.used)) * 1000) / 10;
    return [{ label: read.label, usedPercent, ...(wait !== undefined && { resetAt: Math.round(now + wait) }) }];
  });
  return found.slice(0, MOST);
}

interface Read {
  readonly label: string;
  /** Used part, from 0 to 1. */
  readonly used: number;
  readonly reset: string | undefined;
}

/** A limit with a count of what remains. */
function countedAt(headers: Headers, name: string, value: string): Read | undefined {
  const [, start = "", rest = ""] = /^((?:x-|anthropic-)?ratelimit-)(.+)$/.exec(name) ?? [];
  const parts = rest.split("-");
  const at = parts.indexOf("limit");
  if (at === -1) return undefined;
  const other = (word: string) => headers.get(start + parts.with(at, word).join("-"));
  const [limit, left] = [Number(value), Number(other("remaining") ?? Number.NaN)];
  const label = parts.toSpliced(at, 1).join(" ") || "requests";
  return { label, used: limit > 0 ? 1 - left / limit : Number.NaN, reset: other("reset") };
}

/** A share of a subscription's window. */
function sharedAt(headers: Headers, name: string, value: string): Read | undefined {
  const [, start = "", label = ""] = /^(anthropic-ratelimit-unified-(.+))-utilization$/.exec(name) ?? [];
  return label === "" ? undefined : { label, used: Number(value), reset: headers.get(`${start}-reset`) };
}

function codexAt(headers: Headers, name: string, value: string): Read | undefined {
  const [, start] = /^(x-codex-(?:primary|secondary))-used-percent$/.exec(name) ?? [];
  if (start === undefined) return undefined;
  const minutes = Number(headers.get(`${start}-window-minutes`) ?? Number.NaN);
  const reset = headers.get(`${start}-reset-after-seconds`) ?? headers.get(`${start}-reset-at`);
  return { label: minutes > 0 ? lengthText(minutes) : start.replace("x-codex-", ""), used: Number(value) / 100, reset };
}

const lengthText = (minutes: number): string =>
  minutes < DAY_MINUTES ? `${Math.round(minutes / 60)}h` : `${Math.round(minutes / DAY_MINUTES)}d`;

/** The windows of one key. */
export interface SeenUsage {
  readonly provider: string;
  readonly profileId: string;
  /** Epoch milliseconds of the answer with these windows. */
  readonly at: number;
  readonly windows: readonly UsageWindow[];
}

/** Keys of which the last answer is remembered. */
const MOST_KEYS = 200;

/** Limits of each key, from the last answers to it. */
export class SeenWindows {
  readonly #seen = new BoundedMap<string, SeenUsage>(MOST_KEYS);
  readonly #clock: { now(): number };

  constructor(clock: { now(): number }) {
    this.#clock = clock;
  }

  note({ provider, profileId }: Pick<SeenUsage, "provider" | "profileId">, headers: Headers): void {
    const at = this.#clock.now();
    const windows = windowsIn(headers, at);
    if (windows.length > 0) this.#seen.set(`${provider} ${profileId}`, { provider, profileId, at, windows });
  }

  /** The windows that have not ended since the answer. */
  list(): readonly SeenUsage[] {
    const now = this.#clock.now();
    return [...this.#seen.values()].flatMap((one) => {
      const windows = one.windows.filter(({ resetAt }) => resetAt === undefined || resetAt > now);
      return windows.length === 0 ? [] : [{ ...one, windows }];
    });
  }
}
