import type { SearchProvider } from "./provider.ts";
import { bearer, domainsOf, givenFields, listIn, pagesOf } from "./read.ts";

export const tavily: SearchProvider = {
  id: "tavily",
  order: 70,
  plugin: "tavily",
  keyVariables: ["TAVILY_API_KEY"],
  needs: "key",
  options: ["freshness", "date_after", "date_before", "domain_filter"],
  docs: "https://docs.tavily.com/documentation/api-reference/endpoint/search",
  baseUrl: () => "https://api.tavily.com",
  async search(wish, access, ask) {
    const { only, without } = domainsOf(wish);
    const body = givenFields({
      query: wish.query,
      max_results: wish.count,
      time_range: wish.freshness,
      start_date: wish.date_after,
      end_date: wish.date_before,
      include_domains: only,
      exclude_domains: without,
    });
    const answer = await ask.json({ path: "/search", headers: bearer(access), body });
    return { results: pagesOf(listIn(answer, "results"), { snippet: "content", published: "published_date" }) };
  },
};
