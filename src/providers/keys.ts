import type { ModelRef } from "../types/model.ts";

/** Providers that are found by their environment variable, in the order in which they are preferred, with the model that is then chosen. */
export const KEYED_PROVIDERS: readonly { provider: string; variables: readonly string[]; model: string }[] = [
  { provider: "anthropic", variables: ["ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN"], model: "claude-sonnet-4-6" },
  { provider: "openai", variables: ["OPENAI_API_KEY"], model: "gpt-5.4" },
  { provider: "google", variables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"], model: "gemini-2.5-pro" },
  { provider: "openrouter", variables: ["OPENROUTER_API_KEY"], model: "anthropic/claude-sonnet-4.5" },
  { provider: "xai", variables: ["XAI_API_KEY"], model: "grok-4" },
  { provider: "groq", variables: ["GROQ_API_KEY"], model: "openai/gpt-oss-120b" },
  { provider: "mistral", variables: ["MISTRAL_API_KEY"], model: "mistral-large-latest" },
  { provider: "deepseek", variables: ["DEEPSEEK_API_KEY"], model: "deepseek-v4-flash" },
  { provider: "cerebras", variables: ["CEREBRAS_API_KEY"], model: "gpt-oss-120b" },
  { provider: "zai", variables: ["ZAI_API_KEY"], model: "glm-5.1" },
];

type Env = Readonly<Record<string, string | undefined>>;

/** The key of a provider out of the environment. */
export function envKey(provider: string, env: Env): string | undefined {
  const known = KEYED_PROVIDERS.find((row) => row.provider === provider);
  return known?.variables.map((name) => env[name]).find((value) => value !== undefined && value !== "");
}

/** The model to use when the config names none but the environment has a key. */
export function modelByKey(env: Env): ModelRef | undefined {
  const found = KEYED_PROVIDERS.find((row) => envKey(row.provider, env) !== undefined);
  return found && { provider: found.provider, id: found.model };
}
