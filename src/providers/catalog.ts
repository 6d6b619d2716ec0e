import type { Api } from "@mariozechner/pi-ai";
import type { ModelInfo, ModelRef } from "../types/model.ts";
import { Secret } from "../types/secret.ts";
import { DEMO_MODEL, demoStream } from "./demo.ts";
import { envKey, KEYED_PROVIDERS, modelByKey } from "./keys.ts";
import { findLocalModel, type LocalModel } from "./local.ts";
import { loadPi, type PiModel, type StreamModel } from "./pi.ts";

/** A provider as the config gives it (`models.providers.<id>`). */
export interface ProviderSettings {
  readonly baseUrl?: string | undefined;
  readonly apiKey?: Secret | string | undefined;
  readonly api?: string | undefined;
  readonly headers?: Readonly<Record<string, string | Secret>> | undefined;
  readonly models?: readonly ModelSettings[] | undefined;
}

export interface ModelSettings {
  readonly id: string;
  readonly name?: string | undefined;
  readonly reasoning?: boolean | undefined;
  readonly input?: readonly ("text" | "image")[] | undefined;
  readonly cost?: { input: number; output: number; cacheRead: number; cacheWrite: number } | undefined;
  readonly contextWindow?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly compat?: Record<string, unknown> | undefined;
}

/** A model ready to be called. */
export interface ModelHandle {
  readonly info: ModelInfo;
  readonly pi: PiModel;
  readonly apiKey: string;
  readonly stream: StreamModel;
}

export interface Models {
  /** Undefined when nobody knows the provider, or its key is missing: `why` tells. */
  find(ref: ModelRef): Promise<ModelHandle | { readonly missing: string }>;
  /** What is chosen when the config names no model: by key, then a local server, then the demo. */
  choose(): Promise<ModelRef>;
  list(): Promise<readonly (ModelInfo & { available: boolean })[]>;
}

interface Options {
  readonly providers: Readonly<Record<string, ProviderSettings>>;
  /** `replace`: the SDK's catalogue does not count, only what `providers` name. */
  readonly mode?: "merge" | "replace";
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Loopback servers are asked only when nothing else is there; tests turn it off. */
  readonly probeLocal?: boolean;
  /** The usual ones by default. */
  readonly localServers?: readonly { provider: string; baseUrl: string }[];
}

/** Tokens, when neither config nor catalogue says. */
const UNKNOWN_WINDOW = 128_000;
const UNKNOWN_OUTPUT = 8192;
const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export function createModels(options: Options): Models {
  // Only what was found is kept: a server or a key may come later.
  let local: LocalModel | undefined;
  const findLocal = async () => {
    if (options.probeLocal !== false) local ??= await findLocalModel(options.localServers);
    return local;
  };
  const cache = new Map<string, ModelHandle>();
  return {
    async find(ref) {
      const name = `${ref.provider}/${ref.id}`;
      const found = cache.get(name) ?? (await resolve(ref, options, findLocal));
      if (!("missing" in found)) cache.set(name, found);
      return found;
    },
    async choose() {
      const byConfig = firstConfigured(options);
      return (
        byConfig ?? (hasCatalogue(options) ? modelByKey(options.env) : undefined) ?? (await findLocal()) ?? DEMO_MODEL
      );
    },
    list: () => listModels(options, findLocal),
  };
}

const hasCatalogue = ({ mode }: Options): boolean => mode !== "replace";

function firstConfigured(options: Options): ModelRef | undefined {
  for (const [provider, settings] of Object.entries(options.providers)) {
    const first = settings.models?.[0];
    if (first) return { provider, id: first.id };
  }
  return undefined;
}

type FindLocal = () => Promise<LocalModel | undefined>;

async function resolve(
  ref: ModelRef,
  options: Options,
  findLocal: FindLocal,
): Promise<ModelHandle | { missing: string }> {
  if (ref.provider === DEMO_MODEL.provider) return demoHandle();
  const settings = options.providers[ref.provider] ?? (await localSettings(ref, findLocal));
  const pi = buildPiModel(ref, settings, hasCatalogue(options) ? await fromCatalogue(ref) : undefined);
  if (!pi) return { missing: `No provider named "${ref.provider}" is known.` };
  const apiKey = keyOf(ref.provider, settings, options.env, pi.baseUrl);
  if (apiKey === undefined) return { missing: missingKey(ref.provider) };
  const { streamSimple } = await loadPi();
  return { info: infoOf(pi), pi, apiKey, stream: streamSimple };
}

async function localSettings(ref: ModelRef, findLocal: FindLocal): Promise<ProviderSettings | undefined> {
  const found = await findLocal();
  return found?.provider === ref.provider ? { baseUrl: found.baseUrl, api: "openai-completions" } : undefined;
}

async function demoHandle(): Promise<ModelHandle> {
  const pi: PiModel = {
    ...DEMO_MODEL,
    name: "Demo echo agent",
    api: "openclaw-demo",
    baseUrl: "",
    reasoning: false,
    input: ["text"],
    cost: FREE,
    contextWindow: 32_000,
    maxTokens: 4096,
  };
  return { info: { ...infoOf(pi), demo: true }, pi, apiKey: "demo", stream: demoStream(await loadPi()) };
}

