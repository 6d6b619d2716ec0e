import type { SearchWish } from "../../../../types/plugin/web-search.ts";
import { SearchFailure, type ProviderRequests, type SearchAccess, type SearchProvider } from "./provider.ts";
import { bearer, listIn, pagesOf } from "./read.ts";

const CLOUD = "https://ollama.com";

export const ollama: SearchProvider = {
  id: "ollama",
  order: 110,
  plugin: "ollama",
  keyVariables: ["OLLAMA_API_KEY"],
  addressVariable: "OLLAMA_HOST",
  needs: "nothing",
  options: [],
  docs: "https://docs.ollama.com/capabilities/web-search",
  baseUrl: () => "http://127.0.0.1:11434",
  async search(wish, access, ask) {
    const answer = await firstAnswer(wish, access, ask);
    return { results: pagesOf(listIn(answer, "results"), { snippet: "content" }) };
  },
};

/**
 * The first answer of the places where the search may be: on the machine under the older or the newer name, and in the
 * cloud, which needs a key.
 */
async function firstAnswer(
  { query, count }: SearchWish,
  access: SearchAccess,
  ask: ProviderRequests,
): Promise<unknown> {
  const paths = [
    ...(access.baseUrl === CLOUD ? [] : ["/api/experimental/web_search"]),
    "/api/web_search",
    ...(access.key && access.baseUrl !== CLOUD ? [`${CLOUD}/api/web_search`] : []),
  ];
  let last: unknown;
  for (const path of paths) {
    try {
      // The key is one of the cloud or of the operator's own server.
      return await ask.json({ path, headers: bearer(access), body: { query, max_results: count } });
    } catch (error) {
      const isElsewhere = error instanceof SearchFailure && (error.status === 404 || error.because === "network");
      if (!isElsewhere) throw error;
      last = error;
    }
  }
  throw last;
}
