import { expect, it } from "vitest";
import { createModels, type ModelHandle, type Models } from "../../../src/providers/catalog.ts";

const open = (id: string, more: object = {}, api = "openai-completions"): Models =>
  createModels({
    providers: { own: { baseUrl: "http://127.0.0.1:9/v1", api, apiKey: "key", models: [{ id, ...more }] } },
    env: { GROQ_API_KEY: "key" },
    probeLocal: false,
  });

async function find(models: Models, id: string, provider = "own"): Promise<ModelHandle> {
  const found = await models.find({ provider, id });
  if ("missing" in found) throw new Error(found.missing);
  return found;
}

it.each([
  ["deepseek-r1:14b", {}, undefined, true],
  ["Qwen/QwQ-32B", {}, undefined, true],
  ["qwen3-4b-thinking-2507", {}, undefined, true],
  ["my-own", { reasoning: true }, undefined, true],
  ["my-own", {}, undefined, false],
  ["llama-3.3-70b", {}, undefined, false],
  ["deepseek-r1", {}, "anthropic-messages", false],
] as const)("%s %j of %s may end thoughts that no tag has begun: %s", async (id, more, api, may) => {
  expect((await find(open(id, more, api), id)).habit?.mayEndUnbegun).toBe(may);
});

it("providers that the SDK knows separate thoughts from text", async () => {
  const handle = await find(open("x"), "deepseek-r1-distill-llama-70b", "groq");
  expect(handle.pi.reasoning).toBe(true);
  expect(handle.habit?.mayEndUnbegun).toBe(false);
});

it("is known by what the model writes, for all agents and in all conversations", async () => {
  const models = open("deepseek-r1");
  const habit = async (of: Models) => (await find(of, "deepseek-r1")).habit;
  (await habit(models))?.saw(false);
  expect((await habit(models.of("other")))?.mayEndUnbegun).toBe(false);
  (await habit(models.of("other")))?.saw(true);
  (await habit(models))?.saw(false);
  expect((await habit(models))?.mayEndUnbegun).toBe(true);
});
