import OpenAI from "openai";
import { expect, test } from "vitest";
import { openOpenAiGateway, type OpenAiGateway } from "../kit/server/openai-gateway.ts";

/** How clients of OpenAI use its API, one row for each pattern, made with the official client. */
interface Pattern {
  readonly name: string;
  ask(client: OpenAI, gateway: OpenAiGateway): Promise<unknown>;
  /** A part of the result, or of the error. */
  readonly expects: object;
}

const model = "openclaw";
const user = (content: string | OpenAI.ChatCompletionContentPart[]) => ({ role: "user" as const, content });
const PNG = `data:image/png;base64,${"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}`;
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tool = {
  type: "function" as const,
  function: { name: "weather", description: "Tells the weather.", parameters },
};
const tools = [tool];
const flat = [{ type: "function" as const, name: "weather", description: "Tells it.", parameters, strict: false }];
const call = { id: "call_1", type: "function" as const, function: { name: "weather", arguments: '{"city":"Oslo"}' } };
const called = [
  user("weather?"),
  { role: "assistant" as const, content: null, tool_calls: [call] },
  { role: "tool" as const, tool_call_id: "call_1", content: "rainy" },
];
const schema = { name: "city", schema: parameters };
const says = (content: string) => ({ choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }] });
const calls = {
  choices: [{ finish_reason: "tool_calls", message: { tool_calls: [{ function: { name: "weather" } }] } }],
};
const refused = (status: number, more: object = {}) => ({ status, type: "invalid_request_error", ...more });

type ChatBody = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, "model" | "messages"> & {
  model?: string;
  messages?: OpenAI.ChatCompletionMessageParam[];
};
const chat =
  (body: ChatBody = {}, headers: Record<string, string> = {}) =>
  (client: OpenAI) =>
    client.chat.completions.create({ model, messages: [user("hi")], ...body, stream: false }, { headers });

/** The text, the calls and the end of a stream. */
const stream =
  (body: ChatBody = {}) =>
  async (client: OpenAI) => {
    const told = client.chat.completions.stream({ model, messages: [user("hi")], ...body, stream: true });
    const { choices, usage } = await told.finalChatCompletion();
    return { choices, usage };
  };

/** Two requests of one conversation, and what the model was shown of the first in the second. */
const twice =
  (body: ChatBody, headers: Record<string, string> = {}) =>
  async (client: OpenAI, { fixture }: OpenAiGateway) => {
    await chat({ ...body, messages: [user("one")] }, headers)(client);
    await chat({ ...body, messages: [user("two")] }, headers)(client);
    return { messages: fixture.model.calls.at(-1)?.messages.length };
  };

