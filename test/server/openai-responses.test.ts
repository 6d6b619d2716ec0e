import OpenAI from "openai";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../kit/dispatch.ts";
import { manualClock } from "../kit/clock.ts";
import { ends, says } from "../kit/server/scripted-chat.ts";
import { startTestServer, TOKEN, type TestServer } from "../kit/server/server.ts";

/** The Responses API, asked by the official client; the runs pass the real dispatch and a model of the test. */
let fixture: DispatchFixture;
let gateway: TestServer;
let boot: Boot;
let client: OpenAI;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.systemPrompt = async ({ extra = "" }) => ({ text: `You are a test. ${extra}`, parts: [] });
  boot = await fixture.boot();
  gateway = await startTestServer({ ports: { chat: boot.chat, sessions: boot.sessions } });
  client = new OpenAI({ baseURL: `${gateway.http}/v1`, apiKey: TOKEN, maxRetries: 0 });
});
afterEach(async () => {
  await gateway.server.close(200);
  await fixture.close();
});

const lastCall = () => {
  const call = fixture.model.calls.at(-1);
  if (!call) throw new Error("no model was asked");
  return call;
};
const roles = () => lastCall().messages.map(({ role }) => role);
const weather = {
  type: "function" as const,
  name: "weather",
  description: "Tells the weather.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  strict: false,
};

test("a response has the answer and its tokens", async () => {
  const response = await client.responses.create({ model: "openclaw", instructions: "Be brief.", input: "hi" });
  expect(response.output_text).toBe("echo: hi");
  expect(response).toMatchObject({ object: "response", status: "completed", error: null, instructions: "Be brief." });
  expect(response.usage?.total_tokens).toBeGreaterThan(0);
  expect(lastCall().system).toContain("Be brief.");
});

test("a stream tells how the response comes about, in the order of the API", async () => {
  fixture.model.answer(() => ({ text: "one two" }));
  const stream = await client.responses.create({ model: "openclaw", input: "hi", stream: true });
  const types: string[] = [];
  const numbers: number[] = [];
  let text = "";
  for await (const event of stream) {
    if (types.at(-1) !== event.type) types.push(event.type);
    numbers.push(event.sequence_number);
    if (event.type === "response.output_text.delta") text += event.delta;
    if (event.type === "response.completed") expect(event.response.output_text ?? text).toBe(text);
  }
  expect(types).toEqual([
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
  ]);
  expect(numbers).toEqual(numbers.map((_, at) => at));
  expect(text).toBe("one two");
});

test("a call goes back to the client as an item, and its output continues the response", async () => {
  fixture.model.answer((call) =>
    call.isAfterTool ? { text: `It is ${call.toolText}.` } : { tool: "weather", args: { city: "Oslo" } },
  );
  const first = await client.responses.create({ model: "openclaw", input: "weather?", tools: [weather] });
  const [call] = first.output;
  if (call?.type !== "function_call") throw new Error("no call");
  expect(call).toMatchObject({ name: "weather", arguments: '{"city":"Oslo"}', status: "completed" });
  const output = { type: "function_call_output" as const, call_id: call.call_id, output: "rainy" };
  const more = { model: "openclaw", tools: [weather], previous_response_id: first.id };
  const second = await client.responses.create({ ...more, input: [output] });
  expect(second.output_text).toBe("It is rainy.");
  expect(second.previous_response_id).toBe(first.id);
  expect(roles()).toEqual(["system", "user", "assistant", "tool"]);
  const third = await client.responses.create({ ...more, previous_response_id: second.id, input: "thanks" });
  expect(third.status).toBe("completed");
  expect(roles()).toEqual(["system", "user", "assistant", "tool", "assistant", "user"]);
});

test("a client that brings all items itself continues too, and items of other providers are passed over", async () => {
  fixture.model.answer((call) => ({ text: `It is ${call.toolText}.` }));
  const response = await client.responses.create({
    model: "openclaw",
    tools: [weather],
    input: [
      { role: "developer", content: "Be brief." },
      { role: "user", content: [{ type: "input_text", text: "weather?" }] },
      { type: "reasoning", id: "rs_1", summary: [] },
      { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"city":"Oslo"}' },
      { type: "function_call_output", call_id: "call_1", output: "rainy" },
    ],
  });
  expect(response.output_text).toBe("It is rainy.");
  expect(roles()).toEqual(["system", "user", "assistant", "tool"]);
});

