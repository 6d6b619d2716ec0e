import type { SearchAnswer, SearchOption, SearchWish } from "../../../types/plugin/web-search.ts";
import { SEARCH_OPTIONS } from "../../../types/plugin/web-search.ts";
import type { SearchCooldowns } from "./cooldowns.ts";
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
