import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../kit/dispatch.ts";
import { startTestServer, TOKEN, type TestServer } from "../kit/server/server.ts";
import { makeTool } from "../kit/tools.ts";
import { textResult } from "../../src/tools/define.ts";

/** Requests that pass the real dispatch and a model of the test. */
let fixture: DispatchFixture;
let gateway: TestServer;
let boot: Boot;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.systemPrompt = async ({ extra = "" }) => ({ text: `You are a test. ${extra}`, parts: [] });
  boot = await fixture.boot();
  gateway = await startTestServer({ ports: { chat: boot.chat, sessions: boot.sessions } });
});
afterEach(async () => {
  await gateway.server.close(200);
  await fixture.close();
});

const completion = z.looseObject({
  choices: z.tuple([
    z.looseObject({
      finish_reason: z.string(),
      message: z.looseObject({
        content: z.string().nullable(),
        tool_calls: z
          .array(
            z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) }),
          )
          .optional(),
      }),
    }),
  ]),
});

async function ask(body: Record<string, unknown>, headers: Record<string, string> = {}) {
  const answer = await fetch(`${gateway.http}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "openclaw", ...body }),
  });
  const read: unknown = await answer.json();
  expect([answer.status, read]).toEqual([200, expect.anything()]);
  const [{ message, finish_reason: finish }] = completion.parse(read).choices;
  return { ...message, finish };
}

const user = (content: string) => ({ role: "user", content });
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ type: "function", function: { name: "weather", description: "Tells the weather.", parameters } }];
const lastCall = () => {
  const call = fixture.model.calls.at(-1);
  if (!call) throw new Error("no model was asked");
  return call;
};
const namesIn = () => lastCall().tools.map(({ function: { name } }) => name);
const roles = () => lastCall().messages.map(({ role }) => role);

const PLACES: readonly (readonly [string, Record<string, string>])[] = [
  ["a request of its own", {}],
  ["a conversation", { "x-openclaw-session-key": "notes" }],
];

test.each(PLACES)(
  "in %s the client makes the calls of its tools, and the run goes on with their results",
  async (_, headers) => {
    fixture.tools.push(makeTool("clock", async () => textResult("noon")));
    fixture.model.answer((call) =>
      call.isAfterTool
        ? { text: `It is ${call.toolText}.` }
        : { text: "Let me look.", tool: "weather", args: { city: "Oslo" } },
    );
    const first = await ask({ messages: [user("weather?")], tools }, headers);
    expect(first).toMatchObject({
      finish: "tool_calls",
      content: "Let me look.",
      tool_calls: [{ function: { name: "weather", arguments: '{"city":"Oslo"}' } }],
    });
    expect(fixture.model.calls).toHaveLength(1);
    expect(namesIn()).toEqual(["clock", "weather"]);
    const { finish: _finish, ...said } = first;
    const result = { role: "tool", tool_call_id: first.tool_calls?.[0]?.id, content: "rainy" };
    const second = await ask({ messages: [user("weather?"), { role: "assistant", ...said }, result], tools }, headers);
    expect(second).toMatchObject({ finish: "stop", content: "It is rainy." });
    expect(roles()).toEqual(["system", "user", "assistant", "tool"]);
  },
);

test("the transcript has each call of the client's with its result once, and an answer in between adds nothing", async () => {
  fixture.model.answer((call) => (call.isAfterTool ? { text: "fine" } : { tool: "weather", args: { city: "Oslo" } }));
  const headers = { "x-openclaw-session-key": "notes" };
  const first = await ask({ messages: [user("weather?")], tools }, headers);
  const [call] = first.tool_calls ?? [];
  const result = { role: "tool", tool_call_id: call?.id, content: "rainy" };
  await ask({ messages: [user("weather?"), { role: "assistant", ...first }, result], tools }, headers);
  const { entries } = await boot.sessions.history(boot.sessions.list()[0]!.key, 50);
  const kept = entries.flatMap((entry) => (entry.type === "message" ? [entry.message.role] : []));
  expect(kept).toEqual(["user", "assistant", "toolResult", "assistant"]);
});

test("a call that the client never answers does not spoil the conversation", async () => {
  fixture.model.answer((call) =>
    call.said.includes("never mind") ? { text: "as you like" } : { tool: "weather", args: { city: "Oslo" } },
  );
  const headers = { "x-openclaw-session-key": "notes" };
  await ask({ messages: [user("weather?")], tools }, headers);
  expect(await ask({ messages: [user("never mind")], tools }, headers)).toMatchObject({ content: "as you like" });
  expect(roles()).toEqual(["system", "user", "assistant", "tool", "user"]);
});

test("a request with results that is repeated is answered again", async () => {
  fixture.model.answer((call) =>
    call.isAfterTool || call.said.includes("gave") ? { text: "fine" } : { tool: "weather", args: { city: "Oslo" } },
  );
  const headers = { "x-openclaw-session-key": "notes" };
  const first = await ask({ messages: [user("weather?")], tools }, headers);
  const result = { role: "tool", tool_call_id: first.tool_calls?.[0]?.id, content: "rainy" };
  const messages = [user("weather?"), { role: "assistant", ...first }, result];
  for (const _ of [1, 2]) expect(await ask({ messages, tools }, headers)).toMatchObject({ content: "fine" });
  expect(lastCall().said).toContain("rainy");
});

test("a result without its call is refused where nothing else has the call", async () => {
  const answer = await fetch(`${gateway.http}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "openclaw",
      messages: [user("x"), { role: "tool", tool_call_id: "call_9", content: "rainy" }],
    }),
  });
  expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param: "messages" } }]);
});