test("a streamed call has the events of a function call", async () => {
  fixture.model.answer(() => ({ tool: "weather", args: { city: "Oslo" } }));
  const stream = client.responses.stream({ model: "openclaw", input: "weather?", tools: [weather] });
  const types = new Set<string>();
  for await (const event of stream) types.add(event.type);
  expect([...types]).toEqual([
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.output_item.done",
    "response.completed",
  ]);
  const final = await stream.finalResponse();
  expect(final.output).toMatchObject([{ type: "function_call", name: "weather" }]);
});

test("an answer that its limit cut is incomplete", async () => {
  fixture.model.answer(() => ({ text: "half an", reason: "length" }));
  const response = await client.responses.create({ model: "openclaw", input: "hi", max_output_tokens: 5 });
  expect(response).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
});

test("a JSON schema is the form of the answer", async () => {
  fixture.model.answer(() => ({ text: '```json\n{"n": 1}\n```' }));
  const format = {
    type: "json_schema" as const,
    name: "number",
    schema: { type: "object", properties: { n: { type: "number" } } },
  };
  const response = await client.responses.create({ model: "openclaw", input: "hi", text: { format } });
  expect(response.output_text).toBe('{"n": 1}');
});

test("a response of a conversation is continued in it", async () => {
  const headers = { "x-openclaw-session-key": "notes" };
  const first = await client.responses.create({ model: "openclaw", input: "one" }, { headers });
  await client.responses.create({ model: "openclaw", input: "two", previous_response_id: first.id });
  expect(roles()).toEqual(["system", "user", "assistant", "user"]);
  expect(boot.sessions.list().map(({ key }) => key)).toEqual(["notes"]);
});

test.each([
  ["of another agent", { model: "openclaw/coder" }, {}],
  ["of another conversation", { model: "openclaw" }, { "x-openclaw-session-key": "other" }],
])("a response %s cannot be continued", async (_name, asked, headers) => {
  const first = await client.responses.create({ model: "openclaw", input: "one" });
  const again = client.responses.create({ ...asked, input: "two", previous_response_id: first.id }, { headers });
  await expect(again).rejects.toMatchObject({ status: 400, param: "previous_response_id" });
});

test("a response that is unknown, not stored or too old cannot be continued", async () => {
  const clock = manualClock();
  const own = await startTestServer({ ports: { clock } });
  own.chat.script = (run) => run.tell(...says("fine"), ends());
  const asking = new OpenAI({ baseURL: `${own.http}/v1`, apiKey: TOKEN, maxRetries: 0 });
  const ask = (previous_response_id?: string, store = true) =>
    asking.responses.create({
      model: "openclaw",
      input: "x",
      store,
      ...(previous_response_id && { previous_response_id }),
    });
  const gone = { status: 400, code: "previous_response_not_found" };
  await expect(ask("resp_1")).rejects.toMatchObject(gone);
  await expect(ask((await ask(undefined, false)).id)).rejects.toMatchObject(gone);
  const { id } = await ask();
  await ask(id);
  clock.pass(60 * 60_000);
  await expect(ask(id)).rejects.toMatchObject(gone);
  await own.server.close(100);
});

test.each([
  ["an unknown item", { input: [{ type: "web_search_call", id: "x" }] }, "input"],
  ["a tool of the provider", { input: "x", tools: [{ type: "web_search" }] }, "tools"],
  ["no input", { input: [] }, "input"],
  ["an answer last", { input: [{ role: "assistant", content: "x" }] }, "messages"],
])("%s is refused by its name", async (_name, asked, param) => {
  const answer = await fetch(`${gateway.http}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "openclaw", ...asked }),
  });
  expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param } }]);
});

test("a run that fails in mid-stream ends the stream as failed", async () => {
  const own = await startTestServer();
  own.chat.script = (run) =>
    run.tell(...says("Half"), ends({ kind: "failed", failure: { kind: "network", message: "cable cut" } }));
  const answer = await fetch(`${own.http}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "openclaw", input: "x", stream: true }),
  });
  const text = await answer.text();
  expect(text).toContain("event: response.failed\n");
  expect(text).toContain("cable cut");
  await own.server.close(100);
});
