import type { Api } from "@mariozechner/pi-ai";
import type { ModelInfo, ModelRef } from "../types/run/model.ts";
import { Secret } from "../types/secret.ts";
import { DEMO_MODEL } from "./demo.ts";
import { loadPi, type PiModel } from "./pi.ts";
import type { ModelSettings, ProviderSettings } from "../types/run/model-provider.ts";
import { defined } from "../utils/defined.ts";

/** Tokens of a window when neither the config nor the catalogue has a size. */
const UNKNOWN_WINDOW = 128_000;
const UNKNOWN_OUTPUT = 8192;
/**
 * Tokens of an answer when the config names no limit. These providers count the requested answer against the tokens of a
 * minute, so a small plan refuses the 32,000 of the catalogue at the first message. https://console.groq.com/docs/rate-limits,
 * https://inference-docs.cerebras.ai/support/rate-limits
 */
const MODEST_OUTPUT: Readonly<Record<string, number>> = { groq: 4096, cerebras: 8192 };
const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** Whether the catalogue or the config names a price; one of 0 is a price too. */
export const hasPrice = ({ cost }: Pick<PiModel, "cost">): boolean => cost !== FREE;

export const DEMO_PI_MODEL: PiModel = {
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

/**
 * The model in the SDK's form: the row of the catalogue, with the config's values first. Undefined when neither names an
 * address.
 */
export function buildPiModel(
  ref: ModelRef,
  settings: ProviderSettings | undefined,
  known: PiModel | undefined,
): PiModel | undefined {
  const own = settings?.models?.find((model) => model.id === ref.id);
  const base = baseModel(ref, addressIn(settings, own), known);
  return base && withUsedWindow(withSettings({ ...base, ...sharedOf(base, settings) }, own), settings, own);
}

/** A model may have another address than its provider. */
const addressIn = (
  settings: ProviderSettings | undefined,
  own: ModelSettings | undefined,
): Pick<ProviderSettings, "api" | "baseUrl"> => ({
  api: own?.api ?? settings?.api,
  baseUrl: own?.baseUrl ?? settings?.baseUrl,
});

function withUsedWindow(pi: PiModel, settings: ProviderSettings | undefined, own: ModelSettings | undefined): PiModel {
  const used = own?.contextTokens ?? settings?.contextTokens ?? pi.contextWindow;
  return { ...pi, contextWindow: Math.min(pi.contextWindow, used) };
}

/** The settings that all models of a provider share. */
const sharedOf = (base: PiModel, settings: ProviderSettings | undefined): Partial<PiModel> => ({
  ...limitsIn(settings),
  ...(settings?.headers && { headers: { ...base.headers, ...revealAll(settings.headers) } }),
});

const limitsIn = ({ contextWindow, maxTokens }: ProviderSettings = {}): Partial<PiModel> => ({
  ...(contextWindow !== undefined && { contextWindow }),
  ...(maxTokens !== undefined && { maxTokens }),
});

/** Address and API from the config, else from the catalogue; undefined when neither knows them. */
function baseModel(
  ref: ModelRef,
  settings: ProviderSettings | undefined,
  known: PiModel | undefined,
): PiModel | undefined {
  const { api = known?.api, baseUrl = known?.baseUrl } = spokenWith(settings);
  if (api === undefined || baseUrl === undefined) return undefined;
  return { ...(known ?? plainModel(ref, api, baseUrl)), id: ref.id, provider: ref.provider, api, baseUrl };
}

/** Ollama has OpenAI's API under `/v1`. Only the catalogue knows which API a Copilot model has. */
function spokenWith(settings: ProviderSettings | undefined): { api?: Api | undefined; baseUrl?: string | undefined } {
  const { api, baseUrl } = settings ?? {};
  if (api === "ollama") return { api: "openai-completions", baseUrl: baseUrl?.replace(/\/*(?:v1\/*)?$/, "/v1") };
  return { api: api === "github-copilot" ? undefined : api, baseUrl };
}

/** A model of which nothing else is known. */
export function plainModel(ref: ModelRef, api: Api = "", baseUrl = ""): PiModel {
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

/**
 * A model of the SDK's catalogue. For an unknown id: the address and API of another model of the provider, with unknown limits.
 */
export async function fromCatalogue(ref: ModelRef): Promise<PiModel | undefined> {
  const models = await catalogueOf(ref.provider);
  const exact = models.find((model) => model.id === ref.id);
  const sibling = models[0];
  return modest(exact ?? (sibling && plainModel(ref, sibling.api, sibling.baseUrl)));
}

function modest(pi: PiModel | undefined): PiModel | undefined {
  const most = pi === undefined ? undefined : MODEST_OUTPUT[pi.provider];
  return pi && most !== undefined ? { ...pi, maxTokens: Math.min(pi.maxTokens, most) } : pi;
}

/** All models of a provider that the SDK knows, which may be none. */
export async function catalogueOf(name: string): Promise<readonly PiModel[]> {
  const { getModels, getProviders } = await loadPi();
  const provider = getProviders().find((known) => known === name);
  return provider ? getModels(provider) : [];
}

/** The model with the values that are given; its id, address and API stay. */
function withSettings(pi: PiModel, own: ModelSettings | undefined): PiModel {
  if (!own) return pi;
  const { id: _id, contextTokens: _used, api: _api, baseUrl: _url, input, headers, ...rest } = own;
  const added = { ...(input && { input: [...input] }), ...(headers && { headers: { ...pi.headers, ...headers } }) };
  return { ...pi, ...defined(rest), ...added };
}

/** The model as the code of its provider changed it. */
export function adjustedModel(pi: PiModel, { api = pi.api, baseUrl = pi.baseUrl, ...rest }: ModelSettings): PiModel {
  return { ...withSettings(pi, rest), id: rest.id, api, baseUrl };
}

function revealAll(headers: Readonly<Record<string, string | Secret>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, reveal(value)]));
}

const reveal = (value: string | Secret): string => (value instanceof Secret ? value.reveal() : value);

export function infoOf(pi: PiModel): ModelInfo {
  const { id, provider, name, contextWindow, maxTokens, reasoning, input } = pi;
  return { id, provider, name, contextWindow, maxTokens, reasoning, input };
}

/** The models that the config names. */
export function configuredModels(providers: Readonly<Record<string, ProviderSettings>>): readonly ModelInfo[] {
  return Object.entries(providers).flatMap(([provider, settings]) =>
    (settings.models ?? []).map((model) =>
      infoOf(withSettings(plainModel({ provider, id: model.id }, settings.api, settings.baseUrl), model)),
    ),
  );
}

/** A model of which only the address is known. */
export const plainInfo = (ref: ModelRef, baseUrl: string): ModelInfo =>
  infoOf(plainModel(ref, "openai-completions", baseUrl));
