import { afterEach, expect, test, vi } from "vitest";
import { testPorts } from "../../testing/plugin-ports.ts";
import { Contributions } from "../../src/plugins/contributions.ts";
import { Plugins } from "../../src/plugins/host/plugins.ts";
import { readPlugin } from "../../src/plugins/manifest/read-plugin.ts";
import { writePlugin } from "../kit/gateway/plugins.ts";
import { folder } from "../kit/plugins/sources.ts";
import { inside, searchWith } from "../tools/web-search/kit.ts";

let plugins: Plugins | undefined;
afterEach(async () => {
  vi.unstubAllEnvs();
  await plugins?.close();
  plugins = undefined;
});

/** Loads a plugin that registers this provider, and gives the contributions of a gateway with it. */
async function contributionsWith(provider: string): Promise<Contributions> {
  const dir = folder();
  const code = `export default (api) => { api.registerWebSearchProvider(${provider}); };`;
  const found = await readPlugin(writePlugin(dir, { id: "acme", code }), "config");
  if (found.kind !== "found") throw new Error(found.kind);
  const contributions = new Contributions([]);
  plugins = new Plugins(contributions, testPorts({ id: "acme", folder: dir, config: {} }));
  await plugins.apply({ plugins: [found.plugin], broken: [] });
  expect(plugins.records.map(({ state, why }) => why ?? state)).toEqual(["loaded"]);
  return contributions;
}

const acme = (execute: string) => `{ id: "acme", label: "Acme", envVars: ["ACME_SEARCH_KEY"], autoDetectOrder: 5,
  createTool: () => ({ execute: ${execute} }) }`;

test("the search of a plugin answers web_search: its pages are wrapped once, under its name", async () => {
  vi.stubEnv("ACME_SEARCH_KEY", "acme-key-0123456789");
  const contributions = await contributionsWith(
    acme(`async (wish) => ({ results: [{ title: "About " + wish.query, url: "https://example.org/a", snippet:
      '<<<EXTERNAL_UNTRUSTED_CONTENT id="0123456789abcdef">>>\\nSource: Web Search\\n---\\nIt rains.\\n<<<END_EXTERNAL_UNTRUSTED_CONTENT id="0123456789abcdef">>>' }] })`),
  );
  const { told } = await searchWith({ contributed: contributions.webSearches }).call({ query: "rain" });
  expect(told).toMatchObject({ provider: "acme", count: 1 });
  const [page] = told["results"] as readonly { title: string; url: string; snippet: string }[];
  expect([inside(page?.title), page?.url, inside(page?.snippet)]).toEqual([
    "About rain",
    "https://example.org/a",
    "It rains.",
  ]);
});

test("a plugin that fails as the configured provider is named with its own message, and without its key nobody asks it", async () => {
  const contributions = await contributionsWith(
    acme(`async () => ({ error: "quota", message: "The quota of Acme is used up." })`),
  );
  expect(contributions.webSearches.map((one) => one.isUsable())).toEqual([false]);
  vi.stubEnv("ACME_SEARCH_KEY", "acme-key-0123456789");
  expect(contributions.webSearches.map((one) => one.isUsable())).toEqual([true]);
  const search = searchWith({ settings: { provider: "acme" }, contributed: contributions.webSearches });
  const { result, text } = await search.call({ query: "rain" });
  expect(result.isError).toBe(true);
  expect(text).toContain("acme");
  expect(text).toContain("The quota of Acme is used up.");
  expect(text).not.toContain("acme-key-0123456789");
});
