import type { SearchAnswer, SearchOption, SearchWish } from "../../../../types/plugin/web-search.ts";
import type { Secret } from "../../../../types/secret.ts";

export type ProviderId =
  | "brave"
  | "minimax"
  | "gemini"
  | "grok"
  | "kimi"
  | "perplexity"
  | "firecrawl"
  | "exa"
  | "tavily"
  | "duckduckgo"
  | "ollama"
  | "searxng";

/** Access to a provider, from the config and the environment. */
export interface SearchAccess {
  readonly key?: Secret | undefined;
  /** Address of the provider, without a slash at its end. */
  readonly baseUrl: string;
  /** True when the operator named the address, so that it may be private. */
  readonly isOwnAddress: boolean;
  readonly model?: string | undefined;
  readonly mode?: string | undefined;
  readonly region?: string | undefined;
}

/** A request to a provider. */
export interface SearchRequest {
  /** Path below the base address, or a whole address. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body that is sent as JSON by POST; a request without a body is a GET. */
  readonly body?: unknown;
}

/** Requests that a provider may make. Each rejects with `SearchFailure`. */
export interface ProviderRequests {
  json(request: SearchRequest): Promise<unknown>;
  text(request: SearchRequest): Promise<string>;
  /** Address of each page after redirects; an address that cannot be followed stays as it is. */
  follow(addresses: readonly string[]): Promise<readonly string[]>;
}

/** Setting that a provider needs before it can be asked. */
type Need = "key" | "address" | "nothing";

/** A row of the table of providers. */
export interface SearchProvider {
  readonly id: ProviderId;
  /** Place of the provider in the automatic choice: the least is asked first. */
  readonly order: number;
  /**
   * The field's plugin below which the config has the provider's settings: `plugins.entries.<plugin>.config.webSearch`.
   */
  readonly plugin: string;
  /** Environment variables that may hold the provider's key, the preferred one first. */
  readonly keyVariables: readonly string[];
  /** Environment variable that may hold the provider's address. */
  readonly addressVariable?: string;
  readonly needs: Need;
  /** Options beside the words and the number of results. */
  readonly options: readonly SearchOption[];
  readonly docs: string;
  /** Address of the provider unless the operator names another one; empty for none. */
  baseUrl(access: Omit<SearchAccess, "baseUrl">): string;
  /** Least seconds of the provider's time limit, because it runs a model. */
  readonly leastSeconds?: number;
  search(wish: SearchWish, access: SearchAccess, ask: ProviderRequests): Promise<SearchAnswer>;
}

export type FailedBecause = "key" | "rate" | "server" | "network" | "answer" | "refused";

/**
 * Reason why a provider gave no answer, as the end of a sentence about it. The message has no text that the provider
 * sent.
 */
export class SearchFailure extends Error {
  override readonly name = "SearchFailure";
  readonly because: FailedBecause;
  readonly status: number | undefined;
  /** Milliseconds that the provider asks to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(because: FailedBecause, message: string, more: { status?: number; retryAfterMs?: number } = {}) {
    super(message);
    this.because = because;
    this.status = more.status;
    this.retryAfterMs = more.retryAfterMs;
  }
}
