import type { ServerResponse } from "node:http";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { PairingRequest } from "../../../src/types/answers/pairing.ts";
import type { GatewayEvent } from "../../../src/types/method.ts";
import { Secret } from "../../../src/types/secret.ts";
import { CERTIFICATE, FakeBrowser, FakePushService, readVapid } from "../../fakes/push-service.ts";
import { manualClock, type ManualClock } from "../../kit/clock.ts";
import { recordLog, type RecordedLog } from "../../kit/log.ts";
import { Device } from "../../kit/server/device.ts";
import { RawClient, startTestServer, TOKEN, type Overrides, type TestServer } from "../../kit/server/server.ts";
import { until } from "../../kit/until.ts";

let service: FakePushService;
let browser: FakeBrowser;
let gateway: TestServer;
let clock: ManualClock;
let log: RecordedLog;
let kept: string | undefined;
let isDiskFull: boolean;
let env: Record<string, string>;
let allowsPrivate: boolean;
/** Who waits to be let in. */
let strangers: PairingRequest[];

const store = {
  read: async () => kept,
  async write(text: string) {
    if (isDiskFull) throw new Error("ENOSPC");
    kept = text;
  },
};
let keptDevices: string | undefined;
const devices = { read: async () => keptDevices, write: async (text: string) => void (keptDevices = text) };

async function start(more: Overrides = {}): Promise<void> {
  const push = { store, env, allowPrivate: () => allowsPrivate };
  const pairing = {
    list: async () => strangers,
    turnedAway: async () => [],
    approve: async () => undefined,
    admitted: async () => [],
    reject: async () => undefined,
    revoke: async () => [],
    notify: async () => ({ state: "sent" }) as const,
  };
  gateway = await startTestServer({ ...more, ports: { clock, log, push, devices, pairing, ...more.ports } });
}

async function restart(more: Overrides = {}): Promise<void> {
  await gateway.server.close(100);
  await start(more);
}

async function operator(token = TOKEN): Promise<RawClient> {
  const client = new RawClient(gateway.url);
  expect(await client.connect({ auth: { token } })).toMatchObject({ ok: true });
  return client;
}

/** A browser that is told, with these preferences. */
async function subscribed(preferences?: Record<string, unknown>): Promise<RawClient> {
  const client = await operator();
  const { endpoint, keys } = browser;
  expect(await client.request("push.web.subscribe", { endpoint, keys })).toMatchObject({ ok: true });
  if (preferences)
    expect(await client.request("push.web.preferences.set", { endpoint, preferences })).toMatchObject({ ok: true });
  return client;
}

/** The details that no notification shows unless the device wants them. */
const COMMAND = "rm -rf /srv/secret-project";
const HOUR_MS = 3_600_000;
/** Within this time a push service has to answer. */
const LIMIT_MS = 20_000;

function asked(id: string, lastsMs = HOUR_MS, agentId = "main"): GatewayEvent {
  const request = { command: COMMAND, agentId };
  const payload = { id, approvalKind: "exec", request, createdAtMs: clock.now(), expiresAtMs: clock.now() + lastsMs };
  return { event: "exec.approval.requested", payload, scope: "operator.approvals" };
}

const decided = (id: string): GatewayEvent => ({
  event: "exec.approval.resolved",
  payload: { id, decision: "deny", ts: clock.now() },
  scope: "operator.approvals",
});

const happens = (...events: readonly GatewayEvent[]) => events.forEach((event) => gateway.events.publish(event));

/** Waits until the gateway has nothing more to send: a later notification of a job arrives. */
async function settled(): Promise<number> {
  const end = new FakeBrowser(service, "end");
  const client = await operator();
  await client.request("push.web.subscribe", { endpoint: end.endpoint, keys: end.keys });
  const preferences = { categories: { approvalRequested: false, scheduledTaskFailed: true } };
  await client.request("push.web.preferences.set", { endpoint: end.endpoint, preferences });
  happens({ event: "cron", payload: { jobId: "end", action: "finished", status: "error" } });
  await until(() => service.delivered.some(({ path }) => path === "/push/end"), "the last notification");
  await client.request("push.web.unsubscribe", { endpoint: end.endpoint });
  client.close();
  await until(() => !clock.waits.includes(LIMIT_MS), "the last answer");
  return service.delivered.filter(({ path }) => path !== "/push/end").length;
}

