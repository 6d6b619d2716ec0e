import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { acquireStateLock } from "../../../src/store/lock/lock.ts";
import { ended, outputMatching, run, start, stateDir } from "../../kit/gateway/cli.ts";
import { fakeGateway, Refusal, TOKEN, type Answers, type Asked } from "./fake-gateway.ts";

const STATUS = {
  version: "9.9.9",
  uptimeMs: 7_300_000,
  activeRuns: 1,
  connections: 2,
  sessions: { count: 3 },
  ready: { ok: true, problems: [] },
  model: { provider: "demo", id: "echo-agent", demo: true },
  channels: [{ channel: "telegram", accountId: "default", lifecycle: "running" }],
};

const emptyState = () => ({ OPENCLAW_STATE_DIR: stateDir("{ gateway: { port: 1 } }") });

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}

test("status shows the gateway's report, for people and scripts", async () => {
  const gateway = await fakeGateway({ status: () => STATUS });
  const env = { ...emptyState(), ...gateway.env };
  const { code, out } = await run(["status"], env);
  expect(code).toBe(0);
  expect(out).toMatch(
    /^Gateway +9\.9\.9 at ws:.*\nUp for +2 h\nReady +yes\nModel +demo\/echo-agent \(the built-in demo\)\n/,
  );
  expect(out).toContain("telegram/default running");
  expect(out).toContain("1 runs now, 3 sessions, 2 clients");
  const json = JSON.parse((await run(["status", "--json"], env)).out);
  expect(json).toMatchObject({
    gateway: { reachable: true },
    status: { uptimeMs: 7_300_000 },
    config: { valid: true },
  });
  expect(gateway.connects[0]).toMatchObject({ minProtocol: 4, maxProtocol: 4, role: "operator" });
});

test("status works without a gateway; gateway status, health and agent say how to start it", async () => {
  const port = await freePort();
  const env = { OPENCLAW_STATE_DIR: stateDir(`{ gateway: { port: ${port} } }`) };
  expect(await run(["status"], env)).toMatchObject({ code: 0, out: expect.stringContaining("not running") });
  expect(JSON.parse((await run(["gateway", "status", "--json"], env)).out)).toMatchObject({
    running: false,
    reachable: false,
    error: { code: "GATEWAY_UNREACHABLE" },
  });
  for (const args of [["health"], ["agent", "-m", "x"], ["channels", "status"]]) {
    const { code, out, err } = await run(args, env);
    expect([code, out], args.join(" ")).toEqual([75, ""]);
    expect(err).toBe(
      `error GATEWAY_UNREACHABLE: No gateway answers at ws://127.0.0.1:${port}.\nfix: Start it: openclaw gateway run (as a service: openclaw gateway start)\n`,
    );
  }
  expect((await run(["gateway", "status"], env)).code).toBe(1);
  expect(await run(["gateway", "stop"], env)).toMatchObject({
    code: 0,
    out: expect.stringContaining("No gateway runs"),
  });
});

test("a gateway that has not published its port yet is reported as starting", async () => {
  const dir = stateDir(`{ gateway: { port: ${await freePort()} } }`);
  const lock = await acquireStateLock(dir);
  onTestFinished(() => lock.release());
  for (const args of [["why", "1"], ["inbox", "list"], ["health"]]) {
    const { code, err } = await run(args, { OPENCLAW_STATE_DIR: dir });
    expect([code, err], args.join(" ")).toEqual([
      75,
      expect.stringMatching(
        new RegExp(`^error GATEWAY_UNREACHABLE: A gateway \\(pid ${process.pid}\\) is starting .*\nfix: Try again`),
      ),
    ]);
  }
  await lock.note({ port: await freePort() });
  expect((await run(["why", "1"], { OPENCLAW_STATE_DIR: dir })).err).toContain("No gateway answers");
});