function buildPiModel(
  ref: ModelRef,
  settings: ProviderSettings | undefined,
  known: PiModel | undefined,
): PiModel | undefined {
  const base = baseModel(ref, settings, known);
  if (!base) return undefined;
  const own = settings?.models?.find((model) => model.id === ref.id);
  const headers = settings?.headers && { ...base.headers, ...revealAll(settings.headers) };
  return { ...base, ...definedOf(own), ...(headers && { headers }) };
}

/** Address and API from the config, else from the catalogue; undefined when neither knows them. */
function baseModel(
  ref: ModelRef,
  settings: ProviderSettings | undefined,
  known: PiModel | undefined,
): PiModel | undefined {
  const { api = known?.api, baseUrl = known?.baseUrl } = spokenWith(settings);
  if (api === undefined || baseUrl === undefined) return undefined;
  return { ...(known ?? unknownModel(ref, api, baseUrl)), id: ref.id, provider: ref.provider, api, baseUrl };
}

/** Ollama speaks OpenAI's API below `/v1`; for Copilot only the catalogue knows the API of a model. */
function spokenWith(settings: ProviderSettings | undefined): { api?: Api | undefined; baseUrl?: string | undefined } {
  const { api, baseUrl } = settings ?? {};
  if (api === "ollama") return { api: "openai-completions", baseUrl: baseUrl?.replace(/\/*(?:v1\/*)?$/, "/v1") };
  return { api: api === "github-copilot" ? undefined : api, baseUrl };
}

function unknownModel(ref: ModelRef, api: Api, baseUrl: string): PiModel {
  return {
    id: ref.id,
    name: ref.id,
    api,
    provider: ref.provider,
    baseUrl,
    reasoning: false,
    input: ["text"],
    cost: FREE,
    contextWindow: UNKNOWN_WINDOW,
    maxTokens: UNKNOWN_OUTPUT,
  };
}

/** A model of the SDK's catalogue; for an id it does not know, a sibling's address and API with unknown limits. */
async function fromCatalogue(ref: ModelRef): Promise<PiModel | undefined> {
  const { getModels, getProviders } = await loadPi();
  const provider = getProviders().find((name) => name === ref.provider);
  if (!provider) return undefined;
  const models: readonly PiModel[] = getModels(provider);
  const exact = models.find((model) => model.id === ref.id);
  const sibling = models[0];
  return exact ?? (sibling && unknownModel(ref, sibling.api, sibling.baseUrl));
}

function definedOf(own: ModelSettings | undefined): Partial<PiModel> {
  if (!own) return {};
  const { id: _id, input, ...rest } = own;
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  return { ...given, ...(input && { input: [...input] }) };
}

function revealAll(headers: Readonly<Record<string, string | Secret>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, reveal(value)]));
}

const reveal = (value: string | Secret): string => (value instanceof Secret ? value.reveal() : value);

/** A server on this machine needs no key, but the SDK wants a non-empty one. */
function keyOf(provider: string, settings: ProviderSettings | undefined, env: Options["env"], baseUrl: string) {
  if (settings?.apiKey !== undefined) return reveal(settings.apiKey);
  const found = envKey(provider, env);
  if (found !== undefined) return found;
  return /^https?:\/\/(127\.|localhost|\[::1\])/.test(baseUrl) ? "none" : undefined;
}

function missingKey(provider: string): string {
  const variable = KEYED_PROVIDERS.find((row) => row.provider === provider)?.variables[0];
  const where = `models.providers.${provider}.apiKey`;
  return `There is no key for "${provider}": set ${variable ? `${variable} or ` : ""}${where}.`;
}

function infoOf(pi: PiModel): ModelInfo {
  const { id, provider, name, contextWindow, maxTokens, reasoning, input } = pi;
  return { id, provider, name, contextWindow, maxTokens, reasoning, input };
}

/** Configured models, the catalogue of every provider that has a key, and the demo. */
async function listModels(
  options: Options,
  findLocal: FindLocal,
): Promise<readonly (ModelInfo & { available: boolean })[]> {
  const { getModels, getProviders } = await loadPi();
  const configured = Object.entries(options.providers).flatMap(([provider, settings]) =>
    (settings.models ?? []).map((model) =>
      infoOf({
        ...unknownModel({ provider, id: model.id }, settings.api ?? "", settings.baseUrl ?? ""),
        ...definedOf(model),
      }),
    ),
  );
  const keyed = getProviders()
    .filter((provider) => hasCatalogue(options) && envKey(provider, options.env) !== undefined)
    .flatMap((provider) => [...getModels(provider)].map(infoOf));
  const local = await findLocal();
  const found = local ? [infoOf(unknownModel(local, "openai-completions", local.baseUrl))] : [];
  const demo = (await demoHandle()).info;
  return [...configured, ...keyed, ...found, demo].map((info) => ({ ...info, available: true }));
}
