import type { Fields } from "../../../../utils/fields.ts";
import { SearchFailure, type SearchAccess, type SearchProvider } from "./provider.ts";
import { citedAnswer, bearer, listAt, textAt, textsAt, valueUnder } from "./read.ts";

/** Most answers of one search: each may ask for the built-in tool once more. */
const MOST_ROUNDS = 3;
const TOOL = "$web_search";

export const kimi: SearchProvider = {
  id: "kimi",
  order: 40,
  plugin: "moonshot",
  keyVariables: ["KIMI_API_KEY", "MOONSHOT_API_KEY"],
  needs: "key",
  options: [],
  docs: "https://platform.moonshot.ai/docs/guide/use-web-search",
  leastSeconds: 60,
  baseUrl: () => "https://api.moonshot.ai/v1",
  async search({ query }, access, ask) {
    const messages: unknown[] = [{ role: "user", content: query }];
    const sources: string[] = [];
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const answer = await ask.json({
        path: "/chat/completions",
        headers: bearer(access),
        body: bodyOf(access, messages),
      });
      const [choice] = listAt(answer, "choices");
      const calls = listAt(choice, "message", "tool_calls").filter((call) => textAt(call, "function", "name") === TOOL);
      sources.push(...listAt(answer, "search_results").map((page) => textAt(page, "url")), ...calls.flatMap(sourcesOf));
      if (calls.length === 0) return finished(textAt(choice, "message", "content"), sources, round > 0);
      messages.push(valueUnder(choice, "message"), ...calls.map(resultOf));
    }
    throw new SearchFailure("answer", `searched ${MOST_ROUNDS} times and gave no answer`);
  },
};

/** The body of a request. The server runs the tool; models that think refuse it. */
const bodyOf = ({ model = "kimi-k2.6" }: SearchAccess, messages: readonly unknown[]) => ({
  model,
  messages,
  tools: [{ type: "builtin_function", function: { name: TOOL } }],
  ...(model.startsWith("kimi-k2") && { thinking: { type: "disabled" } }),
});

/** The message with the result of a call: the server expects the arguments of its own tool back. */
const resultOf = (call: Fields) => ({
  role: "tool",
  tool_call_id: textAt(call, "id"),
  name: TOOL,
  content: textAt(call, "function", "arguments"),
});

function sourcesOf(call: Fields): readonly string[] {
  try {
    const wanted: unknown = JSON.parse(textAt(call, "function", "arguments"));
    const pages = [...listAt(wanted, "search_results"), ...listAt(wanted, "search_result")];
    return [...pages.map((page) => textAt(page, "url")), ...textsAt(wanted, "urls")];
  } catch {
    // The arguments are the server's own, which need not be JSON; the answer is complete without its sources.
    return [];
  }
}

function finished(content: string, sources: readonly string[], hasSearched: boolean) {
  if (!hasSearched && sources.length === 0) throw new SearchFailure("answer", "answered from memory, without a search");
  return citedAnswer(content, sources);
}