test("what the gateway says to do about an error is shown", async () => {
  const fix = "See what there is: openclaw inbox list --all.";
  const refuse = (details: object) => () => {
    throw new Refusal("INVALID_REQUEST", "There is no message in row 9.", { ...details, fix });
  };
  const gateway = await fakeGateway({ "inbox.get": refuse({ kind: "NOT_FOUND" }), "inbox.drop": refuse({}) });
  const env = { ...emptyState(), ...gateway.env };
  for (const verb of ["show", "drop"])
    expect((await run(["inbox", verb, "9"], env)).err).toMatch(
      /There is no message in row 9\.\nfix: See what there is/,
    );
});

test("the token comes from config, environment or the credentials file; a wrong one is exit code 78", async () => {
  const gateway = await fakeGateway({ health: () => ({ ok: true }) });
  const config = `{ gateway: { port: ${gateway.port}, auth: { token: "from-config" } } }`;
  const wrong = await run(["health"], { OPENCLAW_STATE_DIR: stateDir(config) });
  expect([wrong.code, wrong.err]).toEqual([78, expect.stringContaining("error GATEWAY_UNAUTHORIZED")]);
  const dir = stateDir(`{ gateway: { port: ${gateway.port} } }`);
  mkdirSync(join(dir, "credentials"));
  writeFileSync(join(dir, "credentials", "gateway-token"), `${TOKEN}\n`);
  expect((await run(["health"], { OPENCLAW_STATE_DIR: dir })).code).toBe(0);
  writeFileSync(join(dir, "credentials", "gateway-token"), "of-the-file\n");
  expect((await run(["health"], { OPENCLAW_STATE_DIR: dir, OPENCLAW_GATEWAY_TOKEN: TOKEN })).code).toBe(0);
  const both = { OPENCLAW_STATE_DIR: stateDir(config), OPENCLAW_GATEWAY_TOKEN: TOKEN };
  expect((await run(["health"], both)).code).toBe(78);
});

test("a password of the config or the environment goes along", async () => {
  const gateway = await fakeGateway({ health: () => ({ ok: true }) });
  const dir = stateDir(`{ gateway: { port: ${gateway.port}, auth: { token: "${TOKEN}" } } }`);
  const env = { OPENCLAW_STATE_DIR: dir, OPENCLAW_GATEWAY_PASSWORD: "a-password" };
  expect((await run(["health"], env)).code).toBe(0);
  expect((await run(["health"], { ...env, ...gateway.env })).code).toBe(0);
  const auth = { token: TOKEN, password: "a-password" };
  expect(gateway.connects.map((connect) => connect["auth"])).toEqual([auth, auth]);
});

test("a gateway given by hand never gets the token of this machine's own", async () => {
  const gateway = await fakeGateway({ health: () => ({ ok: true }) });
  const dir = stateDir(`{ gateway: { auth: { token: "${TOKEN}" } } }`);
  const env = { OPENCLAW_STATE_DIR: dir, OPENCLAW_GATEWAY_URL: `ws://127.0.0.1:${gateway.port}` };
  const { code, err } = await run(["health"], env);
  expect([code, err]).toEqual([78, expect.stringContaining("OPENCLAW_GATEWAY_TOKEN")]);
  expect(gateway.connects[0]).not.toHaveProperty("auth");
  const noUrl = await run(["health"], { ...env, OPENCLAW_GATEWAY_URL: "http://127.0.0.1:1" });
  expect(noUrl).toMatchObject({ code: 2, err: expect.stringContaining("no ws:// or wss:// URL") });
});

test("a gateway that does not answer is reported after the given time", async () => {
  const gateway = await fakeGateway({ health: () => undefined });
  const { code, err } = await run(["health", "--timeout", "50"], { ...emptyState(), ...gateway.env });
  expect([code, err]).toEqual([75, expect.stringContaining("no answer within 50 ms")]);
});

const USAGE = { input: 3, output: 2, totalTokens: 5 };

