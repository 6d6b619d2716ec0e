import type { MemorySearchConfig } from "../../tools/memory/config.ts";
import type { AgentSettings, MemorySearchSettings, NoteVectors } from "../../types/settings.ts";
import { isLoopbackName } from "../../server/transport/origin.ts";
import { defined } from "../../utils/defined.ts";
import { own } from "../../utils/own.ts";
import type { Config } from "./schema/schema.ts";

/** Addresses and usual models of providers that have the API of OpenAI's embeddings. */
const PROVIDERS: Readonly<Record<string, { readonly url: string; readonly model?: string }>> = {
  openai: { url: "https://api.openai.com/v1", model: "text-embedding-3-small" },
  gemini: { url: "https://generativelanguage.googleapis.com/v1beta/openai", model: "gemini-embedding-001" },
  voyage: { url: "https://api.voyageai.com/v1", model: "voyage-4-large" },
  mistral: { url: "https://api.mistral.ai/v1", model: "mistral-embed" },
  deepinfra: { url: "https://api.deepinfra.com/v1/openai", model: "BAAI/bge-m3" },
  ollama: { url: "http://127.0.0.1:11434/v1" },
  lmstudio: { url: "http://127.0.0.1:1234/v1" },
};
/** Default weight of the search by vectors; the search by words has the rest. */
const WEIGHT = 0.3;

/** Settings with which an agent searches its notes: a key of its own overrides the same key of `agents.defaults`. */
export function memorySearchOf(
  { agents, memory: { citations }, models }: Config,
  entry: { readonly memorySearch?: MemorySearchConfig | undefined },
  isDefaultAgent: boolean,
): Pick<AgentSettings, "memorySearch"> {
  const asked = joined(agents.defaults.memorySearch ?? {}, entry.memorySearch ?? {});
  const { sources = ["memory"], experimental, query } = asked;
  const settings: MemorySearchSettings = {
    isOn: asked.enabled !== false,
    ...(!isDefaultAgent && { isDefaultAgent }),
    sources: sources.filter((source) => source === "memory" || experimental?.sessionMemory === true),
    ...(citations !== "auto" && { citations }),
    ...defined({ extraPaths: asked.extraPaths }),
    ...defined({ maxResults: query?.maxResults, minScore: query?.minScore }),
    ...vectorsOf(asked, models),
  };
  return { memorySearch: settings };
}

function joined(below: MemorySearchConfig, above: MemorySearchConfig): MemorySearchConfig {
  return {
    ...below,
    ...defined(above),
    remote: { ...below.remote, ...defined(above.remote ?? {}) },
    query: {
      ...below.query,
      ...defined(above.query ?? {}),
      hybrid: { ...below.query?.hybrid, ...defined(above.query?.hybrid ?? {}) },
    },
  };
}

type WithVectors = Pick<MemorySearchSettings, "vectors" | "vectorsProblem">;

function vectorsOf(asked: MemorySearchConfig, models: Config["models"]): WithVectors {
  const { provider = "none", query } = asked;
  if (provider === "none" || query?.hybrid?.enabled === false) return {};
  const { url, ...access } = accessOf(provider, asked, models);
  const model = asked.model ?? own(PROVIDERS, provider)?.model;
  if (url === undefined || !URL.canParse(url)) {
    return { vectorsProblem: `memorySearch.remote.baseUrl has to be the address of the embeddings of ${provider}` };
  }
  if (model === undefined) return { vectorsProblem: `memorySearch.model has to name a model of ${provider}` };
  const weight = weightOf(query?.hybrid);
  const price = priceOf(provider, { url, model }, models);
  const made = { provider, model, url: url.replace(/\/+$/, ""), ...access, ...shapeOf(asked), weight, ...price };
  return { vectors: made };
}

/** The price of one token, when the config has it; a server of this machine costs nothing. */
function priceOf(
  provider: string,
  { url, model }: Pick<NoteVectors, "url" | "model">,
  models: Config["models"],
): Pick<NoteVectors, "price"> {
  const named = own(models.providers, provider)?.models?.find(({ id }) => id === model)?.cost?.input;
  if (named !== undefined) return { price: named / 1_000_000 };
  return isLoopbackName(new URL(url).host) ? { price: 0 } : {};
}

/** Address, key and headers of the embeddings. The key of a provider is for the provider's own address only. */
function accessOf(provider: string, { remote = {} }: MemorySearchConfig, models: Config["models"]) {
  const configured = remote.baseUrl === undefined ? own(models.providers, provider) : undefined;
  const url = remote.baseUrl ?? configured?.baseUrl ?? own(PROVIDERS, provider)?.url;
  const key = remote.apiKey ?? configured?.apiKey;
  return defined({ url, key, headers: remote.headers ?? configured?.headers });
}

const shapeOf = ({ outputDimensionality, inputType, queryInputType, documentInputType }: MemorySearchConfig) =>
  defined({
    dimensions: outputDimensionality,
    queryInputType: queryInputType ?? inputType,
    documentInputType: documentInputType ?? inputType,
  });

/** The share of vectors in the sum of both weights. */
function weightOf(hybrid: NonNullable<MemorySearchConfig["query"]>["hybrid"]): number {
  const { vectorWeight = WEIGHT, textWeight = 1 - WEIGHT } = hybrid ?? {};
  const sum = vectorWeight + textWeight;
  return sum === 0 ? WEIGHT : vectorWeight / sum;
}