describe.skipIf(CERTIFICATE === undefined)("notifications while the page is closed", () => {
  const authorities = getCACertificates("default");
  beforeAll(() => setDefaultCACertificates([...authorities, CERTIFICATE?.cert ?? ""]));
  afterAll(() => setDefaultCACertificates(authorities));

  beforeEach(async () => {
    [kept, keptDevices, isDiskFull, allowsPrivate, env] = [undefined, undefined, false, true, {}];
    strangers = [];
    // Devices sign the present time.
    clock = manualClock(Math.floor(Date.now() / 1000) * 1000);
    log = recordLog();
    service = await FakePushService.start();
    browser = new FakeBrowser(service);
    await start();
  });

  afterEach(async () => {
    await gateway.server.close(100);
    await service.close();
  });

  test("a browser is told of an approval that waits, and that it does not wait any more", async () => {
    const client = await subscribed();
    const { payload } = await client.request("push.web.vapidPublicKey");
    client.close();
    happens(asked("a1"));
    const first = await service.nth(1);
    expect(browser.read(first)).toEqual({
      title: "Gateway",
      body: "The agent waits for your decision.",
      tag: "approval:a1",
      url: "./?view=needs",
      renotify: false,
    });
    const { key, ...claims } = readVapid(first);
    expect({ vapidPublicKey: key }).toEqual(payload);
    expect(claims).toEqual({
      aud: service.origin,
      exp: clock.now() / 1000 + 43_200,
      sub: "https://www.npmjs.com/package/claw-gateway",
    });
    expect(first.headers).toMatchObject({ ttl: "3600", urgency: "high", "content-encoding": "aes128gcm" });
    happens(decided("a1"));
    const second = await service.nth(2);
    expect(browser.read(second)).toMatchObject({ tag: "approval:a1", isOver: true });
    expect(second.headers["topic"]).toBe(first.headers["topic"]);
    expect(second.headers["topic"]).toMatch(/^[\w-]{32}$/);
    happens(decided("a1"), decided("another"));
    expect(await settled()).toBe(2);
  });

  test.each([
    ["private", "Gateway", "The agent waits for your decision."],
    ["identified", "main", "The agent waits for your decision."],
    ["detailed", "main", `The agent waits for your decision.\n${COMMAND}`],
  ])("%s: a notification shows no more than the device wants", async (detailLevel, title, body) => {
    await subscribed({ detailLevel });
    happens(asked("a1"));
    expect(browser.read(await service.nth(1))).toMatchObject({ title, body });
  });

  test("words of strangers are cleaned and cut", async () => {
    await subscribed({ detailLevel: "detailed" });
    const name = `\u202E${"Ada ".repeat(2000)}\u200B`;
    happens({ event: "pairing.requested", payload: { channel: "telegram", account: "a", senderId: "1", name } });
    const { body } = browser.read(await service.nth(1));
    expect(body).toMatch(/^Somebody asks to be let in\.\nAda Ada [^\u202E\u200B]*$/);
    expect(body.length).toBeLessThan(400);
  });

  const question = { id: "q1", agentId: "main", questions: [{ id: "x", question: "Which one?" }] };
  const news: readonly (readonly [kind: string, event: GatewayEvent])[] = [
    ["agentQuestion", { event: "question.requested", payload: question }],
    [
      "scheduledTaskFailed",
      { event: "cron", payload: { jobId: "j", action: "finished", status: "error", error: "no", job: { name: "J" } } },
    ],
  ];

  test.each(news)("%s: is told only to who wants it", async (kind, event) => {
    const client = await subscribed();
    happens(event);
    expect(await settled()).toBe(0);
    const { endpoint } = browser;
    const preferences = { categories: { [kind]: true }, detailLevel: "detailed" };
    await client.request("push.web.preferences.set", { endpoint, preferences });
    happens(event);
    await until(() => service.delivered.some(({ path }) => path === "/push/browser"), "the notification");
  });

  const german = (): readonly (readonly [tag: string, event: GatewayEvent, body: string])[] => [
    ["approval:a1", asked("a1"), "Der Agent wartet auf deine Entscheidung."],
    ["approval:a1", decided("a1"), "Das wartet nicht mehr auf dich."],
    [
      "pairing:telegram:a:1",
      { event: "pairing.requested", payload: { channel: "telegram", account: "a", senderId: "1" } },
      "Jemand bittet um Zugang.",
    ],
    ["device:d1", { event: "device.pair.requested", payload: { requestId: "d1" } }, "Ein Gerät bittet um mehr Rechte."],
    ["question:q1", { event: "question.requested", payload: question }, "Der Agent hat eine Frage."],
    [
      "job:j",
      { event: "cron", payload: { jobId: "j", action: "finished", status: "error" } },
      "Ein geplanter Auftrag ist fehlgeschlagen.",
    ],
  ];

  test.each([
    ["de", 6],
    ["de-AT", 1],
    ["ja", 0],
    ["__proto__", 0],
  ])("a browser whose page is in '%s' is told in that language, or else in English", async (language, count) => {
    const expected = german().slice(0, count);
    const categories = { agentQuestion: true, scheduledTaskFailed: true };
    const client = await subscribed({ categories });
    const { endpoint, keys } = browser;
    await client.request("push.web.subscribe", { endpoint, keys, language });
    for (const [index, [tag, event, body]] of expected.entries()) {
      happens(event);
      expect(browser.read(await service.nth(index + 1))).toMatchObject({ tag, body });
    }
    await client.request("push.web.test");
    const { body } = browser.read(service.delivered.at(-1)!);
    const isGerman = language.startsWith("de");
    expect(body).toBe(isGerman ? "Benachrichtigungen erreichen dieses Gerät." : "Notifications reach this device.");
    if (isGerman) return;
    happens(asked("a1"));
    expect(browser.read(await service.nth(2))).toMatchObject({ body: "The agent waits for your decision." });
  });

  const minuteIn = (hours: number): number => new Date(Date.now() + hours * HOUR_MS).getUTCHours() * 60;
  const AROUND_NOW = { startMinute: minuteIn(-1), endMinute: minuteIn(2) };

  test.each([
    ["is switched off", { enabled: false }],
    ["wants another agent's", { agentIds: ["coder"] }],
    ["has quiet hours", { quietHours: { enabled: true, ...AROUND_NOW, timeZone: "UTC" } }],
  ])("a device that %s is not told, and nobody waits for its answer", async (_what, preferences) => {
    const client = await subscribed(preferences);
    client.close();
    happens(asked("a1"));
    expect(await settled()).toBe(0);
    await until(() => gateway.server.connections() === 0, "the clients to be gone");
    expect(gateway.server.approvers()).toBe(0);
  });

  test("a device that is told counts as somebody who may decide, until its push service fails", async () => {
    const client = await subscribed();
    client.close();
    await until(() => gateway.server.connections() === 0, "the client to be gone");
    expect(gateway.server.approvers()).toBe(1);
    service.reply(400);
    happens(asked("a1"));
    await until(() => gateway.server.approvers() === 0, "the failure to be known");
    happens(asked("a2"));
    await until(() => gateway.server.approvers() === 1, "the success to be known");
  });

  test.each([
    ["busy", 503, 5000],
    ["broken", 500, 5000],
    [
      "asking for patience",
      (response: ServerResponse): unknown => response.writeHead(429, { "retry-after": "120" }).end(),
      120_000,
    ],
    ["gone in the middle", (response: ServerResponse): unknown => response.destroy(), 5000],
  ] as const)("a push service that is %s is asked again", async (_what, reply, waitMs) => {
    await subscribed();
    service.reply(reply);
    happens(asked("a1"));
    await service.nth(1);
    await until(() => clock.waits.includes(waitMs), "the pause");
    clock.pass(waitMs - 1);
    expect(service.delivered).toHaveLength(1);
    clock.pass(1);
    expect(browser.read(await service.nth(2))).toMatchObject({ tag: "approval:a1" });
    expect((await service.nth(2)).headers["ttl"]).toBe(String(3600 - waitMs / 1000));
  });

  test("a notification is not sent when it was decided before the push service took it", async () => {
    await subscribed();
    service.reply(503);
    happens(asked("a1"));
    await service.nth(1);
    await until(() => clock.waits.includes(5000), "the pause");
    happens(decided("a1"));
    expect(await settled()).toBe(1);
    clock.pass(5000);
    expect(await settled()).toBe(1);
  });

  test("a push service that does not answer is given up after a while, and the next message goes to it again", async () => {
    await subscribed();
    service.reply(() => undefined);
    happens(asked("a1", 22_000));
    await service.nth(1);
    clock.pass(LIMIT_MS);
    await until(() => log.lines.some((line) => line.includes("did not take")), "the failure");
    happens(asked("a2"));
    await until(() => clock.waits.includes(5000) || service.delivered.length === 2, "the next message");
    clock.pass(5000);
    expect(browser.read(await service.nth(2))).toMatchObject({ tag: "approval:a2" });
  });

  test("a push service that wants to be left alone for long is not asked for what is of no more use then", async () => {
    await subscribed();
    service.reply((response) => response.writeHead(429, { "retry-after": "99999999999" }).end());
    happens(asked("a1"), asked("a2"), asked("a3", 2 * HOUR_MS));
    await until(() => clock.waits.includes(HOUR_MS), "the rest");
    expect(service.delivered).toHaveLength(1);
    clock.pass(HOUR_MS);
    expect(browser.read(await service.nth(2))).toMatchObject({ tag: "approval:a3" });
  });

  test.each([
    ["without an end", (response: ServerResponse): unknown => response.writeHead(201).write("x".repeat(1_000_000))],
    [
      "with a lie about its length",
      (response: ServerResponse): unknown => response.writeHead(201, { "content-length": "9" }).write("x"),
    ],
  ])("an answer %s keeps nothing waiting", async (_what, reply) => {
    await subscribed();
    service.reply(reply);
    happens(asked("a1"), asked("a2"));
    expect(browser.read(await service.nth(2))).toMatchObject({ tag: "approval:a2" });
  });

  test("a redirect is not followed", async () => {
    const other = await FakePushService.start();
    const client = await subscribed();
    service.reply((response) => response.writeHead(307, { location: `${other.origin}/push/browser` }).end());
    const answer = await client.request("push.web.test");
    expect(answer).toMatchObject({ error: { code: "UNAVAILABLE", message: expect.stringContaining("307") } });
    await client.request("push.web.test");
    expect(other.delivered).toHaveLength(0);
    expect(service.delivered).toHaveLength(2);
    await other.close();
  });

  test.each([404, 410])("a subscription that its push service does not know (%i) is forgotten", async (status) => {
    const client = await subscribed();
    service.reply(status);
    happens(asked("a1"));
    await until(() => !kept?.includes(browser.endpoint), "the subscription to be forgotten");
    const { endpoint, keys } = browser;
    expect(await client.request("push.web.preferences.get", { endpoint })).toMatchObject({ ok: false });
    expect(await client.request("push.web.subscribe", { endpoint, keys })).toMatchObject({ ok: true });
    happens(asked("a2"));
    expect(browser.read(await service.nth(2))).toMatchObject({ tag: "approval:a2" });
  });

  /** What a service worker sends when its browser has renewed the subscription. */
  const renewed = (body: unknown) =>
    fetch(`${gateway.http}/__openclaw__/push-renewed`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });

  test.each(["the page", "the service worker"])(
    "a subscription that its browser has renewed is handed over by %s, with its preferences",
    async (by) => {
      const client = await subscribed({ detailLevel: "identified" });
      const { endpoint: replaces, keys: before } = browser;
      await client.request("push.web.subscribe", { endpoint: replaces, keys: before, language: "de" });
      // It is on its way to the address that the browser has left.
      service.reply(503);
      happens(asked("a1"));
      await service.nth(1);
      await until(() => clock.waits.includes(5000), "the pause");
      const next = new FakeBrowser(service, "renewed");
      const { endpoint, keys } = next;
      if (by === "the page") {
        const answer = await client.request("push.web.subscribe", { endpoint, keys, language: "de", replaces });
        expect(answer).toMatchObject({ ok: true });
      } else {
        const answer = await renewed({ endpoint: replaces, auth: before.auth, renewed: { endpoint, keys } });
        expect(answer.status).toBe(204);
      }
      expect(kept).not.toContain(replaces);
      clock.pass(5000);
      const second = await service.nth(2);
      expect(next.read(second)).toMatchObject({ title: "main", body: "Der Agent wartet auf deine Entscheidung." });
      await restart();
      happens(asked("a2"));
      await until(() => service.delivered.some((one) => one.path === "/push/renewed" && one !== second), "the next");
      expect(service.delivered.filter(({ path }) => path === "/push/browser")).toHaveLength(1);
    },
  );

  test("nobody else hands over a subscription", async () => {
    await subscribed();
    const { endpoint: of, keys: own } = browser;
    const { endpoint, keys } = new FakeBrowser(service, "thief");
    const auth = Buffer.alloc(16).toString("base64url");
    const { client } = await new Device(() => gateway.url).connect({ token: TOKEN }, RIGHTS);
    for (const [body, status] of [
      [{ endpoint: of, auth, renewed: { endpoint, keys } }, 404],
      [{ endpoint: of, auth: "", renewed: { endpoint, keys } }, 404],
      [{ endpoint: `${of}/another`, auth: own.auth, renewed: { endpoint, keys } }, 404],
      [{ endpoint: of, auth: own.auth, renewed: { endpoint, keys: { ...keys, auth: "short" } } }, 400],
      [{ endpoint: of, auth: own.auth, renewed: { endpoint: "http://127.0.0.1/", keys } }, 400],
      ["x".repeat(10_000), 400],
    ] as const)
      expect((await renewed(body)).status, JSON.stringify(body).slice(0, 200)).toBe(status);
    // Another device cannot name the subscription that it wants to replace.
    await client.request("push.web.subscribe", { endpoint, keys, replaces: of });
    happens(asked("a1"));
    await service.nth(2);
    expect(service.delivered.map(({ path }) => path).toSorted()).toEqual(["/push/browser", "/push/thief"]);
  });

  /** A stranger who asks to be let in. */
  function knocks(lastsMs = HOUR_MS) {
    const from = { channel: "telegram", account: "default", senderId: "1" };
    const stranger = { ...from, createdAt: clock.now(), expiresAt: clock.now() + lastsMs };
    strangers = [{ ...stranger, code: "ABCDEFGH" }];
    return { stranger, asks: { event: "pairing.requested", payload: stranger, scope: "operator.pairing" } as const };
  }

  const failedJob = (jobId: string): GatewayEvent => ({
    event: "cron",
    payload: { jobId, action: "finished", status: "error" },
  });
  const paths = () => service.delivered.filter(({ path }) => path !== "/push/end").map((one) => browser.read(one).tag);

  test.each([
    ["busy", 503, 5000],
    [
      "asking for patience",
      (response: ServerResponse) => response.writeHead(429, { "retry-after": "60" }).end(),
      60_000,
    ],
    ["gone in the middle", (response: ServerResponse) => response.destroy(), 5000],
  ] as const)(
    "what a push service that is %s did not take is sent once after a restart",
    async (_what, reply, waitMs) => {
      await subscribed({ categories: { scheduledTaskFailed: true } });
      const { asks } = knocks();
      service.reply(reply);
      happens(asks, failedJob("j"));
      await service.nth(1);
      await until(() => clock.waits.includes(waitMs), "the pause");
      await until(() => kept?.includes("job:j") === true, "the second to be kept");
      await restart();
      await until(() => clock.waits.includes(waitMs), "the pause of the next process");
      expect(service.delivered).toHaveLength(1);
      clock.pass(waitMs);
      await service.nth(3);
      expect(paths().slice(1)).toEqual(["pairing:telegram:default:1", "job:j"]);
      await until(() => kept?.includes("job:j") === false, "all to be taken");
      await restart();
      happens(asks);
      await settled();
      expect(paths().filter((tag) => tag !== "job:end")).toHaveLength(3);
    },
  );

  test.each(["was decided", "has expired", "ended with the process"])(
    "what was not delivered and %s meanwhile is not sent after a restart",
    async (how) => {
      await subscribed();
      const { asks } = knocks(60_000);
      service.reply(503);
      happens(how === "ended with the process" ? asked("a1") : asks);
      await service.nth(1);
      await until(() => clock.waits.includes(5000), "the pause");
      await until(() => kept?.includes('"mayHaveArrived":false') === true, "the try to be noted");
      await gateway.server.close(100);
      if (how === "was decided") strangers = [];
      if (how === "has expired") clock.pass(60_000);
      await start();
      clock.pass(5000);
      expect(await settled()).toBe(1);
    },
  );

  test("a full disk loses what waits at most, and the gateway starts with what it had", async () => {
    const client = await subscribed();
    await client.request("push.web.vapidPublicKey");
    const { asks } = knocks();
    service.reply(503, 503);
    isDiskFull = true;
    const before = kept;
    happens(asks);
    await service.nth(1);
    await until(() => clock.waits.includes(5000), "the pause");
    clock.pass(5000);
    await service.nth(2);
    expect(kept).toBe(before);
    await restart();
    isDiskFull = false;
    expect(await settled()).toBe(2);
    happens(asks);
    expect(browser.read(await service.nth(service.delivered.length + 1))).toMatchObject({
      tag: "pairing:telegram:default:1",
    });
  });

  test("no more is kept than is of use", async () => {
    await subscribed();
    service.reply(...Array.from({ length: 300 }, () => 503));
    for (let count = 0; count < 300; count += 1) happens(asked(`a${count}`));
    await until(() => log.lines.filter((line) => line.includes("too many others")).length === 284, "all of them");
    expect((JSON.parse(kept ?? "{}") as { unsent: unknown[] }).unsent).toHaveLength(16);
  });

  test("after a restart it has the same keys and subscriptions, and replaces what ended with the old process", async () => {
    await subscribed();
    const { stranger, asks } = knocks();
    happens(asked("a1"), asks);
    const { key } = readVapid(await service.nth(2));
    await restart();
    const third = await service.nth(3);
    expect(browser.read(third)).toMatchObject({ tag: "approval:a1", isOver: true });
    expect(readVapid(third).key).toBe(key);
    // The stranger still waits, and is told of once.
    happens(asks);
    await restart();
    expect(await settled()).toBe(3);
    happens({ ...asks, event: "pairing.resolved", payload: { ...stranger, decision: "approved" } });
    expect(browser.read(await service.nth(service.delivered.length + 1))).toMatchObject({ isOver: true });
  });

  test("a gateway with another token tells nobody who came with the old one", async () => {
    await subscribed();
    await restart({ access: { token: new Secret("another token of the tests") } });
    happens(asked("a1"));
    const client = await operator("another token of the tests");
    const { endpoint, keys } = browser;
    expect(await client.request("push.web.preferences.get", { endpoint })).toMatchObject({ ok: false });
    expect(service.delivered).toHaveLength(0);
    expect(await client.request("push.web.subscribe", { endpoint, keys })).toMatchObject({ ok: true });
    happens(asked("a2"));
    expect(browser.read(await service.nth(1))).toMatchObject({ tag: "approval:a2" });
  });

  const RIGHTS = ["operator.admin", "operator.approvals", "operator.pairing", "operator.read", "operator.write"];

  test.each(["device.token.revoke", "device.pair.remove"])(
    "%s: a device that may not connect any more is told nothing",
    async (method) => {
      const phone = new Device(() => gateway.url);
      const { client } = await phone.connect({ token: TOKEN }, RIGHTS);
      const { endpoint, keys } = browser;
      await client.request("push.web.subscribe", { endpoint, keys });
      happens(asked("a1"));
      await service.nth(1);
      const answer = await (await operator()).request(method, { deviceId: phone.id, role: "operator" });
      expect(answer).toMatchObject({ ok: true });
      expect(kept).not.toContain(endpoint);
      happens(asked("a2"), decided("a1"));
      expect(await settled()).toBe(1);
      // It gets none of its old subscriptions back.
      await phone.connect({ token: TOKEN }, RIGHTS);
      happens(asked("a3"));
      expect(await settled()).toBe(1);
    },
  );

  test("a device is told what its present rights let it see", async () => {
    const phone = new Device(() => gateway.url);
    const { client } = await phone.connect({ token: TOKEN }, ["operator.read", "operator.write"]);
    const { endpoint, keys } = browser;
    expect(await client.request("push.web.subscribe", { endpoint, keys })).toMatchObject({ ok: true });
    happens(asked("a1"));
    expect(await settled()).toBe(0);
    await phone.connect({ token: TOKEN }, RIGHTS);
    happens(asked("a2"));
    expect(browser.read(await service.nth(service.delivered.length + 1))).toMatchObject({ tag: "approval:a2" });
  });

  test("a device changes no subscription of another one, and is not told whether there is one", async () => {
    await subscribed();
    const { client } = await new Device(() => gateway.url).connect({ token: TOKEN }, RIGHTS);
    const { endpoint, keys } = browser;
    const refusal = { error: { code: "FORBIDDEN", message: "subscription is not bound to this device" } };
    for (const [method, more] of [
      ["push.web.subscribe", { keys }],
      ["push.web.unsubscribe", {}],
      ["push.web.preferences.get", {}],
      ["push.web.preferences.set", { preferences: { enabled: false } }],
    ] as const)
      expect(await client.request(method, { endpoint, ...more }), method).toMatchObject(refusal);
    const unknown = { endpoint: `${service.origin}/push/nobody` };
    expect(await client.request("push.web.unsubscribe", unknown)).toMatchObject(refusal);
    expect(await client.request("push.web.test")).toMatchObject({
      error: { code: "INVALID_REQUEST", message: "no web push subscriptions registered" },
    });
    expect(service.delivered).toHaveLength(0);
  });

  test.each([
    ["the device", () => new Device(() => gateway.url).connect({ token: TOKEN }, RIGHTS), 3],
    ["the gateway's token", async () => ({ client: await operator() }), 30],
  ] as const)(
    "a client with the token of %s has no more subscriptions than it needs",
    async (_whose, connect, most) => {
      const { client } = await connect();
      const ids: unknown[] = [];
      for (let count = 0; count <= most; count += 1) {
        const { endpoint, keys } = new FakeBrowser(service, `b${count}`);
        ids.push((await client.request("push.web.subscribe", { endpoint, keys }))["payload"]);
      }
      expect(new Set(ids.map((id) => JSON.stringify(id))).size).toBe(most + 1);
      await client.request("push.web.test");
      const paths = service.delivered.map(({ path }) => path);
      expect(paths.toSorted()).toEqual(Array.from({ length: most }, (_, at) => `/push/b${at + 1}`).toSorted());
    },
  );

  test.each([
    ["http://push.example.org/1", "https"],
    ["https://10.0.0.1/push", "allowPrivateNetwork"],
    ["https://localhost/push", "allowPrivateNetwork"],
    ["https://[::1]/push", "allowPrivateNetwork"],
    ["https://0x7f.1/push", "allowPrivateNetwork"],
    ["https://169.254.169.254/latest/meta-data", "allowPrivateNetwork"],
    [`https://push.example.org/${"x".repeat(2048)}`, "2048"],
  ])("no push service at %.40s", async (endpoint, why) => {
    allowsPrivate = false;
    const client = await operator();
    const answer = await client.request("push.web.subscribe", { endpoint, keys: browser.keys });
    expect(answer).toMatchObject({ ok: false, error: { code: "INVALID_REQUEST" } });
    expect(JSON.stringify(answer)).toContain(why);
    expect(kept).toBeUndefined();
  });

  test("a push service that has become private is not reached", async () => {
    const client = await subscribed();
    allowsPrivate = false;
    const answer = await client.request("push.web.test");
    expect(answer).toMatchObject({ error: { message: expect.stringContaining("not on the public internet") } });
    expect(service.delivered).toHaveLength(0);
  });

  test.each([
    ["p256dh", "AAAA"],
    ["p256dh", Buffer.alloc(65, 4).toString("base64url")],
    ["auth", "AAAA"],
  ])("keys that are none are refused: %s %.10s", async (name, value) => {
    const { endpoint, keys } = browser;
    const answer = await (
      await operator()
    ).request("push.web.subscribe", { endpoint, keys: { ...keys, [name]: value } });
    expect(answer).toMatchObject({ ok: false, error: { code: "INVALID_REQUEST" } });
  });

  test("a full disk keeps no subscription, and keeps nobody from being told", async () => {
    const { endpoint, keys } = browser;
    isDiskFull = true;
    const client = await operator();
    expect(await client.request("push.web.subscribe", { endpoint, keys })).toMatchObject({ ok: false });
    isDiskFull = false;
    expect(await client.request("push.web.preferences.get", { endpoint })).toMatchObject({ ok: false });
    expect(await client.request("push.web.vapidPublicKey")).toMatchObject({ ok: true });
    expect(await client.request("push.web.subscribe", { endpoint, keys })).toMatchObject({ ok: true });
    isDiskFull = true;
    happens(asked("a1"));
    await service.nth(1);
    happens(decided("a1"));
    expect(browser.read(await service.nth(2))).toMatchObject({ isOver: true });
    service.reply(410);
    happens(asked("a2"));
    await service.nth(3);
    await until(() => log.lines.some((line) => line.includes("ENOSPC")), "the trouble");
    isDiskFull = false;
    happens(asked("a3"));
    expect(browser.read(await service.nth(4))).toMatchObject({ tag: "approval:a3" });
  });

  test("a store that cannot be read is reported, and devices subscribe again", async () => {
    await subscribed();
    kept = "{";
    await restart();
    expect(log.lines.join("\n")).toContain("error the subscriptions to notifications cannot be read");
    await subscribed();
    happens(asked("a1"));
    await service.nth(1);
  });

  test("keys of the operator take the place of own ones; wrong ones are told of", async () => {
    const client = await operator();
    const { payload } = await client.request("push.web.vapidPublicKey");
    const own = (JSON.parse(kept ?? "{}") as { vapid: { publicKey: string; privateKey: string } }).vapid;
    expect(payload).toEqual({ vapidPublicKey: own.publicKey });
    env = { OPENCLAW_VAPID_PUBLIC_KEY: own.publicKey, OPENCLAW_VAPID_PRIVATE_KEY: own.privateKey };
    env["OPENCLAW_VAPID_SUBJECT"] = "mailto:me@example.org";
    kept = undefined;
    await restart();
    await subscribed();
    happens(asked("a1"));
    expect(readVapid(await service.nth(1))).toMatchObject({ key: own.publicKey, sub: "mailto:me@example.org" });
    env = { ...env, OPENCLAW_VAPID_PRIVATE_KEY: "nonsense" };
    await restart();
    expect(await (await operator()).request("push.web.vapidPublicKey")).toMatchObject({
      error: { code: "UNAVAILABLE", message: expect.stringContaining("OPENCLAW_VAPID_PRIVATE_KEY") },
    });
  });

  test("a test goes to the own devices, in words that a push service takes", async () => {
    const client = await subscribed({ enabled: false });
    const { endpoint } = browser;
    expect(await client.request("push.web.test", { title: "Hi", body: "\u0001".repeat(1000) })).toMatchObject({
      payload: { results: [{ ok: true, statusCode: 201 }] },
    });
    const [sent] = service.delivered;
    expect(sent?.body.length).toBeLessThanOrEqual(4096);
    expect(browser.read(sent!)).toMatchObject({ title: "Hi", url: "./" });
    expect(
      await client.request("push.web.preferences.set", { endpoint, scope: "user", preferences: {} }),
    ).toMatchObject({
      error: { message: "user defaults require a durable authenticated profile" },
    });
    expect(await client.request("push.web.unsubscribe", { endpoint })).toMatchObject({ payload: { removed: true } });
    expect(await client.request("push.web.unsubscribe", { endpoint })).toMatchObject({ error: { code: "FORBIDDEN" } });
  });
});