/** A run that says two messages with a tool between them. */
function talk(over: (asked: Asked, runId: unknown) => void, outcome: object): Answers {
  return {
    agent({ params, event }) {
      const runId = params["idempotencyKey"];
      const chat = (payload: object) => event("chat", { runId, sessionKey: "k", ...payload });
      event("chat", { runId: "another", state: "delta", deltaText: "not mine" });
      chat({ state: "status", phase: "starting_model" });
      chat({ state: "delta", deltaText: "Let me " });
      chat({ state: "delta", deltaText: "look.\u001b[2J" });
      event("agent", { runId, stream: "tool", data: { phase: "start", name: "ls" } });
      chat({ state: "delta", deltaText: "Done.", replace: true });
      event("agent", { runId, stream: "usage", data: { usage: USAGE, provider: "demo", model: "echo-agent" } });
      return { runId, status: "accepted", sessionKey: "k" };
    },
    "agent.wait"(asked) {
      const { runId } = asked.params;
      over(asked, runId);
      return { runId, ...outcome };
    },
  };
}

const final = ({ event }: Asked, runId: unknown) => event("chat", { runId, state: "final", usage: USAGE });
const SAID = { status: "ok", text: "Let me look.\u001b[2J\n\nDone." };

test("agent prints the whole answer into a pipe, and streams it to a terminal without its control characters", async () => {
  const gateway = await fakeGateway(talk(final, SAID));
  const env = { ...emptyState(), ...gateway.env };
  const piped = await run(["agent", "-m", "hi", "--session-key", "main", "--thinking", "low"], env);
  expect(piped).toEqual({ code: 0, out: `${SAID.text}\n`, err: "" });
  expect(gateway.requests[0]).toMatchObject({
    method: "agent",
    params: { message: "hi", sessionKey: "main", thinking: "low", idempotencyKey: expect.any(String) },
  });
  const watched = await run(["agent", "-m", "hi", "--verbose"], env, true);
  expect(watched).toEqual({ code: 0, out: "Let me look.[2J\n\nDone.\n", err: "[ls]\n" });
});

test("agent --json gives the text, the run, its cost and model", async () => {
  const gateway = await fakeGateway(talk(final, SAID));
  const { code, out } = await run(["agent", "-m", "hi", "--json"], { ...emptyState(), ...gateway.env });
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({
    runId: expect.any(String),
    status: "ok",
    sessionKey: "k",
    text: SAID.text,
    usage: USAGE,
    model: { provider: "demo", id: "echo-agent" },
    result: { payloads: [{ text: SAID.text }] },
  });
});

test("a failed run is exit code 1 with its reason", async () => {
  const over = ({ event }: Asked, runId: unknown) => event("chat", { runId, state: "error" });
  const gateway = await fakeGateway(talk(over, { status: "error", error: "The model is away." }));
  const env = { ...emptyState(), ...gateway.env };
  expect(await run(["agent", "-m", "hi"], env)).toMatchObject({ code: 1, err: "error: The model is away.\n" });
  const json = await run(["agent", "-m", "hi", "--json"], env);
  expect([json.code, JSON.parse(json.out)]).toMatchObject([1, { status: "error", error: "The model is away." }]);
});

test("a connection lost in the middle of a run is reported", async () => {
  const gateway = await fakeGateway(talk(({ cut }) => cut(), SAID));
  const { code, err } = await run(["agent", "-m", "hi"], { ...emptyState(), ...gateway.env });
  expect([code, err]).toEqual([75, expect.stringContaining("error GATEWAY_UNREACHABLE")]);
});

test("a command that waits for permission is shown, those of other runs are not", async () => {
  const approval = (id: string, runId: unknown) => ({ id, request: { command: `date\u001b[2J ${id}`, runId } });
  const over = (asked: Asked, runId: unknown) => {
    asked.event("exec.approval.requested", approval("theirs", "another"));
    asked.event("exec.approval.requested", approval("ours", runId));
    final(asked, runId);
  };
  const gateway = await fakeGateway(talk(over, SAID));
  const { code, err } = await run(["agent", "-m", "hi"], { ...emptyState(), ...gateway.env });
  expect(code).toBe(0);
  expect(err).toBe(
    'Waits for permission to run: date[2J ours\nAnswer: openclaw agent -m "/approve ours once" (or always, or deny)\n',
  );
});

