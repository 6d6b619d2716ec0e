import type { SearchProvider } from "./provider.ts";
import { citedAnswer, listAt, textAt } from "./read.ts";

export const gemini: SearchProvider = {
  id: "gemini",
  order: 20,
  plugin: "google",
  keyVariables: ["GEMINI_API_KEY"],
  needs: "key",
  options: [],
  docs: "https://ai.google.dev/gemini-api/docs/google-search",
  leastSeconds: 60,
  baseUrl: () => "https://generativelanguage.googleapis.com/v1beta",
  async search({ query }, { key, model = "gemini-2.5-flash" }, ask) {
    const answer = await ask.json({
      path: `/models/${encodeURIComponent(model)}:generateContent`,
      headers: { "x-goog-api-key": key?.reveal() ?? "" },
      body: { contents: [{ role: "user", parts: [{ text: query }] }], tools: [{ google_search: {} }] },
    });
    const [candidate] = listAt(answer, "candidates");
    const parts = listAt(candidate, "content", "parts").filter((part) => part["thought"] !== true);
    const sources = listAt(candidate, "groundingMetadata", "groundingChunks").map((chunk) =>
      textAt(chunk, "web", "uri"),
    );
    // The sources are addresses of Google that redirect to the pages.
    return citedAnswer(parts.map((part) => textAt(part, "text")).join(""), await ask.follow(sources));
  },
};
