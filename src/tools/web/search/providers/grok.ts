import type { SearchProvider } from "./provider.ts";
import { citedAnswer, bearer, domainsOf, givenFields, listAt, textAt, textsAt } from "./read.ts";

export const grok: SearchProvider = {
  id: "grok",
  order: 30,
  plugin: "xai",
  keyVariables: ["XAI_API_KEY"],
  needs: "key",
  options: ["domain_filter"],
  docs: "https://docs.x.ai/docs/guides/tools/search-tools",
  leastSeconds: 60,
  baseUrl: () => "https://api.x.ai/v1",
  async search(wish, access, ask) {
    const { only, without } = domainsOf(wish);
    const filters = givenFields({ allowed_domains: only, ...(only.length === 0 && { excluded_domains: without }) });
    const answer = await ask.json({
      path: "/responses",
      headers: bearer(access),
      body: {
        model: access.model ?? "grok-4-1-fast",
        input: [{ role: "user", content: wish.query }],
        tools: [{ type: "web_search", ...(Object.keys(filters).length > 0 && { filters }) }],
        store: false,
      },
    });
    const texts = listAt(answer, "output")
      .filter((part) => part["type"] === "message")
      .flatMap((message) => listAt(message, "content"))
      .filter((part) => part["type"] === "output_text");
    const cited = texts.flatMap((text) => listAt(text, "annotations").map((note) => textAt(note, "url")));
    return citedAnswer(texts.map((text) => textAt(text, "text")).join("\n"), [
      ...cited,
      ...textsAt(answer, "citations"),
    ]);
  },
};