test("Ctrl-C ends the run too", async () => {
  const waits = Promise.withResolvers<void>();
  const gateway = await fakeGateway({
    ...talk(() => undefined, SAID),
    "agent.wait": () => waits.resolve(),
    "chat.abort": () => ({ ok: true, aborted: true, runIds: [] }),
  });
  const child = start(["agent", "-m", "hi"], { ...emptyState(), ...gateway.env });
  const over = ended(child);
  await waits.promise;
  child.kill("SIGINT");
  expect((await over).code).toBe(130);
  expect(gateway.requests.at(-1)).toMatchObject({ method: "chat.abort", params: { sessionKey: "k" } });
});

test("an error of the gateway names the command that lists what there is", async () => {
  const none = () => {
    throw new Refusal("INVALID_REQUEST", "there is none", { kind: "NOT_FOUND" });
  };
  const gateway = await fakeGateway({ "pairing.approve": none, "device.pair.reject": none });
  const env = { OPENCLAW_STATE_DIR: stateDir(`{ gateway: { port: ${gateway.port}, auth: { token: "${TOKEN}" } } }`) };
  for (const [args, list] of [
    [["pairing", "approve", "telegram", "x"], "openclaw pairing list"],
    [["devices", "reject", "x"], "openclaw devices list"],
  ] as const) {
    const { code, err } = await run(args, env);
    expect([code, err], args.join(" ")).toEqual([1, expect.stringContaining(list)]);
  }
});

test("what to do about a gateway that does not answer depends on where it is", async () => {
  const at = async (url: string) =>
    (await run(["health"], { OPENCLAW_STATE_DIR: stateDir(), OPENCLAW_GATEWAY_URL: url })).err;
  expect(await at("ws://127.0.0.1:1")).toContain("Start it: openclaw gateway run");
  expect(await at("ws://gateway.invalid:1")).toMatch(/fix: Check the address/);
});

test("gateway run --bind custom wants an address that is named", async () => {
  const refused = await ended(start(["gateway", "run", "--bind", "custom"], { OPENCLAW_STATE_DIR: stateDir("{}") }));
  expect([refused.code, refused.err]).toEqual([78, expect.stringMatching(/BIND_REFUSED[^]*gateway\.customBindHost/)]);
});

test("errors of the gateway keep their meaning", async () => {
  const refusals: [Refusal, number, string][] = [
    [
      new Refusal("INVALID_REQUEST", "no session has the id x", { kind: "NOT_FOUND" }),
      1,
      "error NOT_FOUND: No session has the id x.",
    ],
    [new Refusal("INVALID_REQUEST", "unknown model"), 2, "error USAGE: Unknown model."],
    [new Refusal("UNAVAILABLE", "The disk is full.", { code: "DISK_FULL" }), 75, "error DISK_FULL: The disk is full."],
    [new Refusal("UNAVAILABLE", "agent failed inside"), 1, "error: agent: agent failed inside"],
    [new Refusal("FORBIDDEN", "missing scope"), 78, "error GATEWAY_UNAUTHORIZED"],
  ];
  let refusal = refusals[0]![0];
  const gateway = await fakeGateway({
    agent() {
      throw refusal;
    },
  });
  for (const [next, code, text] of refusals) {
    refusal = next;
    const answer = await run(["agent", "-m", "hi"], { ...emptyState(), ...gateway.env });
    expect([answer.code, answer.err]).toEqual([code, expect.stringContaining(text)]);
  }
});

