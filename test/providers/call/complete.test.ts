import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { callModel } from "../../../src/providers/call.ts";
import { createModels, type ModelHandle } from "../../../src/providers/catalog.ts";
import { startFakeBedrock, type BedrockEnding } from "../../fakes/bedrock.ts";
import { type Complete, startFakeModel, type FakeModel } from "../../fakes/model.ts";
import { eventsOf, openRunFixture } from "../../kit/run.ts";
import { askEach, askServer } from "../peer.ts";
import { until } from "../../kit/until.ts";
import { APIS, REFS, wire } from "../../harness/wire/wires.ts";

const ENDINGS: readonly Complete[] = [
  "open",
  "open_unmarked",
  "late",
  "reset_after",
  "reset_unmarked",
  "garbage",
  "late_counts",
];
/** Google's API has no mark after which garbage could follow. */
const endingsOf = (api: string) => ENDINGS.filter((ending) => api !== "google-generative-ai" || ending !== "garbage");
const ASK = { messages: [{ role: "user" as const, content: "hello", timestamp: 1 }] };
/** Far longer than a test takes: whoever waits for the end of the body fails by it. */
const IDLE = { idleMs: 120_000, origin: { cause: "probe" } as const };

async function handleOf(api: string, baseUrl: string): Promise<ModelHandle> {
  const models = createModels({
    providers: { peer: { baseUrl, api, apiKey: "sk-0123456789", models: [{ id: "peer-1" }] } },
    env: {},
    probeLocal: false,
  });
  const handle = await models.find({ provider: "peer", id: "peer-1" });
  if ("missing" in handle) throw new Error(handle.missing);
  return handle;
}

async function answerOf(handle: ModelHandle) {
  const message = await callModel(handle, ASK, IDLE).result();
  const text = message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  return { text, stop: message.stopReason, error: message.errorMessage, tokens: message.usage.totalTokens };
}

let fake: FakeModel;
beforeEach(async () => {
  fake = await startFakeModel();
});
afterEach(() => fake.close());

describe.each(APIS)("an answer of %s that is complete", (api) => {
  it.each(endingsOf(api))("is taken, whatever becomes of the connection: %s", async (ending) => {
    const late = Promise.withResolvers<void>();
    fake.answer(() => ({ text: "The full answer.", ending, bodyUntil: late.promise }));
    const answer = await answerOf(await handleOf(api, fake.urlFor(api)));
    late.resolve();
    expect(answer).toMatchObject({ text: "The full answer.", stop: "stop", error: undefined });
    const counts = ending !== "reset_unmarked" && ending !== "open_unmarked";
    if (counts) expect(answer.tokens).toBeGreaterThan(0);
    expect(fake.calls).toHaveLength(1);
    await until(() => fake.open === 0);
  });

  it.each(endingsOf(api))("and calls a tool is taken: %s", async (ending) => {
    const late = Promise.withResolvers<void>();
    const args = { text: 'a "finish_reason":"stop" and "type":"message_stop" in the arguments' };
    fake.answer(() => ({ text: "", tool: "send", args, ending, bodyUntil: late.promise }));
    const message = await callModel(await handleOf(api, fake.urlFor(api)), ASK, IDLE).result();
    late.resolve();
    expect(message.stopReason).toBe("toolUse");
    expect(message.content).toMatchObject([{ type: "toolCall", name: "send", arguments: args }]);
    expect(fake.calls).toHaveLength(1);
  });
});

describe("an answer that quotes how answers end", () => {
  it.each(APIS)("of %s is not ended by that", async (api) => {
    const text =
      '{"finish_reason":"stop"} data: [DONE] {"type":"message_stop"} {"type":"response.completed"} "finishReason":"STOP" and more';
    fake.answer(() => ({ text, everyMs: 5 }));
    expect(await answerOf(await handleOf(api, fake.urlFor(api)))).toMatchObject({ text, stop: "stop" });
  });
});

describe("a finish", () => {
  it("that is in every event ends nothing before the text has ended", async () => {
    const chunk = (content: string) =>
      `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content }, finish_reason: "stop" }] })}\n\n`;
    const body = [..."abcdefgh"].map(chunk).join("") + "data: [DONE]\n\n";
    fake.answer(() => ({ raw: { status: 200, headers: { "content-type": "text/event-stream" }, body } }));
    const handle = await handleOf("openai-completions", fake.urlFor("openai-completions"));
    expect(await answerOf(handle)).toMatchObject({ text: "abcdefgh", stop: "stop" });
  });

  it("lets the connection be used again when the body ends", async () => {
    const handle = await handleOf("openai-completions", fake.urlFor("openai-completions"));
    for (let at = 0; at < 6; at += 1) {
      expect((await answerOf(handle)).stop).toBe("stop");
      await until(() => fake.open === 0);
    }
    // A call may begin before the body of the one before it has ended.
    expect(fake.connections).toBeLessThan(4);
  });
});

describe("an answer of a client with a process of its own", () => {
  const FULL = { stopReason: "stop", content: [{ type: "text", text: "The full answer." }] };

  it("of Mistral is taken, whatever becomes of the connection", async () => {
    const endings: readonly Complete[] = [
      "open",
      "open_unmarked",
      "reset_after",
      "reset_unmarked",
      "garbage",
      "late_counts",
    ];
    const replies = endings.map((ending) => ({ text: "The full answer.", ending }));
    const answers = await askEach("mistral-conversations", replies);
    expect(answers).toEqual(endings.map(() => expect.objectContaining(FULL)));
  });

  it.each<BedrockEnding>(["whole", "open", "open_uncounted", "reset_uncounted"])(
    "of Amazon Bedrock is taken: %s",
    async (ending) => {
      const bedrock = await startFakeBedrock("The full answer.", ending);
      const [answer] = await askServer("bedrock-converse-stream", bedrock.url);
      await bedrock.close();
      expect(answer).toMatchObject(FULL);
      expect(bedrock.calls).toHaveLength(1);
    },
  );
});

describe("a run whose model leaves the connection open", () => {
  it.each(APIS)("of %s asks once and answers once", async (api) => {
    const fixture = await openRunFixture();
    fixture.model.answer(() => ({ text: "The full answer.", ending: "open" }));
    const { models } = wire(fixture.model);
    const events = await eventsOf(fixture.start({ models, candidates: [REFS[api]] }).stream);
    expect(events.flatMap((event) => (event.type === "message_end" ? [event.text] : []))).toEqual(["The full answer."]);
    expect(events.at(-1)).toMatchObject({ result: { kind: "replied" } });
    expect(fixture.model.calls).toHaveLength(1);
    await fixture.close();
  });
});
