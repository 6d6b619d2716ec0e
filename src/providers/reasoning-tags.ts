import type { ModelRef } from "../types/run/model.ts";

/**
 * Providers, by their names in the config, whose models are asked to write their thoughts in `<think>` and their answer in
 * `<final>`. Without that their thoughts are ordinary text of the answer. Other gateways ask the same two. All other models
 * send thoughts in a separate field, or in tags that are removed without a request.
 */
const PROVIDERS: ReadonlySet<string> = new Set(["google-gemini-cli", "google-generative-ai"]);

/** Whether the system prompt asks the model for these tags, so that only the text in `<final>` is its answer. */
export const writesInTags = ({ provider }: Pick<ModelRef, "provider">): boolean =>
  PROVIDERS.has(provider.trim().toLowerCase());
