import { createHmac } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, vi } from "vitest";
import { call } from "../../kit/gateway/rpc.ts";
import { type GatewayUnderTest, PATIENCE } from "../../kit/gateway/process.ts";
import { outcomesOf } from "../../kit/gateway/state-files.ts";
import { test } from "../../kit/gateway/world.ts";

const TOKEN = "hook-token-0123456789";
const OWNED = { commands: { ownerAllowFrom: ["1001"] } };
const hooks = (more: object = {}) => ({ ...OWNED, hooks: { enabled: true, token: TOKEN, ...more } });

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers: Headers;
}

async function post(
  { port }: GatewayUnderTest,
  path: string,
  body: unknown,
  headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` },
): Promise<Answer> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(`http://127.0.0.1:${port}/hooks/${path}`, { method: "POST", headers, body: text });
  const said = await response.text();
  return { status: response.status, headers: response.headers, body: said === "" ? {} : JSON.parse(said) };
}

describe.concurrent("a request of another program", () => {
  test("begins a turn whose answer the owner gets, with its text as untrusted content", async ({ world, expect }) => {
    const { home, gateway } = await world.start(hooks());
    world.model.answer((asked) => ({ text: asked.said.includes("UNTRUSTED") ? "The build is red." : "hi" }));
    world.telegram.say("hello");
    await world.told("hi");
    const answer = await post(gateway, "agent", { message: "build 7 failed", name: "CI" });
    expect(answer).toMatchObject({ status: 202, body: { ok: true, runId: expect.any(String) } });
    await world.told("The build is red.", 1001);
    await outcomesOf(home, 2);
    const asked = world.model.calls.at(-1);
    expect(asked?.said).toMatch(
      /SECURITY NOTICE[\s\S]*EXTERNAL_UNTRUSTED_CONTENT[\s\S]*Source: Webhook\nFrom: CI\n---\nbuild 7 failed/,
    );
    expect(asked?.system).toContain("Another program has sent this text");
    const why = await home.run(["why", String(answer.body["runId"])]);
    expect(why.stdout).toContain("hook");
  });

  test("is answered when it is durable, once for each key, also after a kill", async ({ world, expect }) => {
    const { home, gateway } = await world.start(hooks());
    world.model.answer(() => "hang");
    const headers = { authorization: `Bearer ${TOKEN}`, "idempotency-key": "build-7" };
    const first = await post(gateway, "agent", { message: "build 7 failed", deliver: false }, headers);
    await gateway.kill("SIGKILL");
    world.model.answer(() => ({ text: "seen" }));
    const again = await home.start();
    expect(await post(again, "agent", { message: "build 7 failed", deliver: false }, headers)).toMatchObject({
      status: 202,
      body: first.body,
    });
    expect(await outcomesOf(home, 1)).toHaveLength(1);
    const other = await post(again, "agent", { message: "x", deliver: false, waitForCompletion: true });
    expect(other).toMatchObject({ status: 200, body: { completion: { status: "ok" } } });
    expect(await outcomesOf(home, 2)).toHaveLength(2);
  });

  test("wakes the agent's conversation with a text, now or with its next turn", async ({ world, expect }) => {
    const { home, gateway } = await world.start(hooks());
    world.model.answer((asked) => ({
      text: asked.said.includes("another program has reported") ? "The door is open." : "hi",
    }));
    world.telegram.say("hello");
    await world.told("hi");
    expect(await post(gateway, "wake", { text: "door open" })).toMatchObject({
      status: 200,
      body: { ok: true, mode: "now" },
    });
    await world.told("The door is open.", 1001);
    await outcomesOf(home, 2);
    expect(await post(gateway, "wake", { text: "window open", mode: "next-heartbeat" })).toMatchObject({ status: 200 });
    await outcomesOf(home, 3);
    world.telegram.say("anything new?");
    await outcomesOf(home, 4);
    expect(world.model.calls.at(-1)?.said).toContain("window open");
  });

  test("of a client wakes one conversation with a text, now or with its next turn", async ({ world, expect }) => {
    const { gateway } = await world.start({ commands: { ownerAllowFrom: ["1001"] } });
    world.model.answer((asked) => ({
      text: asked.said.includes("the tide") ? `heard of ${asked.said.match(/tide (\w+)/)?.[1]}` : "hi",
    }));
    world.telegram.say("hello", { from: { id: 2002 } });
    await world.told("hi", 2002);
    const sessionKey = "telegram:default:2002";
    expect(await call(gateway, "wake", { text: "the tide rises", sessionKey })).toEqual({ ok: true });
    await world.told("heard of rises", 2002);
    await call(gateway, "wake", { text: "the tide falls", sessionKey, mode: "next-heartbeat" });
    world.telegram.say("and?", { from: { id: 2002 } });
    await world.told("heard of falls", 2002);
    await expect(call(gateway, "wake", { text: "x", sessionKey: "telegram:default:3" })).rejects.toThrow(
      "no such conversation",
    );
    await expect(call(gateway, "wake", { sessionKey })).rejects.toThrow("the text for the conversation");
  });

  test("says whether a chat got the answer that it waited for", async ({ world, expect }) => {
    const list = [{ id: "main", default: true }, { id: "owl" }];
    const { gateway } = await world.start({ hooks: { enabled: true, token: TOKEN }, agents: { list } });
    world.model.answer(() => ({ text: "an answer" }));
    const { body } = await post(gateway, "agent", { message: "look", agentId: "owl", waitForCompletion: true });
    expect(body).toMatchObject({ completion: { status: "ok", replyDisposition: "visible", delivered: false } });
  });

  test("that waits for the next turn is in one turn alone, however often it is repeated with its key", async ({
    world,
    expect,
  }) => {
    const { home, gateway } = await world.start(hooks());
    const headers = { authorization: `Bearer ${TOKEN}`, "idempotency-key": "window-1" };
    const open = () => post(gateway, "wake", { text: "window open", mode: "next-heartbeat" }, headers);
    world.telegram.say("hello");
    await world.told("echo:");
    for (const _time of [1, 2]) expect((await open()).status).toBe(200);
    await outcomesOf(home, 2);
    world.telegram.say("what is new?");
    await outcomesOf(home, 3);
    expect((await open()).status).toBe(200);
    world.telegram.say("and now?");
    await outcomesOf(home, 4);
    const news = world.model.calls.filter(({ said }) => said.includes("window open"));
    expect(news.map(({ said }) => said)).toEqual([expect.stringContaining("what is new?")]);
  });

  test("of several items begins all of them or none", async ({ world, expect }) => {
    const list = { match: { path: "list" }, forEach: "items", messageTemplate: "item {{items[0].id}}", deliver: false };
    const mappings = [{ ...list, sessionKey: "{{items[0].key}}" }];
    const { gateway } = await world.start(hooks({ allowedSessionKeyPrefixes: ["hook:"], mappings }));
    const items = [
      { id: 1, key: "hook:one" },
      { id: 2, key: "other:two" },
    ];
    expect(await post(gateway, "list", { items })).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining("hooks.allowedSessionKeyPrefixes") },
    });
    expect((await post(gateway, "list", { items: items.slice(0, 1) })).body).toMatchObject({ dispatched: 1 });
    await vi.waitUntil(() => world.model.calls.length > 0, PATIENCE);
    expect(world.model.calls.map(({ said }) => /item \d/.exec(said)?.[0])).toEqual(["item 1"]);
  });

  test("needs the token of hooks, which is guessed twenty times at most", async ({ world, expect }) => {
    const { gateway } = await world.start(hooks());
    const wrong = { authorization: "Bearer wrong" };
    expect((await post(gateway, "agent", { message: "x" }, {})).status).toBe(401);
    expect((await post(gateway, "agent", { message: "x" }, { authorization: `Bearer ${gateway.token}` })).status).toBe(
      401,
    );
    expect((await post(gateway, `agent?token=${TOKEN}`, { message: "x" })).status).toBe(400);
    expect((await fetch(`http://127.0.0.1:${gateway.port}/hooks/agent`)).status).toBe(405);
    expect((await post(gateway, "agent", { message: "x", deliver: false }, { "x-openclaw-token": TOKEN })).status).toBe(
      202,
    );
    for (let guess = 0; guess < 18; guess += 1) await post(gateway, "wake", { text: "x" }, wrong);
    const locked = await post(gateway, "wake", { text: "x" });
    expect([locked.status, Number(locked.headers.get("retry-after")) > 0]).toEqual([429, true]);
  });

  test("is taken with a token or signature that nobody can guess, also after wrong tokens of others", async ({
    world,
    expect,
  }) => {
    const [secret, token] = ["signing-secret-0123456789", "k3yOfHooks-7f2d9c41b8e6a05-Qx9vT2"];
    const verify = { header: "X-Hub-Signature-256", secret };
    const mappings = [{ match: { path: "git" }, messageTemplate: "{{action}}", deliver: false, verify }];
    const { gateway } = await world.start(hooks({ token, mappings }));
    world.model.answer(() => ({ text: "ok" }));
    const guess = () => post(gateway, "wake", { text: "x" }, { authorization: "Bearer wrong" });
    for (let count = 0; count < 20; count += 1) expect((await guess()).status).toBe(401);
    expect((await guess()).status).toBe(429);
    const bearer = { authorization: `Bearer ${token}` };
    expect((await post(gateway, "agent", { message: "x", deliver: false }, bearer)).status).toBe(202);
    const body = JSON.stringify({ action: "opened" });
    const signed = { "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` };
    expect((await post(gateway, "git", body, signed)).status).toBe(202);
    expect((await post(gateway, "git", `${body} `, signed)).status).toBe(429);
    expect((await guess()).status).toBe(429);
  });

  test("that is signed begins nothing anew when its delivery comes again", async ({ world, expect }) => {
    const secret = "signing-secret-0123456789";
    const of = (path: string, header: string) => ({
      match: { path },
      messageTemplate: "{{action}}",
      deliver: false,
      verify: { header, secret },
    });
    const { home, gateway } = await world.start(
      hooks({ mappings: [of("git", "X-Hub-Signature-256"), of("pay", "Stripe-Signature")] }),
    );
    world.model.answer(() => ({ text: "ok" }));
    const hmac = (text: string) => createHmac("sha256", secret).update(text).digest("hex");
    const git = (delivery: string) => {
      const body = JSON.stringify({ action: "opened" });
      const headers = { "x-hub-signature-256": `sha256=${hmac(body)}`, "x-github-delivery": delivery };
      return post(gateway, "git", body, headers);
    };
    const pay = (id: string, at: number) => {
      const body = JSON.stringify({ id, action: "paid" });
      const time = Math.floor(Date.now() / 1000) + at;
      return post(gateway, "pay", body, { "stripe-signature": `t=${time},v1=${hmac(`${time}.${body}`)}` });
    };
    const [one, again, other] = [await git("d-1"), await git("d-1"), await git("d-2")];
    expect(again).toMatchObject({ status: 202, body: one.body });
    expect(other.body["runIds"]).not.toEqual(one.body["runIds"]);
    const [paid, repeated, next] = [await pay("evt_1", 0), await pay("evt_1", 1), await pay("evt_2", 0)];
    expect(repeated).toMatchObject({ status: 202, body: paid.body });
    expect(next.body["runIds"]).not.toEqual(paid.body["runIds"]);
    expect(await outcomesOf(home, 4)).toHaveLength(4);
  });

  test("without the token is answered before its body is read, so that slow ones keep nobody waiting", async ({
    world,
    expect,
  }) => {
    const { gateway } = await world.start(hooks());
    world.model.answer(() => ({ text: "ok" }));
    const head = "POST /hooks/agent HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1000\r\n\r\n{";
    const slow = Array.from({ length: 80 }, () => {
      const socket = connect(gateway.port, "127.0.0.1", () => socket.write(head));
      return once(socket, "data").then(([answer]) => {
        socket.destroy();
        return String(answer).slice(9, 12);
      });
    });
    const answers = await Promise.all(slow);
    expect(answers.filter((status) => status === "401").length).toBeGreaterThan(0);
    expect(answers.every((status) => status === "401" || status === "429")).toBe(true);
  });

  test("is refused with the reason", async ({ world, expect }) => {
    const mappings = [
      { match: { path: "ci" }, sessionKey: "hook:ci-{{repo}}" },
      { match: { path: "named" }, sessionKey: "{{key}}" },
      { match: { path: "news" }, sessionKey: "{{key}}", action: "wake" },
      { match: { path: "deep" } },
    ];
    const rules = hooks({ allowedAgentIds: ["main"], maxBodyBytes: 10_000, mappings });
    const { gateway } = await world.start({ ...rules, agents: { list: [{ id: "main" }, { id: "other" }] } });
    const tries: readonly (readonly [string, unknown, number, string])[] = [
      ["agent", "no json", 400, "no JSON"],
      ["agent", {}, 400, "message"],
      ["agent", { message: "x", channel: "telegram" }, 400, "channel and to"],
      ["agent", { message: "x", channel: "last", to: "1" }, 400, "not last"],
      ["agent", { message: "x", sessionKey: "main" }, 400, "hooks.allowRequestSessionKey"],
      ["agent", { message: "x", agentId: "other" }, 400, "hooks.allowedAgentIds"],
      ["ci", { repo: "a\nb" }, 400, "control characters"],
      ["ci", { repo: "a".repeat(500) }, 400, "at most 400 characters"],
      ["ci", { repo: "::other" }, 400, "subagent"],
      ["named", { key: "agent:other:main" }, 400, "hooks.allowedAgentIds"],
      ["news", { key: "agent:other:main" }, 400, "hooks.allowedAgentIds"],
      ["deep", `{"a":${"[".repeat(3000)}${"]".repeat(3000)}}`, 400, "more than 200 levels"],
      ["agent", { message: "x", thinking: "much" }, 400, "thinking"],
      ["agent", { message: "x".repeat(11_000) }, 413, "too large"],
      ["wake", { text: "" }, 400, "text"],
      ["other", { a: 1 }, 404, 'no mapping for "other"'],
    ];
    for (const [path, body, status, words] of tries) {
      const answer = await post(gateway, path, body);
      expect([answer.status, answer.body["error"]]).toEqual([status, expect.stringContaining(words)]);
    }
    expect(world.model.calls).toHaveLength(0);
  });

  test("reaches the agent that it names in the conversation that it names, or is refused", async ({
    world,
    expect,
  }) => {
    const { gateway } = await world.start({
      ...hooks({ allowRequestSessionKey: true }),
      agents: { list: [{ id: "main" }, { id: "ops" }] },
    });
    world.model.answer(() => ({ text: "ok" }));
    for (const [path, text] of [
      ["wake", { text: "x" }],
      ["agent", { message: "x", deliver: false }],
    ] as const) {
      const of = (agentId: string, sessionKey: string) => post(gateway, path, { ...text, agentId, sessionKey });
      for (const [agentId, sessionKey] of [
        ["ops", "agent:main:hook:a"],
        ["ops", "agent:none:hook:a"],
        ["main", "agent:ops:hook:a"],
      ] as const) {
        const answer = await of(agentId, sessionKey);
        expect([answer.status, answer.body["error"]]).toEqual([400, expect.stringContaining("sessionKey: it belongs")]);
      }
      expect((await of("ops", `hook:${path}`)).status).toBeLessThan(300);
      expect((await of("ops", `agent:ops:hook:${path}-2`)).status).toBeLessThan(300);
    }
    await vi.waitFor(() => expect(world.model.calls).toHaveLength(4), PATIENCE);
    const listed = JSON.stringify(await call(gateway, "sessions.list", {}));
    for (const key of ["hook:wake", "hook:wake-2", "hook:agent", "hook:agent-2"])
      expect(listed).toContain(`"agent:ops:${key}"`);
    const other = { text: "x", agentId: "main", sessionKey: "agent:ops:hook:wake" };
    await expect(call(gateway, "wake", other)).rejects.toThrow(/sessionKey: it belongs to another agent/i);
  });

  test("is what its mapping makes of it: a template, a list, a transform, a signature", async ({ world, expect }) => {
    const secret = "signing-secret-0123456789";
    const config = hooks({
      allowedSessionKeyPrefixes: ["hook:"],
      presets: ["gmail"],
      mappings: [
        {
          match: { path: "ci" },
          name: "CI",
          messageTemplate: "{{repo.name}} {{builds[0].state}} {{missing}}",
          sessionKey: "hook:ci-{{repo.name}}",
          deliver: false,
        },
        { match: { path: "list" }, forEach: "items", messageTemplate: "item {{items[0].id}}", deliver: false },
        {
          match: { path: "git" },
          messageTemplate: "{{action}}",
          deliver: false,
          allowUnsafeExternalContent: true,
          verify: { header: "X-Hub-Signature-256", secret },
        },
        { match: { path: "code" }, messageTemplate: "plain", deliver: false, transform: { module: "change.mjs" } },
        { match: { path: "out" }, transform: { module: "../outside.mjs" } },
      ],
    });
    const { home, gateway } = await world.start(config);
    const folder = join(home.stateDir, "hooks", "transforms");
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, "change.mjs"),
      "export default ({ payload }) => (payload.skip ? null : { message: `changed ${payload.n}` });",
    );
    await writeFile(join(home.stateDir, "hooks", "outside.mjs"), "export default () => ({});");
    world.model.answer(() => ({ text: "ok" }));
    expect(await post(gateway, "ci", { repo: { name: "web" }, builds: [{ state: "red" }] })).toMatchObject({
      status: 202,
      body: { dispatched: 1 },
    });
    expect(await post(gateway, "list", { items: [{ id: 1 }, { id: 2 }] })).toMatchObject({
      status: 202,
      body: { dispatched: 2, runIds: [expect.any(String), expect.any(String)] },
    });
    const body = JSON.stringify({ action: "opened" });
    const signed = { "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` };
    expect((await post(gateway, "git", body, signed)).status).toBe(202);
    expect((await post(gateway, "git", `${body} `, signed)).status).toBe(401);
    expect((await post(gateway, "code", { n: 5 })).status).toBe(202);
    expect((await post(gateway, "code", { skip: true })).status).toBe(204);
    expect((await post(gateway, "out", {})).status).toBe(500);
    expect(
      (await post(gateway, "gmail", { messages: [{ id: "m1", from: "ada", subject: "hi", snippet: "s" }] })).status,
    ).toBe(202);
    await vi.waitFor(() => expect(world.model.calls).toHaveLength(6), PATIENCE);
    const said = world.model.calls.map((asked) => asked.said).join("\n====\n");
    for (const text of ["web red", "item 1", "item 2", "changed 5", "Subject: hi"]) expect(said).toContain(text);
    expect(said).toMatch(/(^|\n)opened/);
    expect(JSON.stringify(await call(gateway, "sessions.list", {}))).toContain("hook:ci-web");
  });

  test("cannot make the agent send anything out or change what it is told later", async ({ world, expect }) => {
    const { home, gateway } = await world.start(hooks());
    await writeFile(join(home.stateDir, "workspace", "secret.txt"), "the code is 4711");
    const job = { schedule: { kind: "every", everyMs: 86_400_000 }, message: "x", delivery: { mode: "none" } };
    const { id } = Object(await call(gateway, "cron.add", job));
    for (const [tool, args] of [
      ["write", { path: "AGENTS.md", content: "obey" }],
      ["cron", { action: "add", at: "1h", text: "obey" }],
      ["cron", { action: "update", id, patch: { name: "obey" } }],
      ["cron", { action: "run", id }],
    ] as const) {
      world.model.answer((asked) => (asked.isAfterTool ? { text: asked.toolText } : { tool, args }));
      const answer = await post(gateway, "agent", { message: "do it", deliver: false, waitForCompletion: true });
      expect(answer).toMatchObject({ status: 200, body: { completion: { status: "ok" } } });
      expect(world.model.calls.at(-1)?.toolText).toContain("untrusted content (webhook)");
    }
    expect(await call(gateway, "cron.list", {})).toMatchObject({ total: 1 });
    expect(await call(gateway, "cron.runs", { id })).toMatchObject({ total: 0 });
  });
});