test("lists come from the gateway where one runs", async () => {
  const request = {
    channel: "telegram",
    account: "default",
    senderId: "7",
    code: "ABCDEFGH",
    createdAt: 1,
    expiresAt: 2,
  };
  const gateway = await fakeGateway({
    "sessions.list": () => ({ sessions: [{ key: "main", updatedAt: Date.now(), hasActiveRun: true }] }),
    "chat.history": () => ({ messages: [{ role: "user", content: "far away" }] }),
    "pairing.list": () => ({ requests: [request] }),
    "pairing.approve": () => ({ ok: true, request }),
    "models.list": () => ({ models: [{ id: "m", provider: "p", name: "M", contextWindow: 200_000, reasoning: true }] }),
    "channels.status": () => ({
      channelAccounts: {
        telegram: [{ accountId: "default", lifecycle: "running", lastError: null, lastInboundAt: null }],
      },
    }),
  });
  const env = { ...emptyState(), ...gateway.env };
  expect((await run(["sessions", "--limit", "5"], env)).out).toMatch(/\nmain +now\n$/);
  expect((await run(["sessions", "show", "main"], env)).out).toBe("user\nfar away\n");
  expect((await run(["pairing", "list"], env)).out).toContain("ABCDEFGH");
  expect((await run(["pairing", "approve", "telegram", "ABCDEFGH", "--notify"], env)).out).toBe(
    "7 may write on telegram now.\n",
  );
  expect((await run(["models", "list"], env)).out).toMatch(/\np\/m +M +200k +yes\n$/);
  expect((await run(["channels"], env)).out).toMatch(/\ntelegram +default +running\n$/);
  expect(gateway.requests.map(({ method, params }) => [method, params])).toMatchObject([
    ["sessions.list", { limit: 5 }],
    ["chat.history", { sessionKey: "main", limit: 20 }],
    ["pairing.list", {}],
    ["pairing.approve", { channel: "telegram", code: "ABCDEFGH", notify: true }],
    ["models.list", {}],
    ["channels.status", {}],
  ]);
});

test("sessions are asked for in pages until all are there", async () => {
  const pages = [
    { sessions: [{ key: "a", updatedAt: Date.now() }], nextOffset: 1 },
    { sessions: [{ key: "b", updatedAt: Date.now() }], nextOffset: null },
  ];
  const gateway = await fakeGateway({ "sessions.list": ({ params }) => pages[Number(params["offset"])] ?? {} });
  const { out } = await run(["sessions", "--json"], { ...emptyState(), ...gateway.env });
  expect(JSON.parse(out)).toMatchObject({ count: 2, sessions: [{ key: "a" }, { key: "b" }] });
  expect(gateway.requests.map(({ params }) => params)).toMatchObject([{ offset: 0 }, { offset: 1 }]);
});

test("the gateway runs, is found by its state directory, answers and is stopped", async () => {
  const env = { OPENCLAW_STATE_DIR: stateDir("{ gateway: { port: 0 } }") };
  const gateway = start(["gateway", "run"], env);
  onTestFinished(() => void gateway.kill("SIGKILL"));
  const over = ended(gateway);
  await outputMatching(gateway, /"listening"[^]*Chat/);
  const answer = await run(["agent", "-m", "hello"], env);
  expect([answer.code, answer.err]).toEqual([0, ""]);
  expect(answer.out).toContain("hello");
  expect((await run(["gateway", "status"], env)).out).toContain(`Process  ${gateway.pid}`);
  expect((await run(["sessions"], env)).out).toContain("agent:main:main");
  const local = await ended(start(["agent", "--local", "-m", "x"], env));
  expect([local.code, local.err]).toEqual([78, expect.stringContaining("error STATE_LOCKED")]);
  expect(await run(["gateway", "stop"], env)).toMatchObject({
    code: 0,
    out: `Stopped the gateway (pid ${gateway.pid}).\n`,
  });
  expect((await over).code).toBe(0);
});

test("agent --local answers without a gateway", async () => {
  const env = { OPENCLAW_STATE_DIR: stateDir() };
  const { code, out, err } = await ended(start(["agent", "--local", "-m", "hello"], env));
  expect([code, err]).toEqual([0, ""]);
  expect(out).toContain("hello");
});
