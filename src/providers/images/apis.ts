import type { PiModel } from "../pi.ts";
import type { ImageApi } from "./api.ts";
import { googleImages } from "./google.ts";
import { compatibleImages, openaiImages, xaiImages } from "./openai.ts";
import { openrouterImages } from "./openrouter.ts";

/** Providers with ways of their own. */
const BY_PROVIDER: ReadonlyMap<string, ImageApi> = new Map([
  ["openai", openaiImages],
  ["openrouter", openrouterImages],
  ["xai", xaiImages],
]);

/** Those of other providers, by the API that their models speak. */
const BY_API: ReadonlyMap<string, ImageApi> = new Map([
  ["google-generative-ai", googleImages],
  ["openai-completions", compatibleImages],
  ["openai-responses", compatibleImages],
]);

/** How the provider of a model is asked for images; undefined where it cannot be. */
export const imageApiOf = ({ provider, api }: Pick<PiModel, "provider" | "api">): ImageApi | undefined =>
  BY_PROVIDER.get(provider) ?? BY_API.get(api);
