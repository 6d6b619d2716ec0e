import { describe } from "vitest";
import { test, type World } from "../../kit/gateway/world.ts";

const config = (world: World, more: object) => ({
  commands: { ownerAllowFrom: ["1001"] },
  models: {
    providers: {
      fake: {
        baseUrl: world.model.url,
        apiKey: "x",
        api: "openai-completions",
        models: ["fake-1", "small"].map((id) => ({ id, contextWindow: 100_000, maxTokens: 1000 })),
      },
    },
  },
  agents: { defaults: { model: { primary: "fake/fake-1" } } },
  ...more,
});

const sorting = (world: World) =>
  world.model.answer((call) => {
    if (call.model === "small") return { text: '```json\n{"kind": "bill"}\n```' };
    if (call.isAfterTool) return { text: `It is a ${/"kind": "(\w+)"/.exec(call.toolText)?.[1] ?? "?"}.` };
    const offered = call.tools.some((tool) => tool.function.name === "llm-task");
    return offered
      ? { tool: "llm-task", args: { prompt: "Which kind of letter?", input: "You owe $5" } }
      : { text: "I have no such tool." };
  });

describe.concurrent("a task for a model", () => {
  test("is done by the model of the config, without tools, where a list names the tool", async ({ world, expect }) => {
    await world.start(
      config(world, {
        tools: { alsoAllow: ["llm-task"] },
        plugins: {
          entries: { "llm-task": { config: { defaultModel: "fake/small", maxTokens: 77, timeoutMs: 20_000 } } },
        },
      }),
    );
    sorting(world);
    world.telegram.say("sort this letter");
    await world.told("It is a bill.");
    const task = world.model.calls.find(({ model }) => model === "small");
    expect(task?.tools).toEqual([]);
    expect(task?.maxTokens).toBe(77);
    expect(task?.said).toContain("You owe $5");
  });

  test("is not there by itself", async ({ world }) => {
    await world.start(config(world, {}));
    sorting(world);
    world.telegram.say("sort this letter");
    await world.told("I have no such tool.");
  });
});
