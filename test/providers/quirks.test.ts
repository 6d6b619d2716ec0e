import { describe, expect, it } from "vitest";
import { policyFor, QUIRKS } from "../../src/providers/quirks.ts";

const of = (api: string, provider: string, id: string, input: readonly ("text" | "image")[] = ["text"]) =>
  policyFor({ api, provider, id, input });

describe("the policy of a model", () => {
  it("names the model and whether it can see", () => {
    expect(of("openai-completions", "groq", "x", ["text", "image"])).toMatchObject({
      model: { api: "openai-completions", provider: "groq", id: "x" },
      images: true,
    });
    expect(of("openai-completions", "groq", "x").images).toBe(false);
  });

  it.each([
    ["anthropic-messages", "anthropic", "claude-sonnet-4-5", { callIds: "anthropic", ownThinking: "signed" }],
    ["bedrock-converse-stream", "amazon-bedrock", "x", { callIds: "anthropic", bridgeToolResults: true }],
    ["openai-completions", "openai", "gpt-4.1", { callIds: "openai", ownThinking: "field", bridgeToolResults: false }],
    ["openai-completions", "openrouter", "anthropic/claude-sonnet-4.5", { callIds: "anthropic" }],
    ["openai-completions", "openrouter", "mistralai/devstral-small", { callIds: "mistral", bridgeToolResults: true }],
    ["openai-completions", "openrouter", "moonshotai/kimi-k2", { callIds: "openai" }],
    ["openai-responses", "openai", "gpt-5", { callIds: "responses", ownThinking: "item", userTurnFirst: false }],
    ["openai-codex-responses", "openai-codex", "gpt-5-codex", { callIds: "responses", ownThinking: "item" }],
    ["google-generative-ai", "google", "gemini-2.5-pro", { callIds: "any", toolResultImages: false }],
    ["google-generative-ai", "google", "gemini-3-pro", { callIds: "any", toolResultImages: true }],
    ["google-vertex", "google-vertex", "claude-sonnet-4", { callIds: "anthropic" }],
    ["mistral-conversations", "mistral", "mistral-large", { callIds: "mistral", ownThinking: "keep" }],
    ["openclaw-demo", "demo", "echo", { callIds: "openai", validateAnthropicTurns: true }],
  ] as const)("of %s %s/%s holds its quirks", (api, provider, id, expected) => {
    expect(of(api, provider, id)).toMatchObject(expected);
  });
});

describe("the quirks", () => {
  it("have an id of their own and a reason each", () => {
    expect(new Set(QUIRKS.map((quirk) => quirk.id)).size).toBe(QUIRKS.length);
    for (const quirk of QUIRKS) expect(quirk.why).toMatch(/^.{20,}\.$/);
  });
});
