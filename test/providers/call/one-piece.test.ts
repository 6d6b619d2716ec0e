import { afterEach, beforeEach, expect, it } from "vitest";
import { callModel, isTorn } from "../../../src/providers/call.ts";
import { createModels } from "../../../src/providers/catalog.ts";
import { startFakeModel, type FakeModel } from "../../fakes/model.ts";

let fake: FakeModel;
beforeEach(async () => {
  fake = await startFakeModel();
});
afterEach(() => fake.close());

/** What becomes of a body that is JSON although a stream was asked for. */
async function answerOf(body: string) {
  const api = "openai-completions";
  fake.answer(() => ({ raw: { status: 200, headers: { "content-type": "application/json" }, body } }));
  const models = createModels({
    providers: { peer: { baseUrl: fake.url, api, apiKey: "sk-0123456789", models: [{ id: "peer-1" }] } },
    env: {},
    probeLocal: false,
  });
  const found = await models.find({ provider: "peer", id: "peer-1" });
  if ("missing" in found) throw new Error(found.missing);
  const ask = { messages: [{ role: "user" as const, content: "hello", timestamp: 1 }] };
  return callModel(found, ask, { origin: { cause: "probe" } }).result();
}

const whole = (message: object, finish_reason: string) => ({
  id: "one",
  object: "chat.completion",
  created: 1,
  model: "peer-1",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
});

it("an answer of a server that cannot stream is read: its text, its calls, its counts", async () => {
  const text = await answerOf(JSON.stringify(whole({ content: "Grüße 👋\nagain" }, "stop"), null, 2));
  expect(text).toMatchObject({ stopReason: "stop", content: [{ type: "text", text: "Grüße 👋\nagain" }] });
  expect(text.usage).toMatchObject({ input: 7, output: 3 });
  const call = (id: string, path: string) => ({
    id,
    type: "function",
    function: { name: "read", arguments: JSON.stringify({ path }) },
  });
  const tool_calls = [call("a", "x.txt"), call("b", "y.txt")];
  const { content, stopReason } = await answerOf(JSON.stringify(whole({ content: null, tool_calls }, "tool_calls")));
  const calls = content.flatMap((block) => (block.type === "toolCall" ? [block.arguments] : []));
  expect([stopReason, calls, calls.map(isTorn)]).toEqual([
    "toolUse",
    [{ path: "x.txt" }, { path: "y.txt" }],
    [false, false],
  ]);
});

it("JSON that is no answer brings none, and an error is told as one", async () => {
  const refused = await answerOf(JSON.stringify({ error: { message: "the rate limit is reached", code: 429 } }));
  expect(refused).toMatchObject({
    stopReason: "error",
    content: [],
    errorMessage: expect.stringContaining("rate limit"),
  });
  const torn = JSON.stringify(whole({ content: "half" }, "stop")).slice(0, -9);
  expect(await answerOf(torn)).toMatchObject({ content: [] });
});
