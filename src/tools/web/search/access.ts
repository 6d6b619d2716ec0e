import { Secret } from "../../../types/secret.ts";
import { isFields, type Fields } from "../../../utils/fields.ts";
import { own } from "../../../utils/own.ts";
import type { WebSearchSettings } from "./config.ts";
import type { SearchAccess, SearchProvider } from "./provider.ts";

/** Where keys and addresses of providers may be. */
export interface SearchSources {
  readonly settings: WebSearchSettings;
  /** `plugins.entries` of the config. */
  readonly entries: Readonly<Record<string, { readonly config?: unknown }>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How a provider is reached; undefined while it lacks what it needs. */
export function accessTo(provider: SearchProvider, sources: SearchSources): SearchAccess | undefined {
  const section = sectionOf(provider, sources);
  const key = secretIn(section, "apiKey") ?? olderKey(provider, sources) ?? keyOfEnv(provider, sources);
  const named = textIn(section, "baseUrl") ?? addressOfEnv(provider, sources);
  const access = {
    key,
    isOwnAddress: named !== undefined,
    model: textIn(section, "model"),
    mode: textIn(section, "mode"),
    region: textIn(section, "region"),
  };
  const baseUrl = (named ?? provider.baseUrl(access)).replace(/\/+$/, "");
  const isUsable = { key: key !== undefined, address: baseUrl !== "", nothing: true }[provider.needs];
  return isUsable ? { ...access, baseUrl } : undefined;
}

/** The keys of the config that a person can set for the provider, and its variables of the environment, for a sentence. */
export function placesOf({ id, needs, keyVariables, addressVariable }: SearchProvider): string {
  const key = needs === "address" ? "baseUrl" : "apiKey";
  return [
    `tools.web.search.${id}.${key}`,
    ...(needs === "address" ? [addressVariable ?? []].flat() : keyVariables),
  ].join(" or ");
}

/** The provider's settings of both places; those of the plugin's entry count first. */
function sectionOf({ id, plugin }: SearchProvider, { settings, entries }: SearchSources): Fields {
  const config = own(entries, plugin)?.config;
  const ofPlugin = isFields(config) ? config["webSearch"] : undefined;
  return { ...settings[id], ...(isFields(ofPlugin) && ofPlugin) };
}

const olderKey = ({ id }: SearchProvider, { settings }: SearchSources): Secret | undefined =>
  id === "brave" ? settings.apiKey : undefined;

function keyOfEnv({ keyVariables }: SearchProvider, { env }: SearchSources): Secret | undefined {
  const [found] = keyVariables.flatMap((name) => own(env, name)?.trim() || []);
  return found === undefined ? undefined : new Secret(found);
}

/** `OLLAMA_HOST` may be a host and a port alone, or the address that a server listens on. */
function addressOfEnv({ addressVariable }: SearchProvider, { env }: SearchSources): string | undefined {
  const text = addressVariable === undefined ? "" : (own(env, addressVariable) ?? "").trim();
  if (text === "") return undefined;
  const url = URL.parse(/^https?:\/\//i.test(text) ? text : `http://${text}`);
  if (!url) return undefined;
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  return url.href;
}

function textIn(section: Fields, name: string): string | undefined {
  const value = section[name];
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

function secretIn(section: Fields, name: string): Secret | undefined {
  const value = section[name];
  if (value instanceof Secret) return value;
  const text = textIn(section, name);
  return text === undefined ? undefined : new Secret(text);
}
