import { once } from "node:events";
import { type IncomingMessage, request as startRequest } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startTestServer, TOKEN, type TestServer } from "../kit/server/server.ts";
import { manualClock } from "../kit/clock.ts";
import { assistant, ends, says } from "../kit/server/scripted-chat.ts";

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
  ["agent:coder", {}, "coder"],
  ["openclaw/default", {}, "main"],
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
    client: { system: "One.\n\nTwo." },
    messages: [
      { role: "user", content: [{ type: "text", text: "look it up" }] },
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
  ["functions", [{ name: "f" }]],
  ["function_call", { name: "f" }],
  ["tool_choice", "required"],
  ["tool_choice", { type: "function", function: { name: "g" } }],
  ["tools", [{ type: "function", function: { name: "no such name" } }]],
  ["response_format", { type: "xml" }],
  ["response_format", { type: "json_schema" }],
  ["n", 2],
  ["temperature", 3],
  ["stop", ["a", "b", "c", "d", "e"]],
])("%s %j is refused by its name, and starts nothing", async (name, value) => {
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

test("parameters of the answer and tools reach the run as they are", async () => {
  const parameters = { type: "object", properties: { city: { type: "string" } } };
  await post({
    model: "openclaw",
    messages: [user("x")],
    tools: [{ type: "function", function: { name: "weather", description: "Tells it.", parameters, strict: true } }],
    tool_choice: { type: "function", function: { name: "weather" } },
    response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object" } } },
    temperature: 0.2,
    top_p: 0.9,
    max_tokens: 5,
    max_completion_tokens: 6,
    stop: "END",
    seed: 7,
    frequency_penalty: 0.1,
    presence_penalty: -0.1,
  });
  expect(gateway.chat.requests.at(-1)).toMatchObject({
    client: {
      tools: [{ name: "weather", description: "Tells it.", parameters }],
      wish: {
        calls: { tool: "weather" },
        format: { schema: { type: "object" } },
        temperature: 0.2,
        topP: 0.9,
        maxTokens: 6,
        stop: ["END"],
        seed: 7,
        frequencyPenalty: 0.1,
        presencePenalty: -0.1,
      },
    },
  });
});

test("files and recordings of the last message are kept as files", async () => {
  await post({
    model: "openclaw",
    messages: [
      user([
        { type: "text", text: "read this" },
        { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,aGVsbG8=" } },
        { type: "input_audio", input_audio: { data: "aGVsbG8=", format: "wav" } },
      ]),
    ],
  });
  expect(gateway.chat.requests.at(-1)).toMatchObject({
    messages: [{ role: "user", content: "read this" }],
    media: [
      { kind: "document", mime: "application/pdf", name: "a.pdf" },
      { kind: "audio", mime: "audio/wav" },
    ],
  });
});

test.each([
  ["a file of an upload", [{ type: "file", file: { file_id: "file-1" } }]],
  ["a file that is no base64", [{ type: "file", file: { file_data: "data:text/plain;base64,%%%" } }]],
  ["nine images", Array.from({ length: 9 }, () => ({ type: "image_url", image_url: { url: PNG } }))],
])("%s is refused", async (_name, parts) => {
  const answer = await post({ model: "openclaw", messages: [user(parts)] });
  expect([answer.status, await answer.json()]).toEqual([
    400,
    { error: expect.objectContaining({ type: "invalid_request_error" }) },
  ]);
});

const calling = (text: string) => [
  { type: "message_start" as const },
  {
    type: "message_end" as const,
    message: {
      ...assistant(text),
      content: [
        { type: "text" as const, text },
        { type: "toolCall" as const, id: "call_1", name: "weather", arguments: { city: "Oslo" } },
        { type: "toolCall" as const, id: "call_2", name: "read", arguments: {} },
      ],
      stopReason: "toolUse" as const,
    },
    text,
    entryId: "entry-1",
  },
];
const weather = [{ type: "function", function: { name: "weather" } }];

test("a call of the client's tool goes back to the client, and no call of the agent's own", async () => {
  const { script } = gateway.chat;
  gateway.chat.script = (run) => run.tell(...calling(""), ends());
  const asked = { model: "openclaw", messages: [user("x")], tools: weather };
  expect(await (await post(asked)).json()).toMatchObject({
    choices: [
      {
        finish_reason: "tool_calls",
        message: {
          content: null,
          tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } }],
        },
      },
    ],
  });
  const text = await (await post({ ...asked, stream: true })).text();
  expect(text).toContain('"tool_calls":[{"index":0,"id":"call_1","type":"function"');
  expect(text).toContain('"finish_reason":"tool_calls"');
  gateway.chat.script = script;
});

test("the results of calls are a turn", async () => {
  const call = { id: "call_1", type: "function", function: { name: "weather", arguments: "{}" } };
  const messages = [
    user("x"),
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "call_1", content: "rain" },
  ];
  const result = { role: "toolResult", toolCallId: "call_1", toolName: "weather" };
  await post({ model: "openclaw", messages, tools: weather });
  expect(gateway.chat.requests.at(-1)).toMatchObject({ messages: [{ role: "user" }, { role: "assistant" }, result] });
  await post({ model: "openclaw", messages, tools: weather }, { "x-openclaw-session-key": "one" });
  expect(gateway.chat.requests.at(-1)).toMatchObject({ sessionKey: "one", text: "", client: { results: [result] } });
});

