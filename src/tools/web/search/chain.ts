import {
  SEARCH_OPTIONS,
  type SearchAnswer,
  type SearchOption,
  type SearchWish,
} from "../../../types/plugin/web-search.ts";
import { SearchFailure } from "./providers/provider.ts";

/** A provider that can be asked. */
export interface Candidate {
  readonly id: string;
  readonly options: readonly SearchOption[];
  readonly docs?: string | undefined;
  search(wish: SearchWish, signal: AbortSignal): Promise<SearchAnswer>;
}

/** A provider without an answer, with the reason as the end of a sentence about it. */
export interface FailedProvider {
  readonly provider: string;
  readonly reason: string;
}

/** A search with an answer. */
export interface Searched {
  readonly answer: SearchAnswer;
  readonly provider: string;
  readonly failed: readonly FailedProvider[];
  /** Options of the wish that the provider does not have. */
  readonly ignored: readonly SearchOption[];
}

export type SearchOutcome = Searched | { readonly failed: readonly FailedProvider[] };

interface Chain {
  readonly cooldowns: SearchCooldowns;
  readonly signal: AbortSignal;
  /** Milliseconds after which no further provider is asked. */
  readonly mostMs: number;
}

/**
 * Asks the candidates in their order until one finds something. A candidate that failed a short while ago is passed
 * over. A single candidate is asked all the same, unless it has named a time that is not over. Rejects only with the
 * signal's reason.
 */
export async function searchWith(
  candidates: readonly Candidate[],
  wish: SearchWish,
  { cooldowns, signal, mostMs }: Chain,
): Promise<SearchOutcome> {
  const failed: FailedProvider[] = [];
  let empty: Searched | undefined;
  const begun = performance.now();
  for (const one of candidates) {
    const { ms, isTold } = cooldowns.of(one.id);
    if (ms > 0 && (isTold || candidates.length > 1)) {
      failed.push({ provider: one.id, reason: `failed before, and is asked again in ${Math.ceil(ms / 1000)} s` });
      continue;
    }
    if (performance.now() - begun > mostMs) {
      failed.push({ provider: one.id, reason: "was not asked, because the others took too long" });
      continue;
    }
    const found = await attempt(one, wish, { cooldowns, signal });
    if ("reason" in found) failed.push(found);
    else if (!isEmpty(found.answer)) return { ...found, failed };
    else {
      failed.push({ provider: one.id, reason: "found nothing" });
      empty ??= { ...found, failed };
    }
  }
  return empty ?? { failed };
}

async function attempt(
  { id, options, search }: Candidate,
  wish: SearchWish,
  { cooldowns, signal }: Omit<Chain, "mostMs">,
): Promise<Omit<Searched, "failed"> | FailedProvider> {
  try {
    const answer = await search(wish, signal);
    cooldowns.answered(id);
    return { answer, provider: id, ignored: ignoredOf(wish, options) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (!(error instanceof SearchFailure)) throw error;
    cooldowns.failed(id, error);
    return { provider: id, reason: error.message };
  }
}

const isEmpty = (answer: SearchAnswer): boolean => "results" in answer && answer.results.length === 0;

const ignoredOf = (wish: SearchWish, options: readonly SearchOption[]): readonly SearchOption[] =>
  SEARCH_OPTIONS.filter((name) => name !== "count" && wish[name] !== undefined && !options.includes(name));

const MINUTE_MS = 60_000;
/** Milliseconds of the pause after the first failure, by its kind; each further failure in a row doubles the pause. */
const FIRST_MS = {
  key: 10 * MINUTE_MS,
  rate: MINUTE_MS,
  refused: 10 * MINUTE_MS,
  server: 30_000,
  network: 30_000,
  answer: 30_000,
};
const MOST_MS = 10 * MINUTE_MS;

interface Cooldown {
  readonly until: number;
  readonly failures: number;
  readonly isTold: boolean;
}

/** Providers that are not asked for a while, because they failed. */
export class SearchCooldowns {
  readonly #all = new Map<string, Cooldown>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Milliseconds until the provider is asked again; 0 when it can be asked. `isTold`: the provider has named the time
   * itself.
   */
  of(id: string): { readonly ms: number; readonly isTold: boolean } {
    const known = this.#all.get(id);
    return { ms: Math.max(0, (known?.until ?? 0) - this.#now()), isTold: known?.isTold === true };
  }

  failed(id: string, { because, retryAfterMs }: Pick<SearchFailure, "because" | "retryAfterMs">): void {
    const failures = (this.#all.get(id)?.failures ?? 0) + 1;
    const ms = retryAfterMs ?? Math.min(MOST_MS, FIRST_MS[because] * 2 ** (failures - 1));
    this.#all.set(id, { until: this.#now() + ms, failures, isTold: retryAfterMs !== undefined });
  }

  answered(id: string): void {
    this.#all.delete(id);
  }

  clear(): void {
    this.#all.clear();
  }
}
