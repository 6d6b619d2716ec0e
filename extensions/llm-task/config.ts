import { z } from "zod";
import { about } from "openclaw/plugin-sdk";

const modelPattern = z.string().regex(/^[^/\s]+\/\S+$/, "write it as provider/model");

/** `plugins.entries.llm-task.config` */
export const settings = z.strictObject({
  defaultProvider: z
    .string()
    .min(1)
    .optional()
    .meta(about("Provider", "Provider of the model that is asked when a call names none.")),
  defaultModel: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        "Model",
        "Model that is asked when a call names none, as `provider/model`; the run's own models when unset.",
      ),
    ),
  allowedModels: z
    .array(modelPattern)
    .optional()
    .meta(
      about(
        "Allowed models",
        "Models that calls may name, as `provider/model` or `provider/*`; those of `agents.defaults.models` when unset.",
        ["openai/gpt-5-mini"],
      ),
    ),
  maxTokens: z.int().min(1).default(800).meta(about("Tokens", "Most tokens of an answer when a call does not say it.")),
  timeoutMs: z
    .int()
    .min(1000)
    .max(600_000)
    .default(30_000)
    .meta(about("Timeout", "Milliseconds for one model when a call does not say it.")),
});

export type Settings = z.output<typeof settings>;
