import type { SearchProvider } from "./provider.ts";
import { domainsOf, listIn, pagesOf } from "./read.ts";

export const searxng: SearchProvider = {
  id: "searxng",
  order: 200,
  plugin: "searxng",
  keyVariables: [],
  addressVariable: "SEARXNG_BASE_URL",
  needs: "address",
  options: ["language", "freshness", "domain_filter"],
  docs: "https://docs.searxng.org/dev/search_api.html",
  baseUrl: () => "",
  async search(wish, _access, ask) {
    const { only, without } = domainsOf(wish);
    const sites = only.map((host) => `site:${host}`).join(" OR ");
    const terms = [wish.query, sites, ...without.map((host) => `-site:${host}`)].filter((term) => term !== "");
    const query = {
      q: terms.join(" "),
      format: "json",
      categories: "general",
      language: wish.language,
      time_range: wish.freshness,
    };
    const answer = await ask.json({ path: "/search", query });
    return { results: pagesOf(listIn(answer, "results"), { snippet: "content", published: "publishedDate" }) };
  },
};
