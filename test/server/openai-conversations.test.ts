import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { openDispatchFixture, heard, type Boot, type DispatchFixture } from "../kit/dispatch.ts";
import { startTestServer, TOKEN, type TestServer } from "../kit/server/server.ts";

/** Whose conversation a request is, and how its history and the transcript become one. */
let fixture: DispatchFixture;
let gateway: TestServer;
let boot: Boot;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.systemPrompt = async ({ extra = "" }) => ({ text: `You are the agent. ${extra}`, parts: [] });
  boot = await fixture.boot();
  gateway = await startTestServer({ ports: { chat: boot.chat, sessions: boot.sessions } });
});
afterEach(async () => {
  await gateway.server.close(200);
  await fixture.close();
});

const completion = z.looseObject({
  choices: z.tuple([z.looseObject({ message: z.looseObject({ content: z.string() }) })]),
});
const post = (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  fetch(`${gateway.http}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "openclaw", ...body }),
  });
async function ask(body: Record<string, unknown>, headers: Record<string, string> = {}): Promise<string> {
  return completion.parse(await (await post(body, headers)).json()).choices[0].message.content;
}

const user = (content: string) => ({ role: "user", content });
const answer = (content: string) => ({ role: "assistant", content });
const system = (content: string) => ({ role: "system", content });
const text = (content: unknown): string =>
  typeof content === "string"
    ? content
    : z
        .array(z.looseObject({ text: z.string() }))
        .parse(content)
        .map((part) => part.text)
        .join("");
/** What the model of the last call was shown, without its system prompt. */
const shown = () =>
  (fixture.model.calls.at(-1)?.messages ?? [])
    .filter(({ role }) => role !== "system")
    .map(({ content }) => heard(text(content)));
const keys = () => boot.sessions.list().map(({ key }) => key);

const CHAT = { "x-openwebui-chat-id": "chat-1" };
const SESSION = { "x-openclaw-session-key": "notes" };

test("the session of an agent that does not exist is not found, and begins nothing", async () => {
  const response = await post({ messages: [user("one")] }, { "x-openclaw-session-key": "agent:nope:x" });
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({
    error: { code: "model_not_found", param: "x-openclaw-session-key", message: expect.stringContaining("nope") },
  });
  expect(keys()).toEqual([]);
});

test.each([
  ["a conversation header", CHAT],
  ["a session key", SESSION],
])("with %s the history that the client repeats is not appended twice", async (_, headers) => {
  const said: object[] = [];
  for (const turn of ["one", "two", "three"]) {
    said.push(user(turn));
    said.push(answer(await ask({ messages: [system("Be brief."), ...said] }, headers)));
  }
  expect(shown()).toEqual(["one", "echo: one", "two", "echo: two", "three"]);
  expect(fixture.model.calls.at(-1)?.system).toContain("Be brief.");
  expect(keys()).toHaveLength(1);
});

test.each([
  ["a conversation header", CHAT],
  ["a session key", SESSION],
])("with %s a conversation that the gateway does not have yet is taken in", async (_, headers) => {
  const before = [user("I am Ann."), answer("Hello Ann.")];
  await ask({ messages: [...before, user("who am I?")] }, headers);
  expect(shown()).toEqual(["I am Ann.", "Hello Ann.", "who am I?"]);
  await ask({ messages: [...before, user("who am I?"), answer("echo: who am I?"), user("sure?")] }, headers);
  expect(shown()).toEqual(["I am Ann.", "Hello Ann.", "who am I?", "echo: who am I?", "sure?"]);
});

test("a client that sends the last message alone continues its session", async () => {
  await ask({ messages: [user("one")] }, SESSION);
  await ask({ messages: [user("two")] }, SESSION);
  expect(shown()).toEqual(["one", "echo: one", "two"]);
});

test("an answer that is asked for again, or an edited message, takes the place of the old one", async () => {
  await ask({ messages: [user("one")] }, CHAT);
  await ask({ messages: [user("one"), answer("echo: one"), user("two")] }, CHAT);
  await ask({ messages: [user("one"), answer("echo: one"), user("another two")] }, CHAT);
  expect(shown()).toEqual(["one", "echo: one", "another two"]);
  await ask({ messages: [user("one again")] }, CHAT);
  expect(shown()).toEqual(["one again"]);
});

test("what others said in a session that a client names stays", async () => {
  await ask({ messages: [user("one")] }, SESSION);
  await ask({ messages: [user("from elsewhere")] }, SESSION);
  await ask({ messages: [user("one"), answer("echo: one"), user("two")] }, SESSION);
  expect(shown()).toEqual(["one", "echo: one", "from elsewhere", "echo: from elsewhere", "two"]);
});

test("a user whose requests are about several conversations is an account, and the conversations stay apart", async () => {
  await ask({ user: "ann", messages: [system("SYSA"), user("SECRET-A 4711")] });
  await ask({ user: "ann", messages: [system("SYSB"), user("from B"), answer("yes"), user("go on")] });
  expect(shown()).toEqual(["from B", "yes", "go on"]);
  expect(fixture.model.calls.at(-1)?.system).toContain("SYSB");
});

const exchanges = z.array(
  z.looseObject({
    name: z.string(),
    headers: z.record(z.string(), z.string()),
    body: z.looseObject({ messages: z.array(z.looseObject({ role: z.string(), content: z.string() })) }),
    is: z.enum(["conversation", "alone", "side task"]),
  }),
);
const recorded = exchanges.parse(
  JSON.parse(readFileSync(join(import.meta.dirname, "recorded/openai-clients.json"), "utf8")),
);

test.each(recorded.map((one) => [one.name, one] as const))("%s", async (_name, { headers, body, is }) => {
  fixture.rules = { maxConcurrent: 1 };
  const held = Promise.withResolvers<void>();
  fixture.model.answer(async (call) => {
    if (call.said.includes("slow")) await held.promise;
    return { text: '{"language":"English","title":"Tides"}' };
  });
  // A side task does not wait for the answers of conversations.
  const slow = is === "side task" ? ask({ messages: [user("slow")] }, headers) : undefined;
  if (slow) await fixture.model.called(1);
  const told = await post(body, headers);
  expect(told.status).toBe(200);
  await told.text();
  const [call] = fixture.model.calls.slice(-1);
  expect(call?.system.startsWith("You are the agent.")).toBe(is !== "side task");
  held.resolve();
  await slow;
  expect(keys()).toHaveLength(is === "alone" ? 0 : 1);
});

test("the utility model of the config answers side tasks and its own name", async () => {
  const own = await startTestServer({
    options: {
      openAi: { chatCompletions: true, responses: false, conversationHeaders: [], utilityModel: "fake/small" },
    },
  });
  await fetch(`${own.http}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "openclaw/utility", user: "ann", messages: [user("a title, please")] }),
  });
  expect(own.chat.requests.at(-1)).toMatchObject({ model: "fake/small", isBare: true });
  await own.server.close(100);
});
