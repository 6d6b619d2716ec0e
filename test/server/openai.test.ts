import { once } from "node:events";
import { type IncomingMessage, request as startRequest } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startTestServer, TOKEN, type TestServer } from "../kit/server/server.ts";
import { manualClock } from "../kit/clock.ts";
import { ends, says } from "../kit/server/scripted-chat.ts";

let gateway: TestServer;
beforeAll(async () => {
  gateway = await startTestServer();
});
afterAll(() => gateway.server.close(200));

const post = (body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal) =>
  fetch(`${gateway.http}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });

const user = (content: unknown) => ({ role: "user", content });
const PNG = "data:image/png;base64,aGVsbG8=";

test("without the token nothing is answered", async () => {
  const answer = await post({ model: "openclaw", messages: [user("hi")] }, { authorization: "" });
  expect(answer.status).toBe(401);
  expect(await answer.json()).toMatchObject({ error: { type: "invalid_request_error", code: "invalid_api_key" } });
});

test.each([
  ["no messages", { model: "openclaw", messages: [] }, 400, "invalid_request"],
  [
    "an assistant's turn last",
    { model: "openclaw", messages: [{ role: "assistant", content: "x" }] },
    400,
    "invalid_request",
  ],
  [
    "an image to be fetched",
    { model: "openclaw", messages: [user([{ type: "image_url", image_url: { url: "http://10.0.0.1/" } }])] },
    400,
    "invalid_request",
  ],
  ["another's model", { model: "gpt-4", messages: [user("x")] }, 404, "model_not_found"],
  ["an unknown agent", { model: "openclaw/nobody", messages: [user("x")] }, 404, "model_not_found"],
  ["no JSON", "{", 400, "invalid_request"],
])("%s is refused in OpenAI's shape", async (_name, body, status, code) => {
  const answer = await post(body);
  expect(answer.status).toBe(status);
  expect(await answer.json()).toMatchObject({ error: { message: expect.any(String), code } });
});

test.each([
  ["openclaw", {}, "main"],
  ["openclaw/coder", {}, "coder"],
  ["openclaw:coder", {}, "coder"],
  ["openclaw", { "x-openclaw-agent-id": "coder" }, "coder"],
])("the model %s with %o is the agent %s", async (model, headers, agent) => {
  await post({ model, messages: [user("x")] }, headers);
  expect(gateway.chat.requests.at(-1)).toMatchObject({ agentId: agent });
});

test("the messages seed a stateless run", async () => {
  await post({
    model: "openclaw",
    messages: [
      { role: "system", content: "One." },
      { role: "developer", content: [{ type: "text", text: "Two." }] },
      user("look it up"),
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "find", arguments: '{"q":1}' } }],
      },
      { role: "tool", tool_call_id: "c1", content: "found" },
      user([
        { type: "text", text: "and this?" },
        { type: "image_url", image_url: { url: PNG } },
      ]),
    ],
  });
  expect(gateway.chat.requests.at(-1)).toMatchObject({
    system: "One.\n\nTwo.",
    messages: [
      { role: "user", content: "look it up" },
      {
        role: "assistant",
        content: [{ type: "toolCall", id: "c1", name: "find", arguments: { q: 1 } }],
        stopReason: "toolUse",
      },
      { role: "toolResult", toolCallId: "c1", toolName: "find", content: [{ type: "text", text: "found" }] },
      {
        role: "user",
        content: [
          { type: "text", text: "and this?" },
          { type: "image", data: "aGVsbG8=", mimeType: "image/png" },
        ],
      },
    ],
  });
});

test("a user names a session that remembers", async () => {
  const answer = await post({
    model: "openclaw/coder",
    user: "ann:1",
    messages: [
      user("before"),
      { role: "assistant", content: "x" },
      user([
        { type: "text", text: "now" },
        { type: "image_url", image_url: { url: PNG } },
      ]),
    ],
  });
  expect(await answer.json()).toMatchObject({ choices: [{ message: { content: "Hello from the script." } }] });
  expect(gateway.chat.requests.at(-1)).toMatchObject({
    sessionKey: "agent:coder:openai:ann%3A1",
    text: "now",
    media: [{ kind: "image", mime: "image/png" }],
  });
});

test("several messages of one run are one answer", async () => {
  const { script } = gateway.chat;
  gateway.chat.script = (run) =>
    run.tell(...says("Let me look."), ...says("Found it."), ends({ kind: "replied", stop: "length" }));
  const answer = await post({ model: "openclaw", messages: [user("x")] });
  expect(await answer.json()).toMatchObject({
    object: "chat.completion",
    choices: [{ message: { content: "Let me look.\n\nFound it." }, finish_reason: "length" }],
  });
  const stream = await post({ model: "openclaw", stream: true, messages: [user("x")] });
  const text = await stream.text();
  const pieces = text.split("\n\n").filter((line) => line.startsWith("data: {"));
  const delta = z.object({ choices: z.array(z.object({ delta: z.object({ content: z.string().optional() }) })) });
  const added = pieces.map((line) => delta.parse(JSON.parse(line.slice(6))).choices[0]?.delta.content ?? "");
  expect(added.join("")).toBe("Let me look.\n\nFound it.");
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  expect(text).not.toContain('"usage"');
  expect(stream.headers.get("content-type")).toContain("text/event-stream");
  expect(stream.headers.get("x-content-type-options")).toBe("nosniff");
  gateway.chat.script = script;
});

test("a client that disconnects aborts its run", async () => {
  const { script } = gateway.chat;
  const begun = Promise.withResolvers<AbortSignal | undefined>();
  gateway.chat.script = (run, request) => {
    run.tell(...says("Never ending"));
    begun.resolve("signal" in request ? request.signal : undefined);
  };
  const gone = new AbortController();
  const answer = await post({ model: "openclaw", stream: true, messages: [user("x")] }, {}, gone.signal);
  const signal = await begun.promise;
  expect(signal?.aborted).toBe(false);
  const ended = new Promise((resolve) => signal?.addEventListener("abort", resolve));
  gone.abort();
  await ended;
  await expect(answer.text()).rejects.toThrow();
  gateway.chat.script = script;
});

test("a client that leaves a session's run aborts that run only", async () => {
  const { script } = gateway.chat;
  gateway.chat.script = (run) => run.tell(...says("Never ending"));
  const gone = new AbortController();
  await post({ model: "openclaw", user: "bob", stream: true, messages: [user("x")] }, {}, gone.signal);
  const [request] = gateway.chat.requests.slice(-1);
  gone.abort();
  await expect.poll(() => gateway.chat.aborted.at(-1)).toEqual(["openai:bob", request?.idempotencyKey]);
  gateway.chat.script = script;
});

test("the stream is kept alive while a run thinks", async () => {
  const due: (() => void)[] = [];
  const own = await startTestServer({
    ports: {
      clock: {
        now: () => 0,
        after: (ms, call) => {
          if (ms === 15_000) due.push(call);
          return () => undefined;
        },
      },
    },
  });
  const begun = Promise.withResolvers<() => void>();
  own.chat.script = (run) => begun.resolve(() => run.tell(...says("Done."), ends()));
  const answering = fetch(`${own.http}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "openclaw", stream: true, messages: [user("x")] }),
  });
  const finish = await begun.promise;
  await expect.poll(() => due.length).toBeGreaterThan(1);
  due.at(-1)?.();
  const answer = await answering;
  finish();
  const text = await answer.text();
  expect(text).toContain(": waiting\n\n");
  expect(text).toContain("Done.");
  await own.server.close(100);
});