test.each([
  ["one END two", ["END"], "one "],
  ["one EN two", ["END"], "one EN two"],
  ["one E", ["END", "E N"], "one E"],
])("the answer %j with the stops %j is %j", async (said, stop, shown) => {
  const { script } = gateway.chat;
  gateway.chat.script = (run) => {
    const deltas = [...said].map((delta, at) => ({
      type: "text_delta" as const,
      delta,
      text: said.slice(0, at + 1),
    }));
    run.tell({ type: "message_start" }, ...deltas, ...says(said).slice(-1), ends());
  };
  const asked = { model: "openclaw", messages: [user("x")], stop };
  expect(await (await post(asked)).json()).toMatchObject({ choices: [{ message: { content: shown } }] });
  const text = await (await post({ ...asked, stream: true })).text();
  const chunk = z.object({ choices: z.array(z.object({ delta: z.object({ content: z.string().optional() }) })) });
  const chunks = text.split("\n\n").filter((line) => line.startsWith("data: {"));
  const pieces = chunks.map((line) => chunk.parse(JSON.parse(line.slice(6))).choices[0]?.delta.content ?? "");
  expect(pieces.join("")).toBe(shown);
  gateway.chat.script = script;
});

test("a JSON answer comes without what the model wrote around it, and an answer without JSON is an error", async () => {
  const { script } = gateway.chat;
  gateway.chat.script = (run) => run.tell(...says("Let me see."), ...says('Here:\n```json\n{"a":1}\n```'), ends());
  const asked = { model: "openclaw", messages: [user("x")], response_format: { type: "json_object" } };
  expect(await (await post(asked)).json()).toMatchObject({ choices: [{ message: { content: '{"a":1}' } }] });
  expect(await (await post({ ...asked, stream: true })).text()).toContain('"content":"{\\"a\\":1}"');
  gateway.chat.script = (run) => run.tell(...says("I would rather not."), ends());
  for (const stream of [false, true]) {
    const answer = await post({ ...asked, stream });
    expect([answer.status, await answer.json()]).toEqual([
      502,
      { error: expect.objectContaining({ code: "invalid_json" }) },
    ]);
  }
  gateway.chat.script = script;
});

test.each([
  ["openclaw", { "x-openclaw-session-key": "main" }, "webchat:default:operator"],
  ["openclaw/coder", { "x-openclaw-session-key": "notes" }, "agent:coder:notes"],
  ["openclaw", { "x-openclaw-session-key": "agent:coder:notes" }, "agent:coder:notes"],
  ["openclaw", { "x-openwebui-chat-id": "c:1" }, "openai-chat:c%3A1"],
  ["agent:coder", { "x-conversation-id": "c1" }, "agent:coder:openai-chat:c1"],
  ["openclaw", { "x-openclaw-session-key": "notes", "x-openwebui-chat-id": "c1" }, "notes"],
])("%s with %o continues the conversation %s", async (model, headers, sessionKey) => {
  await post({ model, messages: [user("x")], user: "ann" }, headers);
  expect(gateway.chat.requests.at(-1)).toMatchObject({ sessionKey });
});

test.each([
  ["an account's id as LibreChat sends it", "65f0c0ffee0123456789abcd", {}],
  ["the account that a header names", "ann", { "x-openwebui-user-id": "ann" }],
])("%s names no conversation", async (_name, account, headers) => {
  await post({ model: "openclaw", messages: [user("x")], user: account }, headers);
  expect(gateway.chat.requests.at(-1)).not.toHaveProperty("sessionKey");
});

test.each(["subagent:x", "cron:x", "acp:x", "agent:main:subagent:x", "agent:coder:cron:x"])(
  "the session %s is not for clients",
  async (key) => {
    const answer = await post({ model: "openclaw", messages: [user("x")] }, { "x-openclaw-session-key": key });
    expect(answer.status).toBe(400);
  },
);

test("a session of another agent than the model's is refused", async () => {
  const headers = { "x-openclaw-session-key": "agent:coder:notes" };
  expect((await post({ model: "openclaw/main", messages: [user("x")] }, headers)).status).toBe(400);
});

test("a header chooses the model of the run, and only one of the config", async () => {
  const asked = { model: "openclaw", messages: [user("x")] };
  await post(asked, { "x-openclaw-model": "demo/echo-agent" });
  expect(gateway.chat.requests.at(-1)).toMatchObject({ model: "demo/echo-agent" });
  const answer = await post(asked, { "x-openclaw-model": "demo/other" });
  expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: "model_not_found" } }]);
});

const get = (path: string) => fetch(`${gateway.http}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });

test.each([
  ["/v1/models/openclaw/coder", "openclaw/coder"],
  ["/v1/models/openclaw%2Fcoder", "openclaw/coder"],
  ["/v1/models/agent:main", "agent:main"],
])("%s is a model", async (path, id) => {
  expect(await (await get(path)).json()).toMatchObject({ id, object: "model" });
});

test("a path with another method names the right one", async () => {
  const answer = await get("/v1/chat/completions");
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
  expect(await answer.json()).toMatchObject({ error: { code: "method_not_allowed" } });
});

test.each([
  ["/v1/models/gpt-4", "model_not_found"],
  ["/v1/files", "unknown_url"],
  ["/v1/", "unknown_url"],
])("%s is not found, in OpenAI's shape", async (path, code) => {
  const answer = await get(path);
  expect([answer.status, await answer.json()]).toMatchObject([404, { error: { code, type: "invalid_request_error" } }]);
});
