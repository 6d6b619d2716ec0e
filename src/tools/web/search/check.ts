import type { WebSearchContribution } from "../../../types/plugin/web-search.ts";
import type { Check, CheckResult } from "../../../types/check.ts";
import { requestWeb } from "../../../utils/net/web-request.ts";
import { searchCandidates, type SearchScene } from "./candidates.ts";
import { PROVIDERS } from "./table.ts";

const FIX = "Set a key, such as tools.web.search.brave.apiKey, or the address tools.web.search.searxng.baseUrl.";

/**
 * The check of web search: the provider that `web_search` asks, if there is one. It sends nothing. `contributed`
 * resolves with undefined when only the running gateway knows the contributions of its plugins.
 */
export function webSearchCheck(
  scene: Omit<SearchScene, "contributed">,
  contributed: () => Promise<readonly WebSearchContribution[] | undefined>,
): Check {
  return {
    id: "tools.web-search",
    title: "Web search",
    run: async () => {
      if (!scene.settings.enabled) return [{ status: "skip", message: "The config switches it off." }];
      const ofPlugins = await contributed();
      return [choiceOf({ ...scene, contributed: ofPlugins ?? [] }, ofPlugins !== undefined)];
    },
  };
}

function choiceOf(scene: SearchScene, areAllKnown: boolean): CheckResult {
  const candidates = searchCandidates(scene, { request: requestWeb });
  if ("code" in candidates) {
    if (candidates.code === "unknown_provider" && !areAllKnown)
      return { status: "skip", message: "Only the running gateway knows the provider that the config names." };
    return { status: "warn", message: candidates.message, fix: FIX };
  }
  const [first = "", ...others] = candidates.map(({ id }) => id);
  const next = others.length === 0 ? "" : `; when that fails, in this order: ${others.join(", ")}`;
  const isKeyless = PROVIDERS.some(({ id, needs }) => id === first && needs === "nothing");
  const doubt = isKeyless ? " No provider has a key, so searches may be refused now and then." : "";
  return { status: "ok", message: `It asks ${first}${next}.${doubt}` };
}
