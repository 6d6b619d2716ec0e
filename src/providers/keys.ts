import type { ModelRef } from "../types/run/model.ts";
import type { Env } from "../utils/env.ts";

/**
 * Providers whose key is found by its environment variable, in their order of preference, with the model that is then chosen.
 */
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

/** The model of a login when nothing else names one. These providers accept no plain key. */
export const LOGIN_PROVIDERS: readonly ModelRef[] = [
  { provider: "openai-codex", id: "gpt-5.4" },
  { provider: "github-copilot", id: "claude-sonnet-4.5" },
];

/**
 * Variables of further providers. Their keys are used when the config names one of their models; no default model is chosen
 * from them.
 */
const OTHER_VARIABLES: Readonly<Record<string, readonly string[]>> = {
  "azure-openai-responses": ["AZURE_OPENAI_API_KEY"],
  "cloudflare-ai-gateway": ["CLOUDFLARE_API_KEY"],
  "cloudflare-workers-ai": ["CLOUDFLARE_API_KEY"],
  fireworks: ["FIREWORKS_API_KEY"],
  "github-copilot": ["COPILOT_GITHUB_TOKEN"],
  "google-vertex": ["GOOGLE_CLOUD_API_KEY"],
  huggingface: ["HF_TOKEN"],
  "kimi-coding": ["KIMI_API_KEY"],
  minimax: ["MINIMAX_API_KEY"],
  "minimax-cn": ["MINIMAX_CN_API_KEY"],
  moonshotai: ["MOONSHOT_API_KEY"],
  "moonshotai-cn": ["MOONSHOT_API_KEY"],
  opencode: ["OPENCODE_API_KEY"],
  "opencode-go": ["OPENCODE_API_KEY"],
  "vercel-ai-gateway": ["AI_GATEWAY_API_KEY"],
};

/** Variables with which the AWS SDK finds credentials by itself. */
const AWS_SIGNS = [
  "AWS_BEARER_TOKEN_BEDROCK",
  "AWS_PROFILE",
  "AWS_ACCESS_KEY_ID",
  "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
  "AWS_CONTAINER_CREDENTIALS_FULL_URI",
  "AWS_WEB_IDENTITY_TOKEN_FILE",
];
export const AWS_PROVIDER = "amazon-bedrock";

/** The environment variables that may hold a provider's key. */
export const keyVariables = (provider: string): readonly string[] =>
  KEYED_PROVIDERS.find((row) => row.provider === provider)?.variables ?? otherVariables(provider);

const otherVariables = (provider: string): readonly string[] =>
  Object.hasOwn(OTHER_VARIABLES, provider) ? (OTHER_VARIABLES[provider] ?? []) : [];

/** All variables that may hold a provider's key. */
export const KEY_VARIABLES: readonly string[] = [
  ...KEYED_PROVIDERS.flatMap(({ variables }) => variables),
  ...Object.values(OTHER_VARIABLES).flat(),
  ...AWS_SIGNS,
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_REGION",
];

/** The key of a provider from the environment, and the name of its variable. */
export function envKey(
  provider: string,
  env: Env,
  variables = keyVariables(provider),
): { readonly key: string; readonly variable: string } | undefined {
  for (const variable of variables) {
    const key = env[variable];
    if (key !== undefined && key !== "") return { key, variable };
  }
  return undefined;
}

export const hasAwsCredentials = (env: Env): boolean => AWS_SIGNS.some((name) => Boolean(env[name]));

/** The model when the config names none: that of the first provider with a key, stored or in the environment. */
export function modelByKey(env: Env, stored: ReadonlySet<string> = new Set()): ModelRef | undefined {
  const found = KEYED_PROVIDERS.find((row) => stored.has(row.provider) || envKey(row.provider, env) !== undefined);
  if (found) return { provider: found.provider, id: found.model };
  return LOGIN_PROVIDERS.find((row) => stored.has(row.provider));
}
