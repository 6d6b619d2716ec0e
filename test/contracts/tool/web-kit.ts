import { webFetchConfig } from "../../../src/tools/web/config.ts";
import { webSearchConfig } from "../../../src/tools/web/search/config.ts";
import { WebSearch } from "../../../src/tools/web/search/web-search.ts";
import { WebFetch } from "../../../src/tools/web/web-fetch.ts";
import { webTools } from "../../../src/tools/web/web-tools.ts";
import type { WebSearchContribution } from "../../../src/types/plugin/web-search.ts";
import type { ToolContribution } from "../../../src/types/run/tool.ts";

/** A search engine that finds far more than a result may have. */
const ENGINE: WebSearchContribution = {
  id: "engine",
  order: 1,
  keyVariables: [],
  docs: undefined,
  isUsable: () => true,
  search: async () => ({
    results: Array.from({ length: 500 }, (_, index) => ({
      title: "t".repeat(10_000),
      url: `https://example.org/${index}`,
      snippet: "s".repeat(10_000),
      published: undefined,
    })),
  }),
};

/** `web_fetch`, and `web_search` with one engine that contacts nothing. */
export function webContributions(): readonly ToolContribution[] {
  const settings = webSearchConfig.parse({ provider: ENGINE.id });
  const search = new WebSearch(() => ({ settings, entries: {}, env: {}, contributed: [ENGINE] }));
  return webTools(new WebFetch(() => webFetchConfig.parse({})), search);
}
