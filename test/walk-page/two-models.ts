import type { FakeModel } from "../fakes/model.ts";

/** Two models, one that sees images, over the fake one. */
export function twoModels(model: FakeModel, more: Record<string, unknown> = {}): Record<string, unknown> {
  const limits = { contextWindow: 100_000, maxTokens: 4096 };
  const models = [
    { id: "seeing", name: "Seeing", input: ["text", "image"], reasoning: true, ...limits },
    { id: "plain", name: "Plain", ...limits },
  ];
  return {
    models: { providers: { fake: { baseUrl: model.url, apiKey: "x", api: "openai-completions", models } } },
    agents: { defaults: { model: { primary: "fake/seeing" } } },
    messages: { queue: { debounceMs: 0 } },
    ...more,
  };
}
