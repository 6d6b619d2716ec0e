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
  "google-vertex",
  "pi-messages",
] as const;

const price = (title: string, what: string) =>
  z
    .number()
    .min(0)
    .default(0)
    .meta(about(title, `US dollars per million ${what} tokens.`));

const model = z.strictObject({
  id: z.string().min(1).meta(about("Id", "The provider's name for the model.")),
  name: z.string().optional().meta(about("Name", "Name shown to people; the id when unset.")),
  reasoning: z.boolean().optional().meta(about("Reasoning", "Whether the model can think before it answers.")),
  input: z
    .array(z.enum(["text", "image"]))
    .optional()
    .meta(about("Input", "Input types of the model in addition to text.")),
  cost: z
    .strictObject({
      input: price("Input", "input"),
      output: price("Output", "output"),
      cacheRead: price("Cache read", "cached input"),
      cacheWrite: price("Cache write", "newly cached input"),
    })
    .optional()
    .meta(about("Cost", "Prices, used for the cost figures.")),
  contextWindow: z.int().min(1).optional().meta(about("Context window", "Tokens of the model's window.")),
  contextTokens: z
    .int()
    .min(1000)
    .optional()
    .meta(about("Context tokens", "Tokens of the window that the gateway uses; the whole window when unset.")),
  maxTokens: z.int().min(1).optional().meta(about("Output limit", "Most tokens of one answer of the model.")),
  compat: z
    .record(z.string(), z.unknown())
    .optional()
    .meta(about("Compatibility", "Settings for servers that differ from the API that they imitate.")),
});

const provider = z.strictObject({
  baseUrl: z
    .string()
    .optional()
    .meta(about("Base URL", "Address of the API, for example `http://127.0.0.1:11434/v1`.")),
  apiKey: secretField
    .optional()
    .meta(about("API key", "Key of the provider; the provider's environment variable when unset.")),
  api: z.enum(APIS).optional().meta(about("API", "Protocol of the provider.")),
  headers: z
    .record(z.string(), secretField)
    .optional()
    .meta(about("Headers", "Additional HTTP headers of every request.")),
  contextWindow: z.int().min(1).optional().meta(about("Context window", "Default for models that do not set it.")),
  contextTokens: z.int().min(1000).optional().meta(about("Context tokens", "Default for models that do not set it.")),
  maxTokens: z.int().min(1).optional().meta(about("Output limit", "Default for models that do not set it.")),
  models: z
    .array(model)
    .optional()
    .meta(about("Models", "Models that the built-in catalogue lacks, or describes differently.")),
});

/** `models.*` */
export const modelsConfig = z.strictObject({
  mode: z
    .enum(["merge", "replace"])
    .default("merge")
    .meta(about("Mode", "`merge` adds these providers to the built-in catalogue; `replace` uses only these.")),
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
  provider: z.string().min(1).meta(about("Provider", "The provider that the key belongs to.")),
  mode: z
    .enum(PROFILE_MODES)
    .meta(
      about(
        "Mode",
        "Kind of key; it must match the key in the credentials file. `aws-sdk` has no key there, because the AWS SDK finds one.",
      ),
    ),
  email: z.string().optional().meta(about("E-mail", "Address shown to people.")),
  displayName: z.string().optional().meta(about("Name", "Name shown to people.")),
});

const figure = (fallback: number, title: string, what: string) =>
  z.number().positive().default(fallback).meta(about(title, what));

const cooldowns = z.strictObject({
  billingBackoffHours: figure(
    5,
    "Billing rest",
    "Hours of cooldown after a model refused a key because the account has no money left.",
  ),
  billingBackoffHoursByProvider: z
    .record(z.string(), z.number().positive())
    .prefault({})
    .meta(about("Billing rest by provider", "`billingBackoffHours` of single providers.", { openrouter: 1 })),
  billingMaxHours: figure(
    24,
    "Longest billing rest",
    "Each further refusal doubles the cooldown, up to this many hours.",
  ),
  authPermanentBackoffMinutes: figure(
    10,
    "Refusal rest",
    "Minutes of cooldown after a model refused a key as not authorised.",
  ),
  authPermanentMaxMinutes: figure(
    60,
    "Longest refusal rest",
    "Each further refusal doubles the cooldown, up to this many minutes.",
  ),
  failureWindowHours: figure(
    24,
    "Memory",
    "Hours after a cooldown within which a further failure makes the next cooldown longer.",
  ),
  rateLimitedProfileRotations: z
    .int()
    .min(0)
    .default(1)
    .meta(
      about(
        "Keys after a rate limit",
        "After a rate limit, one run tries this many further keys of a provider before the next model.",
      ),
    ),
  overloadedProfileRotations: z
    .int()
    .min(0)
    .default(1)
    .meta(
      about(
        "Keys after an overload",
        "After an overload, one run tries this many further keys of a provider before the next model.",
      ),
    ),
  overloadedBackoffMs: z
    .int()
    .min(0)
    .max(60_000)
    .optional()
    .meta(
      about(
        "Pause after an overload",
        "Milliseconds before the gateway asks an overloaded provider again, with the same key or the next. When unset, 1 s, doubled each time, and no pause before another key.",
      ),
    ),
});

/** `auth.*` */
export const authConfig = z.strictObject({
  profiles: z
    .record(z.string(), profile)
    .prefault({})
    .meta(
      about("Profiles", "Facts about keys by profile id, `<provider>:<name>`. The secrets are in `credentials/`.", {
        "anthropic:work": { provider: "anthropic", mode: "api_key" },
      }),
    ),
  order: z
    .record(z.string(), z.array(z.string()))
    .prefault({})
    .meta(
      about(
        "Order",
        "Profiles of each provider in the order in which they are tried. Stored profiles that the list omits are not used.",
        {
          anthropic: ["anthropic:work"],
        },
      ),
    ),
  cooldowns: cooldowns.prefault({}).meta(about("Cooldowns", "Cooldowns of keys that failed at a model.")),
});

export type AuthConfig = z.output<typeof authConfig>;
