import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { heard, openDispatchFixture, type Boot, type DispatchFixture } from "../kit/dispatch.ts";
import { modelsAt } from "../kit/models.ts";
import { UNMETERED } from "../../src/types/run/model-meter.ts";
import { startTestServer, TOKEN, type TestServer } from "../kit/server/server.ts";
import { until } from "../kit/until.ts";

/** Whole chats as Open WebUI and LibreChat have them, with the requests in the form in which these programs send them. */
let fixture: DispatchFixture;
let gateway: TestServer;
let boot: Boot;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.systemPrompt = async ({ extra = "" }) => ({ text: `You are the agent. ${extra}`, parts: [] });
  fixture.models = modelsAt(fixture.model.url, UNMETERED, { input: ["text", "image"] });
  boot = await fixture.boot();
  const { media } = boot.ports.storage;
  gateway = await startTestServer({ ports: { chat: boot.chat, sessions: boot.sessions, media } });
});
afterEach(async () => {
  await gateway.server.close(200);
  await fixture.close();
});

type Message = { readonly role: string; readonly content: unknown };
type Headers = Readonly<Record<string, string>>;
type Body = Readonly<Record<string, unknown>> & { readonly messages: readonly Message[] };

const user = (content: unknown): Message => ({ role: "user", content });
const answer = (content: string): Message => ({ role: "assistant", content });
const PNG =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const send = (headers: Headers, body: Body, signal?: AbortSignal) =>
  fetch(`${gateway.http}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "openclaw", ...body }),
    ...(signal && { signal }),
  });

const chunk = z.looseObject({
  choices: z.array(
    z.looseObject({ delta: z.looseObject({ content: z.string().nullish() }), finish_reason: z.string().nullable() }),
  ),
  usage: z.looseObject({ total_tokens: z.number() }).nullish(),
});
const whole = z.looseObject({ choices: z.tuple([z.looseObject({ message: z.looseObject({ content: z.string() }) })]) });

/** The text of an answer, which has to come in the form that was asked for. */
async function said(headers: Headers, body: Body): Promise<string> {
  const response = await send(headers, body);
  expect(response.status).toBe(200);
  if (body["stream"] !== true) return whole.parse(await response.json()).choices[0].message.content;
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: "));
  expect(lines.at(-1)).toBe("data: [DONE]");
  const chunks = lines.slice(0, -1).map((line) => chunk.parse(JSON.parse(line.slice("data: ".length))));
  expect(chunks.flatMap(({ choices }) => choices).at(-1)?.finish_reason).toBe("stop");
  if (body["stream_options"] !== undefined) expect(chunks.at(-1)?.usage?.total_tokens).toBeGreaterThan(0);
  return chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? "")).join("");
}

const textOf = (content: unknown): string =>
  typeof content === "string"
    ? content
    : z
        .array(z.looseObject({ text: z.string().optional() }))
        .parse(content)
        .map((part) => part.text ?? "")
        .join("");
/** What the model of the last call was shown, without its system prompt. */
const shown = () =>
  (fixture.model.calls.at(-1)?.messages ?? [])
    .filter(({ role }) => role !== "system")
    .map(({ content }) => heard(textOf(content)));
const isAgents = () => fixture.model.calls.at(-1)?.system.startsWith("You are the agent.");
const sessions = () => boot.sessions.list().map(({ key, entry }) => [key, entry.sessionId, entry.updatedAt] as const);

/** How a program sends a message of a chat, and what it asks for itself. */
interface Program {
  headers(chat: string, person: string): Headers;
  body(messages: readonly Message[], person: string): Body;
  /** Requests about the chat that are no part of it. */
  readonly sideTasks: Readonly<Record<string, (headers: Headers) => readonly [Headers, Body]>>;
}

const task = (text: string, more: object = {}): Body => ({ stream: false, ...more, messages: [user(text)] });
const history = "### Chat History:\n<chat_history>\nUSER: one\nASSISTANT: echo: one\n</chat_history>";

const PROGRAMS: Readonly<Record<string, Program>> = {
  "Open WebUI": {
    headers: (chat, person) => ({
      "X-OpenWebUI-User-Name": person,
      "X-OpenWebUI-User-Id": `id-of-${person}`,
      "X-OpenWebUI-User-Email": `${person}@example.org`,
      "X-OpenWebUI-User-Role": "user",
      "X-OpenWebUI-Chat-Id": chat,
      "X-OpenWebUI-Message-Id": crypto.randomUUID(),
    }),
    body: (messages) => ({
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.7,
      messages: [{ role: "system", content: "Speak plainly." }, ...messages],
    }),
    sideTasks: {
      title: (headers) => [
        headers,
        task(`### Task:\nName this chat.\n### Output:\nJSON format: { "title": "…" }\n${history}`, {
          max_completion_tokens: 1000,
        }),
      ],
      tags: (headers) => [
        headers,
        task(`### Task:\nFind subjects.\n### Output:\nJSON format: { "tags": ["…"] }\n${history}`),
      ],
      "follow-ups": (headers) => [
        headers,
        task(`### Task:\nFind questions.\n### Output:\nJSON format: { "follow_ups": ["…"] }\n${history}`),
      ],
      queries: (headers) => [
        headers,
        task(`### Task:\nFind queries.\n### Output:\nJSON:\n{ "queries": ["…"] }\n\n${history}\n`),
      ],
    },
  },
  LibreChat: {
    headers: (chat) => ({ "X-Conversation-Id": chat, "User-Agent": "LibreChat/0.8" }),
    body: (messages, person) => ({
      stream: true,
      stream_options: { include_usage: true },
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      user: ACCOUNTS[person],
      messages,
    }),
    sideTasks: {
      title: (headers) => [
        headers,
        task("Provide a title of at most five words for the conversation.\n\nConversation:\nUser: one\nAI: echo: one", {
          user: ACCOUNTS["ann"],
        }),
      ],
    },
  },
};

