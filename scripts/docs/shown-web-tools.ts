import { webFetchConfig } from "../../src/tools/web/config.ts";
import { webSearchConfig } from "../../src/tools/web/search/config.ts";
import { PROVIDERS } from "../../src/tools/web/search/table.ts";
import { WebSearch } from "../../src/tools/web/search/web-search.ts";
import { WebFetch } from "../../src/tools/web/web-fetch.ts";
import { webTools } from "../../src/tools/web/web-tools.ts";
import type { ToolContribution } from "../../src/types/run/tool.ts";

/** The tools of the web with the options of every provider. */
export function shownWebTools(): readonly ToolContribution[] {
  const env = Object.fromEntries(PROVIDERS.flatMap(({ keyVariables }) => keyVariables.map((name) => [name, "-"])));
  const settings = webSearchConfig.parse({});
  const search = new WebSearch(() => ({ settings, entries: {}, env, contributed: [] }));
  return webTools(new WebFetch(() => webFetchConfig.parse({})), search);
}
