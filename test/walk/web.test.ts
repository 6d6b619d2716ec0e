import OpenAI from "openai";
import { describe } from "vitest";
import {
  askWithOpenAi,
  chatWithReferenceClient,
  listModelsWithOpenAi,
  streamWithOpenAi,
} from "../kit/server/clients.ts";
import { RawClient } from "../kit/server/server.ts";
import { SOON_MS, TOKEN, type GatewayUnderTest } from "../kit/gateway/process.ts";
import { sharedTest } from "../kit/gateway/shared.ts";
import { isRecord, test } from "../kit/gateway/world.ts";
import { outcomesOf, sessionsOf, textOf } from "../kit/gateway/state-files.ts";

type Address = Pick<GatewayUnderTest, "port">;
const ws = (gateway: Address) => `ws://127.0.0.1:${gateway.port}`;
const http = (gateway: Address) => `http://127.0.0.1:${gateway.port}`;
const WEB_ONLY = { channels: { telegram: { enabled: false } } };
type Frame = Record<string, unknown>;
const inOneGateway = sharedTest({ places: 7 });
/** Where a client talks to the agent of a place. */
const mainOf = ({ name }: { name: string }) => `agent:${name}:main`;

async function open(gateway: Address): Promise<RawClient> {
  const client = new RawClient(ws(gateway));
  const hello = await client.connect({ auth: { token: TOKEN } });
  if (hello["ok"] !== true) throw new Error(JSON.stringify(hello));
  return client;
}

const payloadOf = (frame: Frame): Frame => (isRecord(frame["payload"]) ? frame["payload"] : {});
const send = (client: RawClient, message: string, idempotencyKey: string, more: Frame = {}) =>
  client.request("chat.send", { sessionKey: "main", message, idempotencyKey, ...more });
const chatState = (runId: string, state: string) => (frame: Frame) =>
  frame["event"] === "chat" && payloadOf(frame)["runId"] === runId && payloadOf(frame)["state"] === state;

async function historyOf(client: RawClient, sessionKey = "main"): Promise<{ role: string; content: unknown }[]> {
  const answer = await client.request("chat.history", { sessionKey });
  return payloadOf(answer)["messages"] as { role: string; content: unknown }[];
}

