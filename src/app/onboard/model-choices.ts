import { findLocalServers } from "../../providers/local.ts";
import { envKey, KEYED_PROVIDERS } from "../../providers/keys.ts";
import type { Env } from "../../utils/env.ts";

/** A provider whose key a person can type. */
export interface KeyedChoice {
  readonly provider: string;
  readonly label: string;
  /** The provider's id in `--auth-choice` and in the protocol. */
  readonly authChoice: string;
  /** The page on which its customers make keys. */
  readonly keysAt: string;
  /** What its keys begin with; empty when they have no form of their own. */
  readonly keyStarts: readonly string[];
  /** The model when the person names none. */
  readonly model: string;
}

/** The id of the choice for a server that the person names. */
export const CUSTOM_CHOICE = "custom-api-key";

const ABOUT: Readonly<
  Record<string, readonly [label: string, keysAt: string, keyStarts?: readonly string[], authChoice?: string]>
> = {
  anthropic: ["Anthropic (Claude)", "https://console.anthropic.com/settings/keys", ["sk-ant-"], "apiKey"],
  openai: ["OpenAI", "https://platform.openai.com/api-keys", ["sk-proj-", "sk-svcacct-"]],
  google: ["Google (Gemini)", "https://aistudio.google.com/apikey", ["AIza"], "gemini-api-key"],
  openrouter: ["OpenRouter", "https://openrouter.ai/settings/keys", ["sk-or-"]],
  xai: ["xAI (Grok)", "https://console.x.ai", ["xai-"]],
  groq: ["Groq", "https://console.groq.com/keys", ["gsk_"]],
  mistral: ["Mistral", "https://console.mistral.ai/api-keys"],
  deepseek: ["DeepSeek", "https://platform.deepseek.com/api_keys"],
  cerebras: ["Cerebras", "https://cloud.cerebras.ai", ["csk-"]],
  zai: ["Z.AI (GLM)", "https://z.ai/manage-apikey/apikey-list"],
};

/** The providers with a key that are offered, in the order in which the gateway prefers them. */
export const KEYED_CHOICES: readonly KeyedChoice[] = KEYED_PROVIDERS.map(({ provider, model }) => {
  const [label = provider, keysAt = "", keyStarts = [], authChoice = `${provider}-api-key`] = ABOUT[provider] ?? [];
  return { provider, label, keysAt, keyStarts, authChoice, model };
});

const LOCAL_LABELS: Readonly<Record<string, string>> = {
  ollama: "Ollama",
  lmstudio: "LM Studio",
  llamacpp: "llama.cpp",
  vllm: "vLLM",
};

/** The name of a provider for people. */
export const labelOf = (provider: string): string => ABOUT[provider]?.[0] ?? LOCAL_LABELS[provider] ?? provider;

/** The choice with this id or this provider. */
export const keyedChoice = (name: string): KeyedChoice | undefined =>
  KEYED_CHOICES.find(({ authChoice, provider }) => authChoice === name || provider === name);

/** A model that can be used without typing a key. */
export interface DetectedChoice {
  readonly provider: string;
  readonly label: string;
  readonly model: string;
  /** The environment variable that has the key. Unset for a server on this machine. */
  readonly variable?: string;
  /** The address of a server on this machine, and its models. */
  readonly server?: { readonly baseUrl: string; readonly models: readonly string[] };
}

/** Keys of the environment, then model servers that run on this machine now. Never throws. */
export async function detectChoices(
  env: Env,
  servers?: Parameters<typeof findLocalServers>[0],
): Promise<readonly DetectedChoice[]> {
  const keyed = KEYED_CHOICES.flatMap(({ provider, label, model }) => {
    const found = envKey(provider, env);
    return found ? [{ provider, label, model, variable: found.variable }] : [];
  });
  const local = (await findLocalServers(servers)).flatMap(({ provider, baseUrl, models }) => {
    const [model] = models;
    return model === undefined ? [] : [{ provider, label: labelOf(provider), model, server: { baseUrl, models } }];
  });
  return [...keyed, ...local];
}

/** The provider id of a custom server in the config: `custom-`, then its host and port. */
export function customProvider(baseUrl: string): string {
  const { host } = new URL(baseUrl);
  return `custom-${host
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")}`;
}
