import type { SearchProvider } from "./provider.ts";
import { bearer, listIn, pagesOf } from "./read.ts";

export const firecrawl: SearchProvider = {
  id: "firecrawl",
  order: 60,
  plugin: "firecrawl",
  keyVariables: ["FIRECRAWL_API_KEY"],
  needs: "key",
  options: [],
  docs: "https://docs.firecrawl.dev/features/search",
  baseUrl: () => "https://api.firecrawl.dev",
  async search({ query, count }, access, ask) {
    const answer = await ask.json({ path: "/v2/search", headers: bearer(access), body: { query, limit: count } });
    return { results: pagesOf(listIn(answer, "data", "web"), { snippet: "description" }) };
  },
};
