import { SearchFailure, type SearchProvider } from "./provider.ts";
import { bearer, listIn, pagesOf, valueUnder } from "./read.ts";

/** Codes in the body of an answer for a key that is not accepted, and for too many requests. */
const KEY_CODES = new Set<unknown>([1004, 2049]);
const RATE_CODES = new Set<unknown>([1002, 1039, 1041, 2056]);

export const minimax: SearchProvider = {
  id: "minimax",
  order: 15,
  plugin: "minimax",
  keyVariables: ["MINIMAX_CODE_PLAN_KEY", "MINIMAX_CODING_API_KEY", "MINIMAX_API_KEY"],
  needs: "key",
  options: [],
  docs: "https://platform.minimax.io/docs/coding-plan/intro",
  baseUrl: ({ region }) => (region === "cn" ? "https://api.minimaxi.com" : "https://api.minimax.io"),
  async search({ query }, access, ask) {
    const answer = await ask.json({ path: "/v1/coding_plan/search", headers: bearer(access), body: { q: query } });
    const code = valueUnder(answer, "base_resp", "status_code");
    if (KEY_CODES.has(code)) throw new SearchFailure("key", `did not accept the key (code ${String(code)})`);
    if (RATE_CODES.has(code)) throw new SearchFailure("rate", `has had too many requests (code ${String(code)})`);
    if (typeof code === "number" && code !== 0) throw new SearchFailure("server", `answered with the code ${code}`);
    return { results: pagesOf(listIn(answer, "organic"), { url: "link", snippet: "snippet", published: "date" }) };
  },
};