test("a turn that ended with a call of the client's is not run again after a crash", async () => {
  const held = Promise.withResolvers<void>();
  fixture.model.answer((call) => (call.isAfterTool ? { text: "fine" } : { tool: "weather", args: { city: "Oslo" } }));
  const headers = { "x-openclaw-session-key": "notes" };
  const { inbox } = boot.journal;
  const { recordTurn } = inbox;
  // The process ends before the outcome is written.
  inbox.recordTurn = async (...given) => {
    await held.promise;
    return recordTurn.apply(inbox, given);
  };
  const first = await ask({ messages: [user("weather?")], tools }, headers);
  await boot.stop();
  const again = await fixture.boot();
  await again.recover();
  const [call] = first.tool_calls ?? [];
  const own = await startTestServer({ ports: { chat: again.chat, sessions: again.sessions } });
  const answer = await fetch(`${own.http}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({
      model: "openclaw",
      tools,
      messages: [
        user("weather?"),
        { role: "assistant", ...first },
        { role: "tool", tool_call_id: call?.id, content: "rainy" },
      ],
    }),
  });
  expect(await answer.json()).toMatchObject({ choices: [{ message: { content: "fine" } }] });
  expect(fixture.model.calls).toHaveLength(2);
  held.resolve();
  await own.server.close(100);
});

test("the agent's own calls of the same answer are made before the client's go back", async () => {
  const ran: string[] = [];
  fixture.tools.push(makeTool("clock", async () => (ran.push("clock"), textResult("noon"))));
  const both = [
    { index: 0, id: "call_a", type: "function", function: { name: "clock", arguments: "{}" } },
    { index: 1, id: "call_b", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } },
  ];
  const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
  const lines = [
    { ...chunk, choices: [{ index: 0, delta: { role: "assistant", tool_calls: both }, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
  ].map((line) => `data: ${JSON.stringify(line)}\n\n`);
  const body = `${lines.join("")}data: [DONE]\n\n`;
  fixture.model.answer((call) =>
    call.isAfterTool
      ? { text: "done" }
      : { raw: { status: 200, headers: { "content-type": "text/event-stream" }, body } },
  );
  const first = await ask({ messages: [user("both")], tools }, { "x-openclaw-session-key": "notes" });
  expect(ran).toEqual(["clock"]);
  expect(first.tool_calls).toMatchObject([{ id: "call_b" }]);
  expect(fixture.model.calls).toHaveLength(1);
  const result = { role: "tool", tool_call_id: "call_b", content: "rainy" };
  await ask(
    { messages: [user("both"), { role: "assistant", ...first }, result], tools },
    { "x-openclaw-session-key": "notes" },
  );
  expect(roles()).toEqual(["system", "user", "assistant", "tool", "tool"]);
});

test("arguments that do not fit the client's schema are the model's to mend", async () => {
  fixture.model.answer((_call, number) => ({ tool: "weather", args: number === 1 ? {} : { city: "Oslo" } }));
  const first = await ask({ messages: [user("weather?")], tools });
  expect(first.tool_calls).toMatchObject([{ function: { arguments: '{"city":"Oslo"}' } }]);
  expect(fixture.model.calls).toHaveLength(2);
});

test.each([
  ["none", ["clock"], undefined],
  ["auto", ["clock", "weather"], undefined],
  ["required", ["weather"], "required"],
  [
    { type: "function", function: { name: "weather" } },
    ["weather"],
    { type: "function", function: { name: "weather" } },
  ],
])("the tool choice %j offers %j", async (choice, names, sent) => {
  fixture.tools.push(makeTool("clock", async () => textResult("noon")));
  await ask({ messages: [user("x")], tools, tool_choice: choice });
  expect(namesIn()).toEqual(names);
  expect(lastCall().body).toMatchObject(sent === undefined ? {} : { tool_choice: sent });
  expect("tool_choice" in lastCall().body).toBe(sent !== undefined);
});

test("a client's tool takes the name of the agent's own", async () => {
  const ran: string[] = [];
  fixture.tools.push(makeTool("weather", async () => (ran.push("own"), textResult("sun"))));
  fixture.model.answer(() => ({ tool: "weather", args: { city: "Oslo" } }));
  expect(await ask({ messages: [user("x")], tools })).toMatchObject({ finish: "tool_calls" });
  expect(ran).toEqual([]);
});

test.each(PLACES)("in %s the parameters of the answer and the system text reach the model", async (_, headers) => {
  await ask(
    {
      messages: [{ role: "system", content: "Speak like a pirate." }, user("x")],
      temperature: 0.2,
      top_p: 0.9,
      max_tokens: 77,
      stop: ["END"],
      seed: 7,
      frequency_penalty: 0.1,
      presence_penalty: -0.1,
    },
    headers,
  );
  expect(lastCall().system).toContain("Speak like a pirate.");
  expect(lastCall().body).toMatchObject({
    temperature: 0.2,
    top_p: 0.9,
    stop: ["END"],
    seed: 7,
    frequency_penalty: 0.1,
    presence_penalty: -0.1,
  });
  expect(lastCall().maxTokens).toBe(77);
});

const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };

test.each(PLACES)("in %s an answer of another form than the schema is written again", async (_, headers) => {
  fixture.model.answer((_call, number) => ({ text: number === 1 ? '{"n": "one"}' : '```json\n{"n": 1}\n```' }));
  const format = { type: "json_schema", json_schema: { name: "number", schema } };
  expect(await ask({ messages: [user("x")], response_format: format }, headers)).toMatchObject({ content: '{"n": 1}' });
  expect(fixture.model.calls[0]?.system).toContain(JSON.stringify(schema));
  expect(lastCall().said).toContain("n: ");
  expect(fixture.model.calls).toHaveLength(2);
});

test("two requests of one conversation are two turns", async () => {
  const held = Promise.withResolvers<void>();
  fixture.model.answer(async (call) => {
    if (call.said.includes("first")) await held.promise;
    return { text: call.said.includes("second") ? "two" : "one" };
  });
  const headers = { "x-openclaw-session-key": "notes" };
  const first = ask({ messages: [user("first")] }, headers);
  await fixture.model.called(1);
  const second = ask({ messages: [user("second")] }, headers);
  held.resolve();
  expect([(await first).content, (await second).content]).toEqual(["one", "two"]);
});
