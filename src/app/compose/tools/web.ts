import { WebFetch } from "../../../tools/web/web-fetch.ts";
import { WebSearch } from "../../../tools/web/search/web-search.ts";
import { webTools } from "../../../tools/web/web-tools.ts";
import type { ToolContribution } from "../../../types/run/tool.ts";
import type { Live } from "../live.ts";

/** The tools of the web, with the current config of each call. */
export function webToolsOf(live: Live): readonly ToolContribution[] {
  const search = new WebSearch(() => ({
    settings: live.config.tools.web.search,
    entries: live.config.plugins.entries,
    env: process.env,
    contributed: live.contributions.webSearches,
  }));
  return webTools(new WebFetch(() => live.config.tools.web.fetch), search);
}