/** LibreChat names the account with each request. */
const ACCOUNTS: Readonly<Record<string, string>> = { ann: "65f0c0ffee0123456789abcd", bob: "65f0c0ffee0123456789abce" };

describe.each(Object.entries(PROGRAMS))("%s", (_name, program) => {
  const chat = (messages: readonly Message[], at = "chat-1", person = "ann") =>
    said(program.headers(at, person), program.body(messages, person));

  test("lists the models, and chats in a stream that the gateway keeps once", async () => {
    const models = await fetch(`${gateway.http}/v1/models`, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect(await models.json()).toMatchObject({ object: "list", data: [{ id: "openclaw", object: "model" }, {}, {}] });
    const talk: Message[] = [];
    for (const text of ["one", "two", "three"]) {
      talk.push(user(text));
      talk.push(answer(await chat(talk)));
    }
    expect(talk.at(-1)).toEqual(answer("echo: three"));
    expect(shown()).toEqual(["one", "echo: one", "two", "echo: two", "three"]);
    expect(sessions()).toHaveLength(1);
  });

  test("sends a picture with its text, and asks about it in the next message", async () => {
    const picture = [
      { type: "text", text: "what is this" },
      { type: "image_url", image_url: { url: PNG } },
    ];
    await chat([user(picture)]);
    expect(fixture.model.calls.at(-1)?.images).toEqual([PNG]);
    await chat([user(picture), answer("echo: what is this"), user("and its colour?")]);
    expect(shown().at(-1)).toBe("and its colour?");
    expect(sessions()).toHaveLength(1);
  });

  test.each(Object.keys(program.sideTasks))("asks for its %s without touching the chat", async (name) => {
    await chat([user("one")]);
    const before = sessions();
    const asked = program.sideTasks[name]?.(program.headers("chat-1", "ann"));
    await said(...(asked ?? [{}, task("")]));
    expect(isAgents()).toBe(false);
    expect(sessions()).toEqual(before);
    await chat([user("one"), answer("echo: one"), user("two")]);
    expect(shown()).toEqual(["one", "echo: one", "two"]);
  });

  test("stops an answer, and goes on with what the person has seen", async () => {
    const rest = Promise.withResolvers<void>();
    fixture.model.answer((call) => ({ text: `echo: ${call.said}`, until: rest.promise }));
    const stop = new AbortController();
    const response = await send(program.headers("chat-1", "ann"), program.body([user("one")], "ann"), stop.signal);
    await response.body?.getReader().read();
    stop.abort();
    const [[key] = []] = sessions();
    await until(() => key !== undefined && boot.chat.active(key).length === 0, "the end of the run");
    rest.resolve();
    fixture.model.answer((call) => ({ text: `echo: ${call.said}` }));
    expect(await chat([user("one"), answer("echo:"), user("two")])).toMatch(/^echo: [\s\S]*two$/);
    expect(
      shown()
        .join("\n")
        .match(/one|two/g),
    ).toEqual(["one", "two"]);
    expect(sessions()).toHaveLength(1);
  });

  test("asks for an answer again, and changes an earlier message: the old ones are gone from the chat", async () => {
    await chat([user("one")]);
    await chat([user("one"), answer("echo: one"), user("two")]);
    await chat([user("one"), answer("echo: one"), user("two")]);
    expect(shown()).toEqual(["one", "echo: one", "two"]);
    await chat([user("one, but other"), answer("echo: one"), user("two")]);
    expect(shown()).toEqual(["one, but other", "echo: one", "two"]);
    await chat([user("quite another")]);
    expect(shown()).toEqual(["quite another"]);
    expect(sessions()).toHaveLength(1);
  });

  test("keeps the chats of two people, and two chats of one, apart", async () => {
    await chat([user("a secret of Ann")], "chat-of-ann", "ann");
    await chat([user("hello from Bob")], "chat-of-bob", "bob");
    expect(shown()).toEqual(["hello from Bob"]);
    await chat([user("another chat")], "second-of-ann", "ann");
    expect(shown()).toEqual(["another chat"]);
    await chat([user("hello from Bob"), answer("echo: hello from Bob"), user("two")], "chat-of-bob", "bob");
    expect(shown()).toEqual(["hello from Bob", "echo: hello from Bob", "two"]);
    expect(sessions()).toHaveLength(3);
  });
});
