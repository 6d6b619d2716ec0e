import type { SearchWish } from "../../../../types/plugin/web-search.ts";
import type { SearchProvider } from "./provider.ts";
import { listIn, pagesOf, textAt, textsAt } from "./read.ts";

const FRESHNESS = { day: "pd", week: "pw", month: "pm", year: "py" };

export const brave: SearchProvider = {
  id: "brave",
  order: 10,
  plugin: "brave",
  keyVariables: ["BRAVE_API_KEY"],
  needs: "key",
  options: ["country", "language", "search_lang", "ui_lang", "freshness", "date_after", "date_before"],
  docs: "https://api-dashboard.search.brave.com/documentation",
  baseUrl: () => "https://api.search.brave.com",
  async search(wish, access, ask) {
    const headers = { "x-subscription-token": access.key?.reveal() ?? "" };
    const query = queryOf(wish);
    if (access.mode === "llm-context") {
      const answer = await ask.json({ path: "/res/v1/llm/context", query, headers });
      const passages = listIn(answer, "grounding", "generic");
      return {
        results: passages.map((page) => ({
          title: textAt(page, "title"),
          url: textAt(page, "url"),
          snippet: textsAt(page, "snippets").join("\n"),
        })),
      };
    }
    const answer = await ask.json({ path: "/res/v1/web/search", query, headers });
    // Without results, the answer has no part `web`.
    const hasPart = textAt(answer, "type") !== "search" || listOfWeb(answer);
    const list = hasPart ? listIn(answer, "web", "results") : [];
    return { results: pagesOf(list, { snippet: "description", published: "age" }) };
  },
};

const listOfWeb = (answer: unknown): boolean => typeof answer === "object" && answer !== null && "web" in answer;

function queryOf(wish: SearchWish): Record<string, string | number | undefined> {
  const { date_after: after, date_before: before, freshness } = wish;
  const today = new Date().toISOString().slice(0, 10);
  const range =
    after !== undefined || before !== undefined ? `${after ?? "1970-01-01"}to${before ?? today}` : undefined;
  return {
    q: wish.query,
    count: wish.count,
    country: wish.country,
    search_lang: wish.search_lang ?? wish.language,
    ui_lang: wish.ui_lang,
    freshness: range ?? (freshness && FRESHNESS[freshness]),
  };
}
