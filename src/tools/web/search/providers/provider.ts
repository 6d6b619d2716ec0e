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

/** How a provider is reached, as the config and the environment say. */
export interface SearchAccess {
  readonly key?: Secret | undefined;
  /** Of its address. It has no slash at its end. */
  readonly baseUrl: string;
  /** The operator named the address, so it may be private. */
  readonly isOwnAddress: boolean;
  readonly model?: string | undefined;
  readonly mode?: string | undefined;
  readonly region?: string | undefined;
}

/** One request to a provider. */
export interface SearchRequest {
  /** Below the base address, or a whole address. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON by POST; the request is a GET without it. */
  readonly body?: unknown;
}

/** What a provider may do outside. Each rejects with `SearchFailure`. */
export interface Ask {
  json(request: SearchRequest): Promise<unknown>;
  text(request: SearchRequest): Promise<string>;
  /** Where each address leads after redirects; an address that cannot be followed stays as it is. */
  follow(addresses: readonly string[]): Promise<readonly string[]>;
}

/** What a provider needs before it can be asked. */
type Need = "key" | "address" | "nothing";

/** A row of the table of providers. */
export interface SearchProvider {
  readonly id: ProviderId;
  /** Its place in the automatic choice: the least is asked first. */
  readonly order: number;
  /** The plugin of the field below which the config has its settings: `plugins.entries.<plugin>.config.webSearch`. */
  readonly plugin: string;
  /** Environment variables that may hold its key, the preferred one first. */
  readonly keyVariables: readonly string[];
  /** The environment variable that may hold its address. */
  readonly addressVariable?: string;
  readonly needs: Need;
  /** Beside the words and the number of results. */
  readonly options: readonly SearchOption[];
  readonly docs: string;
  /** Where it is unless the operator names another address; empty for none. */
  baseUrl(access: Omit<SearchAccess, "baseUrl">): string;
  /** Seconds that it gets at least: it runs a model. */
  readonly leastSeconds?: number;
  search(wish: SearchWish, access: SearchAccess, ask: Ask): Promise<SearchAnswer>;
}

export type FailedBecause = "key" | "rate" | "server" | "network" | "answer" | "refused";

/** Why a provider gave no answer, as the end of a sentence about it. Nothing of what it sent is in the message. */
export class SearchFailure extends Error {
  override readonly name = "SearchFailure";
  readonly because: FailedBecause;
  readonly status: number | undefined;
  /** Milliseconds that it asks to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(because: FailedBecause, message: string, more: { status?: number; retryAfterMs?: number } = {}) {
    super(message);
    this.because = because;
    this.status = more.status;
    this.retryAfterMs = more.retryAfterMs;
  }
}
