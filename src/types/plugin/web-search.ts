/** Options of a `web_search` call beside its words. Each provider serves some of them. */
export const SEARCH_OPTIONS = [
  "count",
  "country",
  "language",
  "freshness",
  "date_after",
  "date_before",
  "search_lang",
  "ui_lang",
  "domain_filter",
  "max_tokens",
  "max_tokens_per_page",
] as const;
export type SearchOption = (typeof SEARCH_OPTIONS)[number];

/** A search, with the names that the tool has for its options. */
export interface SearchWish {
  readonly query: string;
  readonly count: number;
  readonly country?: string | undefined;
  readonly language?: string | undefined;
  readonly freshness?: "day" | "week" | "month" | "year" | undefined;
  /** `YYYY-MM-DD`, like the next. */
  readonly date_after?: string | undefined;
  readonly date_before?: string | undefined;
  readonly search_lang?: string | undefined;
  readonly ui_lang?: string | undefined;
  /** Hosts; one that begins with `-` is left out. */
  readonly domain_filter?: readonly string[] | undefined;
  readonly max_tokens?: number | undefined;
  readonly max_tokens_per_page?: number | undefined;
}

/** A page as a provider describes it. Nothing about it has been checked. */
export interface FoundPage {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
  /** Time of publication, as the provider writes it. */
  readonly published?: string | undefined;
}

/**
 * Answer of a provider: a list of pages, or a text that a model wrote and the addresses that it names as its sources.
 */
export type SearchAnswer =
  | { readonly results: readonly FoundPage[] }
  | { readonly content: string; readonly citations: readonly string[] };

/** A provider of web searches that a contributor adds. */
export interface WebSearchContribution {
  /** As `tools.web.search.provider` names it. */
  readonly id: string;
  /** Place of the provider in the automatic choice: the least is asked first. */
  readonly order: number;
  /** Environment variables that may hold the provider's key, the preferred one first. */
  readonly keyVariables: readonly string[];
  /** Where a person reads how to set it up. */
  readonly docs?: string | undefined;
  /** Whether the provider can be asked now. Must not throw. */
  isUsable(): boolean;
  /** Rejects when there is no answer. */
  search(wish: SearchWish, signal: AbortSignal): Promise<SearchAnswer>;
}
