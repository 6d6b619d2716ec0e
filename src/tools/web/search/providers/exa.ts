import type { SearchWish } from "../../../../types/plugin/web-search.ts";
import type { SearchProvider } from "./provider.ts";
import { domainsOf, givenFields, listIn, textAt, textsAt } from "./read.ts";

const DAYS = { day: 1, week: 7, month: 30, year: 365 };
const DAY_MS = 86_400_000;

export const exa: SearchProvider = {
  id: "exa",
  order: 65,
  plugin: "exa",
  keyVariables: ["EXA_API_KEY"],
  needs: "key",
  options: ["freshness", "date_after", "date_before", "domain_filter"],
  docs: "https://docs.exa.ai/reference/search",
  baseUrl: () => "https://api.exa.ai",
  async search(wish, { key }, ask) {
    const { only, without } = domainsOf(wish);
    const answer = await ask.json({
      path: "/search",
      headers: { "x-api-key": key?.reveal() ?? "" },
      body: givenFields({
        query: wish.query,
        numResults: wish.count,
        type: "auto",
        contents: { highlights: true },
        startPublishedDate: startOf(wish),
        endPublishedDate: wish.date_before && `${wish.date_before}T23:59:59.999Z`,
        includeDomains: only,
        excludeDomains: without,
      }),
    });
    return {
      results: listIn(answer, "results").map((page) => ({
        title: textAt(page, "title"),
        url: textAt(page, "url"),
        snippet: textsAt(page, "highlights").join("\n") || textAt(page, "summary") || textAt(page, "text"),
        published: textAt(page, "publishedDate"),
      })),
    };
  },
};

function startOf({ date_after: after, freshness }: SearchWish): string | undefined {
  if (after !== undefined) return `${after}T00:00:00.000Z`;
  return freshness && new Date(Date.now() - DAYS[freshness] * DAY_MS).toISOString();
}
