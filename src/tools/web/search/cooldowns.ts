import type { SearchFailure } from "./providers/provider.ts";

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
