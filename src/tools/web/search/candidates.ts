import { setTimeout as pause } from "node:timers/promises";
import { type SearchAnswer, type WebSearchContribution, SEARCH_OPTIONS } from "../../../types/plugin/web-search.ts";
import { Secret } from "../../../types/secret.ts";
import { cleanText } from "../../../utils/text/clean-text.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { askOf, type AskPorts } from "./ask.ts";
import type { Candidate } from "./chain.ts";
import { SearchFailure, type SearchAccess, type SearchProvider } from "./providers/provider.ts";
import { PROVIDERS } from "./table.ts";
import { isFields, type Fields } from "../../../utils/fields.ts";
import { own } from "../../../utils/own.ts";
import type { WebSearchSettings } from "./config.ts";

/** All facts that a choice of providers depends on. */
export interface SearchScene extends SearchSources {
  /** Providers of contributors. */
  readonly contributed: readonly WebSearchContribution[];
}

/** Reason why no provider can be asked, with the remedy for the operator. */
export interface NoProvider {
  readonly code: "missing_key" | "unknown_provider";
  readonly message: string;
  readonly docs?: string | undefined;
}

/** The providers that a search asks, in their order. A provider that the config names is the only one. */
export function searchCandidates(scene: SearchScene, ports: AskPorts): readonly Candidate[] | NoProvider {
  const wanted = scene.settings.provider?.trim().toLowerCase();
  const rows = rowsOf(scene, ports);
  if (wanted === undefined || wanted === "auto") return rows.flatMap(({ made }) => made ?? []);
  const named = rows.find(({ id }) => id.toLowerCase() === wanted);
  if (!named) {
    const known = rows.map(({ id }) => id).join(", ");
    return {
      code: "unknown_provider",
      message: `tools.web.search.provider names "${cleanText(wanted, 60)}", which is no provider; there are: ${known}.`,
    };
  }
  if (named.made) return [named.made];
  return {
    code: "missing_key",
    message: `The provider ${named.id} is not set up: the operator can set ${named.places}, or unset tools.web.search.provider.`,
    docs: named.docs,
  };
}

interface Row {
  readonly id: string;
  readonly order: number;
  readonly docs?: string | undefined;
  /** Places in the config and the environment where the provider's key can be. */
  readonly places: string;
  readonly made?: Candidate | undefined;
}

/** All providers in their order. A contributor's provider never replaces one of the table. */
function rowsOf(scene: SearchScene, ports: AskPorts): readonly Row[] {
  const own = PROVIDERS.map((provider): Row => {
    const access = accessTo(provider, scene);
    const { id, order, docs } = provider;
    return { id, order, docs, places: placesOf(provider), made: access && candidateOf(provider, access, scene, ports) };
  });
  const taken = new Set(own.map(({ id }) => id));
  const added = scene.contributed
    .filter(({ id }) => !taken.has(id))
    .map((one): Row => {
      const places = one.keyVariables.join(" or ") || `the settings of its plugin`;
      const made = one.isUsable() ? contributedCandidate(one, scene) : undefined;
      return { id: one.id, order: one.order, docs: one.docs, places, made };
    });
  return [...own, ...added].toSorted((a, b) => a.order - b.order);
}

function candidateOf(
  provider: SearchProvider,
  access: SearchAccess,
  { settings }: SearchScene,
  ports: AskPorts,
): Candidate {
  const timeoutMs = Math.max(settings.timeoutSeconds, provider.leastSeconds ?? 0) * 1000;
  return {
    id: provider.id,
    options: provider.options,
    docs: provider.docs,
    search: (wish, signal) => provider.search(wish, access, askOf(access, ports, { signal, timeoutMs })),
  };
}

function contributedCandidate(one: WebSearchContribution, { settings }: SearchScene): Candidate {
  const timeoutMs = settings.timeoutSeconds * 1000;
  return {
    id: one.id,
    options: SEARCH_OPTIONS,
    docs: one.docs,
    async search(wish, signal) {
      const done = new AbortController();
      const both = AbortSignal.any([signal, done.signal]);
      // The code of a plugin may ignore the signal.
      const late = pause(timeoutMs, undefined, { signal: both }).then((): never => {
        throw new SearchFailure("network", `gave no answer within ${settings.timeoutSeconds} s`);
      });
      try {
        return await Promise.race([one.search(wish, both).catch(failedPlugin), late]);
      } finally {
        done.abort();
        // The race is decided; the end of the pause does not matter any more.
        late.catch(() => undefined);
      }
    },
  };
}

function failedPlugin(error: unknown): SearchAnswer {
  throw new SearchFailure("answer", `failed: ${cleanText(Secret.mask(errorText(error)), 200)}`);
}

/** Places of the keys and addresses of providers. */
interface SearchSources {
  readonly settings: WebSearchSettings;
  /** `plugins.entries` of the config. */
  readonly entries: Readonly<Record<string, { readonly config?: unknown }>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The access to a provider; undefined while it lacks a needed key or address. */
function accessTo(provider: SearchProvider, sources: SearchSources): SearchAccess | undefined {
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

/**
 * Keys of the config, and variables of the environment, with which a person can set the provider up; for a sentence.
 */
function placesOf({ id, needs, keyVariables, addressVariable }: SearchProvider): string {
  const key = needs === "address" ? "baseUrl" : "apiKey";
  return [
    `tools.web.search.${id}.${key}`,
    ...(needs === "address" ? [addressVariable ?? []].flat() : keyVariables),
  ].join(" or ");
}

/** The provider's settings of both places; the plugin's entry has priority. */
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

/**
 * The address from the environment. `OLLAMA_HOST` may be a host and a port alone, or the address that a server listens
 * on.
 */
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
