import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { callModel, isTorn } from "../../src/providers/call.ts";
import { createModels, type ModelHandle } from "../../src/providers/catalog.ts";
import { startFakeModel, type FakeModel, type ModelReply } from "../fakes/model.ts";

let fake: FakeModel;
beforeEach(async () => {
  fake = await startFakeModel();
});
afterEach(() => fake.close());

async function handleFor(api: string): Promise<ModelHandle> {
  const models = createModels({
    providers: { peer: { baseUrl: fake.urlFor(api), api, apiKey: "sk-0123456789", models: [{ id: "peer-1" }] } },
    env: {},
    probeLocal: false,
  });
  const found = await models.find({ provider: "peer", id: "peer-1" });
  if ("missing" in found) throw new Error(found.missing);
  return found;
}

/** The calls of one answer: whether each is torn, and its arguments. */
async function callsOf(api: string, reply: ModelReply) {
  fake.answer(() => reply);
  const ask = { messages: [{ role: "user" as const, content: "write it", timestamp: 1 }] };
  const message = await callModel(await handleFor(api), ask, { origin: { cause: "probe" } }).result();
  const calls = message.content.flatMap((block) => (block.type === "toolCall" ? [block.arguments] : []));
  return { stop: message.stopReason, calls, torn: calls.map(isTorn) };
}

/** Gemini sends the arguments as an object of its event, so a call of it cannot be cut. */
const APIS = ["openai-completions", "openai-responses", "anthropic-messages"];

describe.each(APIS)("a call of %s that ends as if it were whole", (api) => {
  it("is torn wherever its arguments are cut", { timeout: 60_000 }, async () => {
    const args = fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue(), { minKeys: 1, maxKeys: 3 });
    await fc.assert(
      fc.asyncProperty(args, fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), async (given, share) => {
        const length = JSON.stringify(given).length;
        const argsCut = 1 + Math.floor(share * (length - 1));
        const { torn } = await callsOf(api, { text: "", tool: "write", args: given, argsCut });
        expect(torn).toEqual([true]);
      }),
      { numRuns: 60, examples: [[{ path: "a.txt", content: "abc" }, 0.99]] },
    );
  });

  it("is whole when nothing is cut", async () => {
    const args = { path: "a.txt", content: "line\n“two” \\ end" };
    expect(await callsOf(api, { text: "", tool: "write", args })).toEqual({
      stop: "toolUse",
      calls: [args],
      torn: [false],
    });
  });

  it("may have no arguments at all", async () => {
    expect(await callsOf(api, { text: "", tool: "ls", args: {}, argsCut: 0 })).toMatchObject({
      calls: [{}],
      torn: [false],
    });
  });
});

describe("arguments of small models", () => {
  const chunk = (delta: object, reason: string | null = null) =>
    `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  const saying = (text: string): ModelReply => ({
    raw: {
      status: 200,
      headers: { "content-type": "text/event-stream" },
      body:
        chunk({
          tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "write", arguments: text } }],
        }) +
        chunk({}, "tool_calls") +
        "data: [DONE]\n\n",
    },
  });

  it.each([
    ['{"text":"two\nlines"}', { text: "two\nlines" }],
    ['{"text":"a\\d"}', { text: "a\\d" }],
    ['{"text":"a"} \n', { text: "a" }],
    [" \n", {}],
    ['{"text":"a,}",}', { text: "a,}" }],
    ['{"list":["a",],\n}', { list: ["a"] }],
    ['```json\n{"text":"```\\n,]"}\n```', { text: "```\n,]" }],
  ])("are taken with what the SDK repairs: %j", async (text, args) => {
    expect(await callsOf("openai-completions", saying(text))).toEqual({
      stop: "toolUse",
      calls: [args],
      torn: [false],
    });
  });

  it.each(['{"text":"a"}{"text":"b"}', '{"text":rm}', '{"text":"a",', '```json\n{"text":"a",', '{"text":"a",,}'])(
    "are torn when they are no JSON: %j",
    async (text) => {
      expect(await callsOf("openai-completions", saying(text))).toMatchObject({ torn: [true] });
    },
  );
});

describe("an imitation of the Responses API that sends calls in one piece", () => {
  const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const saying = (text: string): ModelReply => {
    const item = { type: "function_call", id: "fc_1", call_id: "call_1", name: "write", arguments: text };
    const response = { id: "r", object: "response", status: "completed", output: [item] };
    const body =
      event("response.created", { response: { ...response, status: "in_progress", output: [] } }) +
      event("response.output_item.added", { output_index: 0, item: { ...item, arguments: "" } }) +
      event("response.output_item.done", { output_index: 0, item }) +
      event("response.completed", { response });
    return { raw: { status: 200, headers: { "content-type": "text/event-stream" }, body } };
  };

  it("is judged by what was on the wire", async () => {
    expect(await callsOf("openai-responses", saying('{"text":"abc"}'))).toMatchObject({ torn: [false] });
    expect(await callsOf("openai-responses", saying('{"text":"abc'))).toMatchObject({ torn: [true] });
  });
});