describe.concurrent("a web client", () => {
  test("that is the official one chats, sees deltas and reads the history", async ({ world, expect }) => {
    const { gateway } = await world.start(WEB_ONLY);
    world.model.answer(() => ({ text: "Hello from the other side of the wire.", everyMs: 30 }));
    const told = await chatWithReferenceClient(ws(gateway), TOKEN, "hi there");
    expect(told).toMatchObject({
      added: "Hello from the other side of the wire.",
      final: "Hello from the other side of the wire.",
      gaps: 0,
    });
    expect(told.deltas).toBeGreaterThan(1);
    expect(told.history.map((message) => message.role)).toEqual(["user", "assistant"]);
    expect(textOf(told.history[0]?.content)).toBe("hi there");
  });

  test("gets an answer that was cut off and was continued as one message, by protocol, history and command line", async ({
    world,
    expect,
  }) => {
    const { home, gateway } = await world.start(WEB_ONLY);
    world.model.answer((_call, number) =>
      number % 2 === 1
        ? { text: "[[reply_to_current]] one two three four", stopAfter: 3, everyMs: 20 }
        : { text: "three four" },
    );
    const told = await chatWithReferenceClient(ws(gateway), TOKEN, "count");
    expect(told.final?.trim()).toBe("one two three four");
    expect(told.added?.trim()).toBe("one two three four");
    expect(told.history.map((message) => textOf(message.content).trim())).toEqual(["count", "one two three four"]);
    const { stdout } = await home.run(["agent", "-m", "count again"]);
    expect(stdout).toBe("one two three four\n");
  });

  test.for([
    "[[reply_to_current]] Here it is.",
    "<think>A secret plan.</think>Here it is.",
    "A secret plan.</think>\n\nHere it is. NO_REPLY",
  ])("never reads what is not for people, now or later: %j", async (text, { world, expect }) => {
    const { gateway } = await world.start(WEB_ONLY);
    world.model.answer(() => ({ text }));
    const told = await chatWithReferenceClient(ws(gateway), TOKEN, "hi there");
    expect(told.final?.trim()).toBe("Here it is.");
    expect(told.history.map((message) => textOf(message.content).trim())).toEqual(["hi there", "Here it is."]);
  });

  test("that is OpenAI's is answered, streaming and not", async ({ world, expect }) => {
    const { gateway } = await world.start(WEB_ONLY);
    const whole = await askWithOpenAi(http(gateway), TOKEN, "what is up?");
    expect(whole.text).toContain("what is up?");
    expect(whole.finish).toBe("stop");
    expect(whole.usage?.total_tokens).toBeGreaterThan(0);
    const streamed = await streamWithOpenAi(http(gateway), TOKEN, "and now?");
    expect(streamed.text).toContain("and now?");
    expect(streamed.finish).toBe("stop");
    expect(streamed.usage?.total_tokens).toBeGreaterThan(0);
    expect(world.model.calls[1]?.system).toContain("Be brief.");
    expect(world.model.calls[1]?.messages.map((message) => textOf(message.content)).join()).not.toContain(
      "what is up?",
    );
    expect(await listModelsWithOpenAi(http(gateway), TOKEN)).toContain("openclaw");
    await expect(askWithOpenAi(http(gateway), "wrong", "hello")).rejects.toThrow(/401/);
  });

  test("that is OpenAI's brings the result of its call to a gateway that was killed meanwhile", async ({
    world,
    expect,
  }) => {
    const { home, gateway } = await world.start(WEB_ONLY);
    world.model.answer((call) =>
      call.isAfterTool ? { text: `It is ${call.toolText}.` } : { tool: "weather", args: { city: "Oslo" } },
    );
    const parameters = { type: "object", properties: { city: { type: "string" } } };
    const tools = [{ type: "function" as const, function: { name: "weather", parameters } }];
    const headers = { "x-openclaw-session-key": "weather" };
    const ask = (address: Address, messages: OpenAI.ChatCompletionMessageParam[]) =>
      new OpenAI({ baseURL: `${http(address)}/v1`, apiKey: TOKEN, maxRetries: 0 }).chat.completions.create(
        { model: "openclaw", messages, tools },
        { headers },
      );
    const question = { role: "user" as const, content: "weather?" };
    const first = await ask(gateway, [question]);
    const [said] = first.choices;
    const [call] = said?.message.tool_calls ?? [];
    if (!said || !call) throw new Error("no call came");
    await gateway.kill("SIGKILL");
    const result = { role: "tool" as const, tool_call_id: call.id, content: "rainy" };
    const second = await ask(await home.start(), [question, said.message, result]);
    expect(second.choices[0]?.message.content).toBe("It is rainy.");
    expect(world.model.calls.at(-1)?.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool"]);
  });

  inOneGateway("that sends one key twice starts one run", async ({ world, expect }) => {
    const { gateway } = world.start();
    const held = Promise.withResolvers<void>();
    world.model.answer(async () => {
      await held.promise;
      return { text: "only once" };
    });
    const client = await open(gateway);
    const first = await send(client, "once please", "key-1", { sessionKey: mainOf(world) });
    expect(payloadOf(first)).toMatchObject({ runId: "key-1", status: "started" });
    const second = await send(client, "once please", "key-1", { sessionKey: mainOf(world) });
    expect(payloadOf(second)).toMatchObject({ runId: "key-1", status: "in_flight" });
    held.resolve();
    await client.until(chatState("key-1", "final"));
    const third = await send(client, "once please", "key-1", { sessionKey: mainOf(world) });
    expect(payloadOf(third)["runId"]).toBe("key-1");
    expect(world.model.calls).toHaveLength(1);
    expect((await historyOf(client, mainOf(world))).map((message) => message.role)).toEqual(["user", "assistant"]);
    client.close();
  });

  test("aborts a run that hangs", async ({ world, expect }) => {
    const { home, gateway } = await world.start(WEB_ONLY);
    world.model.answer((_call, number) => (number === 1 ? "hang" : { text: "well again" }));
    const client = await open(gateway);
    await send(client, "hang on", "key-hang");
    await world.model.called(1);
    const began = performance.now();
    const aborted = await client.request("chat.abort", { sessionKey: "main", runId: "key-hang" });
    expect(payloadOf(aborted)).toMatchObject({ ok: true, aborted: true, runIds: ["key-hang"] });
    await client.until(chatState("key-hang", "aborted"));
    expect(performance.now() - began).toBeLessThan(SOON_MS);
    expect((await outcomesOf(home, 1))[0]).toEqual({ kind: "aborted" });
    await send(client, "still there?", "key-next");
    await client.until(chatState("key-next", "final"));
    client.close();
  });

  inOneGateway("approves a command and sees tool and notice in the history", async ({ world, expect }) => {
    const { gateway } = world.start();
    world.model.answer((call) =>
      call.isAfterTool
        ? { text: `ran: ${call.toolText}` }
        : { tool: "exec", args: { command: "touch a && echo yes-it-ran" } },
    );
    const client = await open(gateway);
    await send(client, "run it", "key-exec", { sessionKey: mainOf(world) });
    const asked = payloadOf(await client.event("exec.approval.requested"));
    expect(asked["request"]).toMatchObject({ command: "touch a && echo yes-it-ran" });
    const listed = await client.request("exec.approval.list");
    expect(listed["payload"]).toMatchObject([{ id: asked["id"] }]);
    const resolved = await client.request("exec.approval.resolve", { id: asked["id"], decision: "allow-once" });
    expect(resolved["ok"]).toBe(true);
    await client.event("exec.approval.resolved");
    const final = payloadOf(await client.until(chatState("key-exec", "final")));
    expect(JSON.stringify(final["message"])).toContain("yes-it-ran");
    const history = await historyOf(client, mainOf(world));
    expect(history.map((message) => message.role)).toEqual(["user", "assistant", "toolResult", "assistant"]);
    const late = await client.request("exec.approval.resolve", { id: asked["id"], decision: "deny" });
    expect(late).toMatchObject({
      ok: false,
      error: { code: "INVALID_REQUEST", details: { code: "APPROVAL_NOT_FOUND" } },
    });
    client.close();
  });

  inOneGateway("uses commands, and the history keeps their answers", async ({ world, expect }) => {
    const { gateway } = world.start();
    const client = await open(gateway);
    await send(client, "hello", "key-hello", { sessionKey: mainOf(world) });
    await client.until(chatState("key-hello", "final"));
    await send(client, "/status", "key-b", { sessionKey: mainOf(world) });
    const told = payloadOf(await client.until(chatState("key-b", "final")));
    expect(JSON.stringify(told["message"])).toContain(`Model: ${world.name}/fake-1`);
    await send(client, "/think high", "key-c", { sessionKey: mainOf(world) });
    await client.until(chatState("key-c", "final"));
    await expect
      .poll(async () => (await historyOf(client, mainOf(world))).map((message) => textOf(message.content)).join("\n"))
      .toContain("Thinking level: high.");
    expect(world.model.calls).toHaveLength(1);
    client.close();
  });

  inOneGateway("shows a model's failure, now and in the history", async ({ world, expect }) => {
    const { gateway } = world.start();
    world.model.answer(() => ({ status: 401, message: "no such key" }));
    const client = await open(gateway);
    await send(client, "hello", "key-bad", { sessionKey: mainOf(world) });
    const error = payloadOf(await client.until(chatState("key-bad", "error")));
    expect(String(error["errorMessage"])).not.toBe("");
    await expect
      .poll(async () => (await historyOf(client, mainOf(world))).map((message) => textOf(message.content)).join("\n"))
      .toContain("refuses the key");
    client.close();
  });

  test("lists, names and clears sessions", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    const client = await open(gateway);
    await send(client, "web words", "key-a");
    await client.until(chatState("key-a", "final"));
    world.telegram.say("telegram words");
    await world.told("telegram words");
    await outcomesOf(home, 2);
    const rows = payloadOf(await client.request("sessions.list"))["sessions"] as Frame[];
    const keys = rows.map((row) => String(row["key"]));
    expect(keys).toHaveLength(2);
    const web = keys.find((key) => key.endsWith(":main")) ?? "";
    const patched = await client.request("sessions.patch", { key: web, label: "My talk", thinkingLevel: "low" });
    expect(payloadOf(patched)).toMatchObject({ ok: true, entry: { label: "My talk", thinkingLevel: "low" } });
    const again = payloadOf(await client.request("sessions.list", { search: "my talk" }))["sessions"] as Frame[];
    expect(again).toMatchObject([{ key: web, label: "My talk", thinkingLevel: "low" }]);
    const before = sessionsOf(home)["webchat:default:operator"]?.sessionId;
    const reset = await client.request("sessions.reset", { key: web });
    expect(payloadOf(reset)).toMatchObject({ ok: true });
    expect(sessionsOf(home)["webchat:default:operator"]?.sessionId).not.toBe(before);
    expect(await historyOf(client)).toEqual([]);
    const telegram = keys.find((key) => key.includes("telegram")) ?? "";
    expect((await historyOf(client, telegram)).map((message) => textOf(message.content)).join()).toContain(
      "telegram words",
    );
    client.close();
  });

  test("sees the runs of channels as they happen", async ({ world, expect }) => {
    const { gateway } = await world.start();
    const client = await open(gateway);
    world.telegram.say("hello from the phone");
    const final = await client.until((frame) => frame["event"] === "chat" && payloadOf(frame)["state"] === "final");
    expect(String(payloadOf(final)["sessionKey"])).toContain("telegram");
    client.close();
  });

  test("is notified when the gateway stops", async ({ world, expect }) => {
    const { gateway } = await world.start(WEB_ONLY);
    const client = await open(gateway);
    gateway.signal("SIGTERM");
    await client.event("shutdown");
    expect((await client.closed).code).toBe(1012);
    expect(await gateway.ended).toBe(0);
  });
});

