import type { FoundPage, SearchAnswer, SearchWish, WebSearchContribution } from "../../../types/plugin/web-search.ts";
import { Secret } from "../../../types/secret.ts";
import { isFields, type Fields } from "../../../utils/fields.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { methodIn, nameIn, numberIn, objectOf, optionalMethodIn, textIn, textsIn } from "../foreign.ts";
import type { PluginScope } from "../scope.ts";

/** Place after the gateway's providers that need a key, and before the providers that need none. */
const USUAL_ORDER = 90;
const WHAT = "registerWebSearchProvider";

/** `api.registerWebSearchProvider({id, envVars, autoDetectOrder, createTool, …})`: a provider that `web_search` asks. */
export function registerWebSearchProvider(scope: PluginScope, given: unknown): void {
  const provider = objectOf(given, WHAT);
  const id = nameIn(provider, "id", WHAT);
  const createTool = methodIn(provider, "createTool", WHAT);
  const keyVariables = textsIn(provider, "envVars") ?? [];
  const contribution: WebSearchContribution = {
    id,
    order: numberIn(provider, "autoDetectOrder") ?? USUAL_ORDER,
    keyVariables,
    docs: textIn(provider, "docsUrl"),
    isUsable: () => isUsable(scope, provider, keyVariables),
    async search(wish, signal) {
      const tool: unknown = await scope.call(`search ${id} createTool`, () => createTool(sceneOf(scope)));
      if (!isFields(tool)) throw new Error("the plugin cannot search with its settings");
      const execute = methodIn(tool, "execute", `the search of ${id}`);
      const found: unknown = await scope.call(`search ${id}`, () => execute(argumentsOf(wish), { signal }));
      return answerOf(found);
    },
  };
  scope.addPart(`the search provider "${id}"`, () => scope.registry.addWebSearch(contribution));
}

function sceneOf(scope: PluginScope): Fields {
  const config = scope.shownConfig();
  return { config, searchConfig: searchConfigIn(config) };
}

function searchConfigIn(config: unknown): Fields {
  const path = ["tools", "web", "search"];
  const found = path.reduce<unknown>((at, key) => (isFields(at) ? at[key] : undefined), config);
  return isFields(found) ? found : {};
}

/** A key is in the environment, in the config of the plugin, or not needed. */
function isUsable(scope: PluginScope, provider: Fields, keyVariables: readonly string[]): boolean {
  if (provider["requiresCredential"] === false) return true;
  if (keyVariables.some((name) => (process.env[name] ?? "").trim() !== "")) return true;
  const { config, searchConfig } = sceneOf(scope);
  const asked = [
    ["getConfiguredCredentialValue", config],
    ["getCredentialValue", searchConfig],
  ] as const;
  return asked.some(([name, about]) => {
    try {
      const value: unknown = scope.call(`search ${name}`, () => optionalMethodIn(provider, name)?.(about));
      return value instanceof Secret || (typeof value === "string" && value.trim() !== "") || isFields(value);
    } catch (error) {
      scope.log.warn("a plugin could not say whether its search has a key", { why: errorText(error) });
      return false;
    }
  });
}

const argumentsOf = (wish: SearchWish): Fields =>
  Object.fromEntries(Object.entries(wish).filter(([, value]) => value !== undefined));

/** The field's result: `{results}`, `{content, citations}`, or `{error, message}`. */
function answerOf(found: unknown): SearchAnswer {
  if (!isFields(found)) throw new Error("the plugin answered nothing");
  const { results, content, citations, error } = found;
  if (typeof error === "string") throw new Error(textIn(found, "message") ?? error);
  if (Array.isArray(results)) return { results: results.filter(isFields).map(pageOf) };
  if (typeof content !== "string") throw new Error("the plugin answered neither results nor a text");
  return { content: unwrapped(content), citations: Array.isArray(citations) ? citations.flatMap(addressOf) : [] };
}

const pageOf = (page: Fields): FoundPage => ({
  title: unwrapped(textIn(page, "title") ?? ""),
  url: textIn(page, "url") ?? "",
  snippet: unwrapped(textIn(page, "snippet") ?? textIn(page, "description") ?? textIn(page, "content") ?? ""),
  published: textIn(page, "published"),
});

const addressOf = (citation: unknown): readonly string[] => {
  if (typeof citation === "string") return [citation];
  return isFields(citation) ? [textIn(citation, "url") ?? ""] : [];
};

const WRAPPED =
  /^\s*<<<EXTERNAL_UNTRUSTED_CONTENT[^<>\n]{0,80}>>>\n(?:[^\n]{0,300}\n){0,3}---\n([^]*)\n<<<END_EXTERNAL_UNTRUSTED_CONTENT[^<>\n]{0,80}>>>\s*$/;

/** The text without the markers that plugins put around it themselves: the tool adds its own. */
const unwrapped = (text: string): string => WRAPPED.exec(text)?.[1] ?? text;
