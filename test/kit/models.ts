import { createModels, type Models } from "../../src/providers/catalog.ts";
import type { ModelRef } from "../../src/types/run/model.ts";
import { type ModelMeter, UNMETERED } from "../../src/types/run/model-meter.ts";

export const MODEL: ModelRef = { provider: "fake", id: "fake-1" };
export const SPARE: ModelRef = { provider: "spare", id: "spare-1" };

/** Two providers on one server: the one that a run asks first, and the one that it asks next. */
export function modelsAt(
  url: string,
  meter: ModelMeter = UNMETERED,
  more: { reasoning?: boolean; input?: ("text" | "image")[] } = {},
): Models {
  const provider = (id: string) => ({
    baseUrl: url,
    api: "openai-completions",
    apiKey: "sk-test-0123456789",
    models: [{ id, contextWindow: 100_000, maxTokens: 4096, ...more }],
  });
  return createModels({
    providers: { fake: provider("fake-1"), spare: provider("spare-1") },
    env: {},
    probeLocal: false,
    meter,
  });
}