describe.concurrent("a request without the right", () => {
  test("token is refused, and too often locks out", async ({ world, expect }) => {
    const { gateway } = await world.start({
      ...WEB_ONLY,
      gateway: { auth: { rateLimit: { maxAttempts: 3, windowMs: 60_000, lockoutMs: 60_000 } } },
    });
    const codes: unknown[] = [];
    for (let tries = 0; tries < 4; tries += 1) {
      const client = new RawClient(ws(gateway));
      const hello = await client.connect({ auth: { token: "wrong" } });
      codes.push(isRecord(hello["error"]) && isRecord(hello["error"]["details"]) && hello["error"]["details"]["code"]);
      expect((await client.closed).code).toBe(1008);
    }
    expect(codes).toEqual(["AUTH_TOKEN_MISMATCH", "AUTH_TOKEN_MISMATCH", "AUTH_TOKEN_MISMATCH", "AUTH_RATE_LIMITED"]);
    const right = new RawClient(ws(gateway));
    expect(await right.connect({ auth: { token: TOKEN } })).toMatchObject({ ok: false });
    const api = await fetch(`${http(gateway)}/v1/models`, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect(api.status).toBe(429);
  });

  inOneGateway("token at all is refused", async ({ world, expect }) => {
    const { gateway } = world.start();
    const client = new RawClient(ws(gateway));
    const hello = await client.connect({ auth: {} });
    expect(hello).toMatchObject({ ok: false, error: { details: { code: "AUTH_TOKEN_MISSING" } } });
    expect((await fetch(`${http(gateway)}/v1/models`)).status).toBe(401);
  });

  inOneGateway("origin is refused; the page's own is not", async ({ world, expect }) => {
    const { gateway } = world.start();
    const foreign = new RawClient(ws(gateway), { origin: "https://evil.example.org" });
    await foreign.closed;
    expect(foreign.frames).toEqual([]);
    const own = new RawClient(ws(gateway), { origin: http(gateway) });
    expect(await own.connect({ auth: { token: TOKEN } })).toMatchObject({ ok: true });
    own.close();
  });

  test("place for the token is refused", async ({ world, expect }) => {
    const { gateway } = await world.start(WEB_ONLY);
    const client = new RawClient(`${ws(gateway)}/?token=${TOKEN}`);
    await client.closed;
    expect(client.frames).toEqual([]);
    const page = await fetch(`${http(gateway)}/?token=${TOKEN}`);
    expect(page.status).toBe(400);
    expect(await page.text()).not.toContain(TOKEN);
    const printed = gateway.output.split("\n").filter((line) => !line.includes("/#token="));
    expect(printed.join("\n")).not.toContain(TOKEN);
  });
});

describe.concurrent("the gateway over HTTP", () => {
  test("reports health, readiness and metrics", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    world.telegram.say("hello");
    await world.told("hello");
    await outcomesOf(home, 1);
    expect(await (await fetch(`${http(gateway)}/healthz`)).json()).toMatchObject({ ok: true });
    expect(await (await fetch(`${http(gateway)}/readyz`)).json()).toEqual({ ok: true, problems: [] });
    const metrics = await (await fetch(`${http(gateway)}/metrics`)).text();
    expect(metrics).toMatch(/^# TYPE openclaw_\w+ (gauge|counter)$/m);
    expect(metrics).toMatch(/^openclaw_channel_connected\{channel="telegram",account="default"\} 1$/m);
    for (const line of metrics.split("\n").filter((text) => text !== "" && !text.startsWith("#")))
      expect(line).toMatch(/^[a-z_]+(\{[^}]*\})? [-+\d.eE]+$/);
  });

  inOneGateway("serves the page with a strict policy", async ({ world, expect }) => {
    const { gateway } = world.start();
    const page = await fetch(`${http(gateway)}/`);
    expect(page.status).toBe(200);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await page.text()).not.toContain(TOKEN);
    expect((await fetch(`${http(gateway)}/..%2fmain.js`)).status).toBe(404);
  });

  test("shows its config without a secret", async ({ world, expect }) => {
    const { gateway } = await world.start({
      models: { providers: { fake: { apiKey: "sk-very-secret-key-of-the-test" } } },
    });
    const client = await open(gateway);
    for (const method of ["config.get", "status", "health", "models.list", "channels.status"]) {
      const text = JSON.stringify(await client.request(method));
      expect(text, method).toContain('"ok":true');
      expect(text, method).not.toContain("sk-very-secret");
      expect(text, method).not.toContain(world.telegram.token);
      expect(text, method).not.toContain(TOKEN);
    }
    client.close();
  });
});