const PATTERNS: readonly Pattern[] = [
  { name: "a completion", ask: chat(), expects: says("echo: hi") },
  {
    name: "a system message",
    ask: chat({ messages: [{ role: "system", content: "x" }, user("hi")] }),
    expects: says("echo: hi"),
  },
  {
    name: "a developer message",
    ask: chat({ messages: [{ role: "developer", content: "x" }, user("hi")] }),
    expects: says("echo: hi"),
  },
  { name: "text as parts", ask: chat({ messages: [user([{ type: "text", text: "hi" }])] }), expects: says("echo: hi") },
  {
    name: "an earlier exchange",
    ask: chat({ messages: [user("a"), { role: "assistant", content: "b" }, user("c")] }),
    expects: says("echo: c"),
  },
  {
    name: "an image",
    ask: chat({
      messages: [
        user([
          { type: "text", text: "hi" },
          { type: "image_url", image_url: { url: PNG, detail: "low" } },
        ]),
      ],
    }),
    expects: { choices: [{ message: { content: expect.stringContaining("echo: hi") } }] },
  },
  { name: "a stream", ask: stream(), expects: says("echo: hi") },
  {
    name: "a stream with its tokens",
    ask: stream({ stream_options: { include_usage: true } } as ChatBody),
    expects: { usage: { total_tokens: expect.any(Number) } },
  },
  { name: "temperature and top_p", ask: chat({ temperature: 0.2, top_p: 0.9 }), expects: says("echo: hi") },
  {
    name: "penalties and a seed",
    ask: chat({ frequency_penalty: 0.1, presence_penalty: 0.1, seed: 1 }),
    expects: says("echo: hi"),
  },
  { name: "max_tokens", ask: chat({ max_tokens: 50 }), expects: says("echo: hi") },
  { name: "max_completion_tokens", ask: chat({ max_completion_tokens: 50 }), expects: says("echo: hi") },
  { name: "one stop", ask: chat({ stop: "hi" }), expects: says("echo: ") },
  { name: "several stops", ask: chat({ stop: ["x", "ho: "] }), expects: says("ec") },
  { name: "one answer by number", ask: chat({ n: 1 }), expects: says("echo: hi") },
  { name: "several answers", ask: chat({ n: 2 }), expects: refused(400, { param: "n" }) },
  { name: "logprobs that are off", ask: chat({ logprobs: false }), expects: says("echo: hi") },
  {
    name: "fields of other services",
    ask: chat({ store: false, metadata: { a: "b" }, service_tier: "auto", reasoning_effort: "low" }),
    expects: says("echo: hi"),
  },
  { name: "a tool that is called", ask: chat({ messages: [user("weather?")], tools }), expects: calls },
  { name: "a tool that is not called", ask: chat({ tools }), expects: says("echo: hi") },
  { name: "a tool call in a stream", ask: stream({ messages: [user("weather?")], tools }), expects: calls },
  { name: "the result of a call", ask: chat({ messages: called, tools }), expects: says("It is rainy.") },
  {
    name: "the result of a call without the tools",
    ask: chat({ messages: called }),
    expects: { choices: [{ message: { content: expect.stringContaining("rainy") } }] },
  },
  { name: "the result of a call in a stream", ask: stream({ messages: called, tools }), expects: says("It is rainy.") },
  {
    name: "a result and a new question",
    ask: chat({ messages: [...called, user("and now?")], tools }),
    expects: { choices: [{ finish_reason: "stop" }] },
  },
  {
    name: "tool_choice none",
    ask: chat({ messages: [user("weather?")], tools, tool_choice: "none" }),
    expects: says("echo: weather?"),
  },
  { name: "tool_choice auto", ask: chat({ messages: [user("weather?")], tools, tool_choice: "auto" }), expects: calls },
  {
    name: "tool_choice required",
    ask: chat({ messages: [user("weather?")], tools, tool_choice: "required" }),
    expects: calls,
  },
  {
    name: "tool_choice with a name",
    ask: chat({
      messages: [user("weather?")],
      tools,
      tool_choice: { type: "function", function: { name: "weather" } },
    }),
    expects: calls,
  },
  {
    name: "parallel_tool_calls",
    ask: chat({ messages: [user("weather?")], tools, parallel_tool_calls: false }),
    expects: calls,
  },
  { name: "an empty list of tools", ask: chat({ tools: [] }), expects: says("echo: hi") },
  { name: "text as the form", ask: chat({ response_format: { type: "text" } }), expects: says("echo: hi") },
  {
    name: "JSON as the form",
    ask: chat({ response_format: { type: "json_object" } }),
    expects: says('{"city":"Oslo"}'),
  },
  {
    name: "a JSON schema as the form",
    ask: chat({ response_format: { type: "json_schema", json_schema: schema } }),
    expects: says('{"city":"Oslo"}'),
  },
  {
    name: "a JSON schema in a stream",
    ask: stream({ response_format: { type: "json_schema", json_schema: schema } }),
    expects: says('{"city":"Oslo"}'),
  },
  {
    name: "a file",
    ask: chat({
      messages: [
        user([
          { type: "text", text: "hi" },
          { type: "file", file: { filename: "a.txt", file_data: "data:text/plain;base64,aGVsbG8=" } },
        ]),
      ],
    }),
    expects: { choices: [{ message: { content: expect.stringContaining("hi") } }] },
  },
  {
    name: "a recording",
    ask: chat({
      messages: [
        user([
          { type: "text", text: "hi" },
          { type: "input_audio", input_audio: { data: "aGVsbG8=", format: "wav" } },
        ]),
      ],
    }),
    expects: { choices: [{ message: { content: expect.stringContaining("hi") } }] },
  },
  {
    name: "an image by its address",
    ask: chat({ messages: [user([{ type: "image_url", image_url: { url: "https://example.org/a.png" } }])] }),
    expects: refused(400),
  },
  { name: "the agent in the model", ask: chat({ model: "openclaw/coder" }), expects: { model: "openclaw/coder" } },
  { name: "the agent as agent:<id>", ask: chat({ model: "agent:main" }), expects: { model: "agent:main" } },
  { name: "the agent in a header", ask: chat({}, { "x-openclaw-agent-id": "main" }), expects: says("echo: hi") },
  {
    name: "an unknown model",
    ask: chat({ model: "gpt-4o" }),
    expects: refused(404, { code: "model_not_found", param: "model" }),
  },
  { name: "no conversation", ask: twice({}), expects: { messages: 2 } },
  {
    name: "the conversation of a session key",
    ask: twice({}, { "x-openclaw-session-key": "notes" }),
    expects: { messages: 4 },
  },
  { name: "the conversation of a user", ask: twice({ user: "ann" }), expects: { messages: 4 } },
  { name: "the account of a user", ask: twice({ user: "65f0c0ffee0123456789abcd" }), expects: { messages: 2 } },
  {
    name: "the list of models",
    ask: async (client) => (await client.models.list()).data,
    expects: [{ id: "openclaw" }, { id: "openclaw/main" }, { id: "openclaw/coder" }],
  },
  {
    name: "one model",
    ask: (client) => client.models.retrieve("openclaw/main"),
    expects: { id: "openclaw/main", object: "model" },
  },
  { name: "one unknown model", ask: (client) => client.models.retrieve("gpt-4o"), expects: refused(404) },
  {
    name: "a response",
    ask: (client) => client.responses.create({ model, input: "hi" }),
    expects: { output_text: "echo: hi", status: "completed" },
  },
  {
    name: "a response in a stream",
    ask: async (client) => client.responses.stream({ model, input: "hi" }).finalResponse(),
    expects: { output: [{ type: "message", content: [{ text: "echo: hi" }] }] },
  },
  {
    name: "a response that calls",
    ask: (client) => client.responses.create({ model, input: "weather?", tools: flat }),
    expects: { output: [{ type: "function_call", name: "weather" }] },
  },
  {
    name: "a response that continues",
    async ask(client) {
      const { id } = await client.responses.create({ model, input: "one" });
      return client.responses.create({ model, input: "two", previous_response_id: id });
    },
    expects: { output_text: "echo: two" },
  },
  {
    name: "vectors without a provider",
    ask: (client) => client.embeddings.create({ model, input: "hi" }),
    expects: refused(400, { code: "embeddings_not_configured" }),
  },
  {
    name: "a path that is not served",
    ask: (client) => client.files.list(),
    expects: refused(404, { code: "unknown_url" }),
  },
  {
    name: "a wrong key",
    ask: (_client, { url }) => chat()(new OpenAI({ baseURL: url, apiKey: "wrong", maxRetries: 0 })),
    expects: refused(401, { code: "invalid_api_key" }),
  },
  {
    name: "an answer as the last message",
    ask: chat({ messages: [{ role: "assistant", content: "x" }] }),
    expects: refused(400, { param: "messages" }),
  },
  { name: "no messages", ask: chat({ messages: [] }), expects: refused(400, { param: "messages" }) },
];

test.each(PATTERNS.map((pattern) => [pattern.name, pattern] as const))("%s", async (_name, { ask, expects }) => {
  const gateway = await openOpenAiGateway();
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  expect(await ask(client, gateway).catch((error: unknown) => error)).toMatchObject(expects);
});
