import type { SearchWish } from "../../../../types/plugin/web-search.ts";
import type { ProviderRequests, SearchAccess, SearchProvider } from "./provider.ts";
import { citedAnswer, bearer, givenFields, listAt, listIn, pagesOf, textAt, textsAt } from "./read.ts";

const OPENROUTER = "https://openrouter.ai/api/v1";
const OWN = "https://api.perplexity.ai";

const isOfOpenRouter = ({ key }: Pick<SearchAccess, "key">): boolean => key?.reveal().startsWith("sk-or-") === true;

export const perplexity: SearchProvider = {
  id: "perplexity",
  order: 50,
  plugin: "perplexity",
  keyVariables: ["PERPLEXITY_API_KEY", "OPENROUTER_API_KEY"],
  needs: "key",
  options: [
    "country",
    "language",
    "freshness",
    "date_after",
    "date_before",
    "domain_filter",
    "max_tokens",
    "max_tokens_per_page",
  ],
  docs: "https://docs.perplexity.ai/api-reference/search-post",
  leastSeconds: 60,
  baseUrl: (access) => (isOfOpenRouter(access) ? OPENROUTER : OWN),
  async search(wish, access, ask) {
    if (isOfOpenRouter(access) || access.isOwnAddress || access.model !== undefined) return chat(wish, access, ask);
    const answer = await ask.json({ path: "/search", headers: bearer(access), body: bodyOf(wish) });
    return { results: pagesOf(listIn(answer, "results"), { snippet: "snippet", published: "date" }) };
  },
};

const bodyOf = (wish: SearchWish) => {
  const after = americanDate(wish.date_after);
  const before = americanDate(wish.date_before);
  return givenFields({
    query: wish.query,
    max_results: wish.count,
    country: wish.country,
    search_language_filter: wish.language === undefined ? [] : [wish.language],
    search_domain_filter: wish.domain_filter,
    search_recency_filter: wish.freshness,
    // The service has had both names.
    search_after_date: after,
    search_after_date_filter: after,
    search_before_date: before,
    search_before_date_filter: before,
    max_tokens: wish.max_tokens,
    max_tokens_per_page: wish.max_tokens_per_page,
  });
};

/** The date in American form: `11/26/2026` for `2026-11-26`. */
function americanDate(date: string | undefined): string | undefined {
  const [year, month, day] = (date ?? "").split("-").map(Number);
  return year && month && day ? `${month}/${day}/${year}` : undefined;
}

async function chat({ query, freshness }: SearchWish, access: SearchAccess, ask: ProviderRequests) {
  const isOwn = access.baseUrl.startsWith(OWN);
  const answer = await ask.json({
    path: "/chat/completions",
    headers: bearer(access),
    body: givenFields({
      model: access.model ?? (isOwn ? "sonar-pro" : "perplexity/sonar-pro"),
      messages: [{ role: "user", content: query }],
      search_recency_filter: freshness,
    }),
  });
  const [choice] = listAt(answer, "choices");
  const notes = listAt(choice, "message", "annotations").map((note) => textAt(note, "url_citation", "url"));
  return citedAnswer(textAt(choice, "message", "content"), [...textsAt(answer, "citations"), ...notes]);
}
