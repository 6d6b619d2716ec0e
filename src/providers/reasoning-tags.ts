import type { ModelRef } from "../types/run/model.ts";

/**
 * Providers, by the name that the config gives them, whose models are asked to put their thoughts into `<think>` and their
 * answer into `<final>`: their thoughts otherwise come as plain words of the answer. Other gateways of this family ask the
 * same two. Everybody else's thoughts come in a field of their own, or in tags that are taken out unasked.
 */
const PROVIDERS: ReadonlySet<string> = new Set(["google-gemini-cli", "google-generative-ai"]);

/** Whether the system prompt asks the model for these tags, and only what is in `<final>` is its answer. */
export const writesInTags = ({ provider }: Pick<ModelRef, "provider">): boolean =>
  PROVIDERS.has(provider.trim().toLowerCase());