test("a client that does not read gets no keep-alive into what waits for it", async () => {
  const clock = manualClock();
  const own = await startTestServer({ ports: { clock } });
  const text = "x".repeat(32_000_000);
  const begun = Promise.withResolvers<() => void>();
  own.chat.script = (run) => {
    run.tell({ type: "text_delta", delta: text, text });
    begun.resolve(() => run.tell(ends()));
  };
  const asked = startRequest(`${own.http}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
  });
  asked.end(JSON.stringify({ model: "openclaw", stream: true, messages: [user("x")] }));
  const [answer]: IncomingMessage[] = await once(asked, "response");
  // More than a system keeps for a connection: the rest of the text waits in the server.
  await once(answer!, "readable");
  for (let passed = 0; passed < 5; passed += 1) clock.pass(15_000);
  const finish = await begun.promise;
  finish();
  const read: string[] = [];
  for await (const part of answer!.setEncoding("utf8")) read.push(String(part));
  const whole = read.join("");
  expect(whole).not.toContain(": waiting");
  expect(whole.endsWith("data: [DONE]\n\n")).toBe(true);
  expect(whole.length).toBeGreaterThan(text.length);
  await own.server.close(100);
});

test.each([
  ["tools", [{ type: "function", function: { name: "f" } }]],
  ["functions", [{ name: "f" }]],
  ["tool_choice", "required"],
  ["function_call", { name: "f" }],
  ["response_format", { type: "json_object" }],
  ["n", 2],
])("%s is refused by its name, and starts nothing", async (name, value) => {
  const before = gateway.chat.requests.length;
  const answer = await post({ model: "openclaw", messages: [user("x")], [name]: value });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { type: "invalid_request_error", param: name } });
  expect(gateway.chat.requests.length).toBe(before);
});

test("parameters with default values are accepted", async () => {
  const plain = { tools: [], tool_choice: "auto", response_format: { type: "text" }, n: 1, temperature: 0.2 };
  expect((await post({ model: "openclaw", messages: [user("x")], ...plain })).status).toBe(200);
});
