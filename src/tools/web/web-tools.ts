import type { ToolContribution } from "../../types/run/tool.ts";
import type { WebSearch } from "./search/web-search.ts";
import type { WebFetch } from "./web-fetch.ts";

/** The tools of the web. Guests have them only where a list of the config names them. */
export const webTools = (fetch: WebFetch, search: WebSearch): readonly ToolContribution[] => [
  { name: "web_fetch", namedFor: "guests", appearance: () => (fetch.isOn ? "" : false), forRun: () => fetch.tool() },
  { name: "web_search", namedFor: "guests", appearance: () => search.options ?? false, forRun: () => search.tool() },
];
