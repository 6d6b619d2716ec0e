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
