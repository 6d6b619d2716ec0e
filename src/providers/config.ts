import { z } from "zod";
import { about, secretField } from "../utils/config.ts";

const APIS = [
  "openai-completions",
  "openai-responses",
  "openai-codex-responses",
  "anthropic-messages",
  "google-generative-ai",
  "github-copilot",
  "bedrock-converse-stream",
  "ollama",
  "azure-openai-responses",
] as const;

const price = (title: string, what: string) =>
  z
    .number()
    .min(0)
    .default(0)
    .meta(about(title, `US dollars a million ${what} tokens.`));

const model = z.strictObject({
  id: z.string().min(1).meta(about("Id", "The provider's name of the model.")),
  name: z.string().optional().meta(about("Name", "Shown to people; the id when unset.")),
  reasoning: z.boolean().optional().meta(about("Reasoning", "The model can think before it answers.")),
  input: z
    .array(z.enum(["text", "image"]))
    .optional()
    .meta(about("Input", "What the model takes besides text.")),
  cost: z
    .strictObject({
      input: price("Input", "input"),
      output: price("Output", "output"),
      cacheRead: price("Cache read", "cached input"),
      cacheWrite: price("Cache write", "newly cached input"),
    })
    .optional()
    .meta(about("Cost", "Prices, for the cost figures.")),
  contextWindow: z.int().min(1).optional().meta(about("Context window", "Tokens the model takes in.")),
  contextTokens: z
    .int()
    .min(1000)
    .optional()
    .meta(about("Context tokens", "Tokens of the window that are used; all of it when unset.")),
  maxTokens: z.int().min(1).optional().meta(about("Output limit", "Tokens the model gives out at most.")),
  compat: z
    .record(z.string(), z.unknown())
    .optional()
    .meta(about("Compatibility", "Switches for servers that differ from the API they imitate.")),
});

const provider = z.strictObject({
  baseUrl: z
    .string()
    .optional()
    .meta(about("Base URL", "Address of the API, for example `http://127.0.0.1:11434/v1`.")),
  apiKey: secretField
    .optional()
    .meta(about("API key", "Key of the provider; its usual environment variable when unset.")),
  api: z.enum(APIS).optional().meta(about("API", "The protocol the provider speaks.")),
  headers: z
    .record(z.string(), secretField)
    .optional()
    .meta(about("Headers", "Further HTTP headers of every request.")),
  contextWindow: z.int().min(1).optional().meta(about("Context window", "As of each model that does not say its own.")),
  contextTokens: z
    .int()
    .min(1000)
    .optional()
    .meta(about("Context tokens", "As of each model that does not say its own.")),
  maxTokens: z.int().min(1).optional().meta(about("Output limit", "As of each model that does not say its own.")),
  models: z
    .array(model)
    .optional()
    .meta(about("Models", "Models that the built-in catalogue does not know, or knows otherwise.")),
});

/** `models.*` */
export const modelsConfig = z.strictObject({
  mode: z
    .enum(["merge", "replace"])
    .default("merge")
    .meta(
      about("Mode", "`merge` adds the providers below to the built-in catalogue; `replace` puts them in its place."),
    ),
  providers: z
    .record(z.string(), provider)
    .prefault({})
    .meta(
      about("Providers", "Model providers by name.", {
        local: {
          baseUrl: "http://127.0.0.1:8000/v1",
          api: "openai-completions",
          apiKey: "${LOCAL_API_KEY}",
          models: [{ id: "my-model", contextWindow: 32_768 }],
        },
      }),
    ),
});

export type ModelsConfig = z.output<typeof modelsConfig>;

const PROFILE_MODES = ["api_key", "aws-sdk", "oauth", "token"] as const;

const profile = z.strictObject({
  provider: z.string().min(1).meta(about("Provider", "Whose key it is.")),
  mode: z
    .enum(PROFILE_MODES)
    .meta(
      about(
        "Mode",
        "What kind of key: it has to fit the one in the credentials file. `aws-sdk` has none there: AWS finds its own.",
      ),
    ),
  email: z.string().optional().meta(about("E-mail", "Shown to people.")),
  displayName: z.string().optional().meta(about("Name", "Shown to people.")),
});

const figure = (fallback: number, title: string, what: string) =>
  z.number().positive().default(fallback).meta(about(title, what));

const cooldowns = z.strictObject({
  billingBackoffHours: figure(5, "Billing rest", "Hours a key rests at a model that refused it for want of money."),
  billingBackoffHoursByProvider: z
    .record(z.string(), z.number().positive())
    .prefault({})
    .meta(about("Billing rest by provider", "The same for single providers.", { openrouter: 1 })),
  billingMaxHours: figure(24, "Longest billing rest", "Each further refusal doubles the rest, up to these hours."),
  authPermanentBackoffMinutes: figure(10, "Refusal rest", "Minutes a key rests at a model that did not let it in."),
  authPermanentMaxMinutes: figure(60, "Longest refusal rest", "Each further refusal doubles it, up to these minutes."),
  failureWindowHours: figure(
    24,
    "Memory",
    "Hours after a rest during which a further failure makes the next one longer.",
  ),
  rateLimitedProfileRotations: z
    .int()
    .min(0)
    .default(1)
    .meta(about("Keys after a rate limit", "How many further keys of a provider one run asks before the next model.")),
  overloadedProfileRotations: z
    .int()
    .min(0)
    .default(1)
    .meta(about("Keys after an overload", "The same after the provider was overloaded.")),
  overloadedBackoffMs: z
    .int()
    .min(0)
    .max(60_000)
    .optional()
    .meta(
      about(
        "Pause after an overload",
        "Milliseconds before an overloaded provider is asked again, with the same key or the next; unset: 1 s, doubled each time, and none before another key.",
      ),
    ),
});

/** `auth.*` */
export const authConfig = z.strictObject({
  profiles: z
    .record(z.string(), profile)
    .prefault({})
    .meta(
      about("Profiles", "What is known of keys by id, `<provider>:<name>`; their secrets are in `credentials/`.", {
        "anthropic:work": { provider: "anthropic", mode: "api_key" },
      }),
    ),
  order: z
    .record(z.string(), z.array(z.string()))
    .prefault({})
    .meta(
      about("Order", "Profiles by provider in the order in which they are tried; others of the file are left out.", {
        anthropic: ["anthropic:work"],
      }),
    ),
  cooldowns: cooldowns.prefault({}).meta(about("Rests", "How long a key that failed at a model is left alone.")),
});

export type AuthConfig = z.output<typeof authConfig>;
