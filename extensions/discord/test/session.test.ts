import { once } from "node:events";
import { createServer } from "node:http";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Host, start, stopAll } from "../../../test/contracts/channel.ts";
import type { FakeDiscord } from "./fake-discord.ts";
import { ADA } from "./fake-world.ts";
import { objectIn, readJson, type Json } from "./json.ts";
import { discordPlatform } from "./platform.ts";
import { silentGateway } from "./silent-gateway.ts";
import { PATIENCE } from "../../../test/kit/until.ts";

afterEach(async () => {
  vi.restoreAllMocks();
  await stopAll();
});

async function begin(config: Record<string, unknown> = {}, host = new Host()) {
  const platform = await discordPlatform();
  const started = await start(platform, host, config);
  return { ...started, platform, fake: platform.fake, gateway: platform.fake.gateway, world: platform.fake.world };
}

/** The operations of IDENTIFY and RESUME that a client sent. */
const greetings = (said: readonly Json[]) => said.map(({ op }) => op).filter((op) => op === 2 || op === 6);
const troubles = (host: Host) => host.reports.filter((report) => report.kind === "trouble");

/** Frames with an interaction of which one field has a wrong type. */
const ODD_INTERACTIONS = [
  '"member":{"user":null}',
  '"member":5',
  '"data":{"type":1,"name":"x","options":5}',
  '"data":{"type":1,"name":{}}',
].map((odd): [string, string] => [
  `{"op":0,"t":"INTERACTION_CREATE","s":90,"d":{"id":"7","token":"t","type":2,"application_id":"4",${odd}}}`,
  "the event INTERACTION_CREATE",
]);

describe("a session", () => {
  test("asks for the intents that are needed, and no others", async () => {
    const { gateway } = await begin();
    const identify = gateway.said.find(({ op }) => op === 2);
    expect(objectIn(identify, "d")["intents"]).toBe(1 + 512 + 1024 + 4096 + 8192 + 32_768);
  });

  test.each<[string, string]>([
    ["{half", "not JSON"],
    ["null", "not JSON"],
    ["[]", "without an opcode"],
    ['{"op":"0"}', "without an opcode"],
    ['{"op":0,"t":"MESSAGE_CREATE","s":"x","d":{}}', "the event MESSAGE_CREATE"],
    ['{"op":0,"t":"MESSAGE_CREATE","s":90,"d":null}', "the event MESSAGE_CREATE"],
    ['{"op":0,"t":"GUILD_CREATE","s":90,"d":{"id":"7","channels":3}}', "the event GUILD_CREATE"],
    ['{"op":0,"t":"INTERACTION_CREATE","s":90,"d":{"id":7}}', "the event INTERACTION_CREATE"],
    ...ODD_INTERACTIONS,
    ['{"op":0,"t":"READY","s":90,"d":{"session_id":"x"}}', "the event READY"],
    ['{"op":0,"t":"READY","s":90,"d":{"session_id":"x","resume_gateway_url":"no address"}}', "the event READY"],
    ['{"op":0,"t":"constructor","s":90,"d":null}', "the event constructor"],
    ['{"op":0,"t":"__proto__","s":90,"d":null}', "the event __proto__"],
    ['{"op":9}', "opcode 9"],
    ['{"op":10}', "opcode 10"],
    ['{"op":10,"d":{"heartbeat_interval":"soon"}}', "opcode 10"],
    ['{"op":10,"d":{"heartbeat_interval":0}}', "opcode 10"],
  ])("skips an unreadable frame, logs it, and continues: %s", async (frame, told) => {
    const { gateway, platform, host } = await begin();
    await host.until(() => host.reports.some(({ kind }) => kind === "alive"));
    gateway.say(frame);
    platform.say(platform.direct, "after it");
    await host.heard("after it");
    expect(host.lines.join("\n")).toContain("unreadable, which was skipped");
    expect(host.lines.join("\n")).toContain(told);
  });

  test("a second HELLO starts no second heartbeat, which would outlive the connection", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.9);
    const { gateway, platform, host } = await begin();
    for (let i = 0; i < 10; i++) gateway.say('{"op":10,"d":{"heartbeat_interval":1}}');
    for (const text of ["one", "two", "three", "four", "five"]) {
      platform.say(platform.direct, text);
      await host.heard(text);
    }
    expect(gateway.said.filter(({ op }) => op === 1)).toEqual([]);
  });

  test.each(["null", "[]", '{"id":7}', "<html>"])("reports an API that answers %s, and keeps running", async (said) => {
    const server = createServer((_request, response) => void response.end(said)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const apiUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    try {
      const { host } = await begin({ apiUrl });
      await host.until(() => troubles(host).length > 0);
      expect(troubles(host)[0]).toMatchObject({ reason: expect.stringContaining("Discord") });
      expect(host.reports.filter(({ kind }) => kind === "dead")).toEqual([]);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  test("resumes after a restart, with the events that were not stored", async () => {
    const platform = await discordPlatform();
    const { fake, direct } = platform;
    const first = new Host();
    const { link } = await start(platform, first);
    platform.say(direct, "stored");
    await first.heard("stored");
    first.refuse = 1000;
    platform.say(direct, "not stored");
    await first.until(() => first.offered > 1);
    await link.close();
    platform.say(direct, "while away");
    const { host } = await start(platform, new Host(first));
    await host.heard("while away");
    expect(host.received.map(({ text }) => text)).toEqual(["not stored", "while away"]);
    expect(greetings(fake.gateway.said)).toEqual([2, 6]);
  });

  test("takes an event once that waits to be stored while the connection breaks", async () => {
    const { platform, gateway, host } = await begin();
    host.refuse = 2;
    platform.say(platform.direct, "waits");
    await host.until(() => host.offered > 0);
    gateway.drop();
    await host.until(() => greetings(gateway.said).includes(6));
    platform.say(platform.direct, "after the break");
    await host.heard("after the break");
    expect(host.received.map(({ text }) => text)).toEqual(["waits", "after the break"]);
  });

  test("resumes from an old note after a kill: repeated events have the same keys", async () => {
    const platform = await discordPlatform();
    const first = new Host();
    const { link } = await start(platform, first);
    const old = await first.notes.get("session");
    platform.say(platform.direct, "stored");
    await first.heard("stored");
    platform.react?.(platform.direct, platform.say(platform.direct, "and this"), "👍");
    await first.until(() => first.received.length === 3);
    await link.close();
    await first.notes.set("session", old ?? "");
    platform.say(platform.direct, "while down");
    const { host } = await start(platform, new Host(first));
    await host.heard("while down");
    expect(host.received.slice(0, 3).map(({ eventKey }) => eventKey)).toEqual(
      first.received.map(({ eventKey }) => eventKey),
    );
    expect(host.received).toHaveLength(4);
  });

  test("is resumed at another address when its own is gone", async () => {
    const platform = await discordPlatform();
    const first = new Host();
    const { link } = await start(platform, first);
    await link.close();
    const note = readJson((await first.notes.get("session")) ?? "{}");
    await first.notes.set("session", JSON.stringify({ ...note, url: "ws://127.0.0.1:1" }));
    platform.say(platform.direct, "while away");
    const { host } = await start(platform, new Host(first));
    await host.heard("while away");
    expect(troubles(host)).toHaveLength(3);
    expect(greetings(platform.fake.gateway.said)).toEqual([2, 6]);
  });

  test("is not resumed at another server", async () => {
    const platform = await discordPlatform();
    const first = new Host();
    const { link } = await start(platform, first);
    await link.close();
    await platform.close();
    const other = await discordPlatform();
    const { host } = await start(other, new Host(first));
    expect(troubles(host)).toEqual([]);
    expect(greetings(other.fake.gateway.said)).toEqual([2]);
  });

  test("an unreadable note means a first start", async () => {
    const platform = await discordPlatform();
    const host = new Host();
    await host.notes.set("session", "{");
    await start(platform, host);
    expect(greetings(platform.fake.gateway.said)).toEqual([2]);
  });

  test("is replaced when Discord has forgotten it, and missed messages are read", async () => {
    const platform = await discordPlatform();
    const first = new Host();
    const { link } = await start(platform, first);
    platform.say(platform.direct, "one");
    await first.heard("one");
    await link.close();
    platform.fake.gateway.forget();
    platform.say(platform.direct, "two");
    platform.say(platform.group, "three");
    vi.spyOn(Math, "random").mockReturnValue(0);
    const { host, link: second } = await start(platform, new Host(first));
    expect(troubles(host)).toEqual([expect.objectContaining({ retryInMs: 1000 })]);
    await host.until(() => host.reports.some((report) => report.kind === "alive"));
    const missed = await second.missedSince?.(Date.now() - 60_000);
    expect(missed?.map(({ text }) => text)).toEqual(["one", "two", "three"]);
    expect(missed?.at(-1)).toMatchObject({ guildId: "900", sender: { name: "Ada of Crew", roles: ["950"] } });
    expect(greetings(platform.fake.gateway.said)).toEqual([2, 6, 2]);
  });

  test("is not begun while Discord allows no more", async () => {
    const platform = await discordPlatform();
    const { world, gateway } = platform.fake;
    Object.assign(world.starts, { remaining: 0, reset_after: 1500 });
    const { host } = await start(platform);
    expect(troubles(host)).toEqual([
      expect.objectContaining({ reason: expect.stringMatching(/no session/), retryInMs: 1500 }),
    ]);
    expect(gateway.said).toEqual([]);
    world.starts.remaining = 1;
    await host.until(() => host.reports.some(({ kind }) => kind === "alive"));
    world.starts.remaining = 0;
    gateway.drop();
    await host.until(() => greetings(gateway.said).includes(6));
    platform.say(platform.direct, "still there");
    await host.heard("still there");
  });

  test("is replaced when RESUME gets no answer", async () => {
    const { link, platform, gateway, host } = await begin({ gatewayReadyTimeoutMs: 1000 });
    platform.say(platform.direct, "one");
    await host.heard("one");
    gateway.isSilent = true;
    host.reports.length = 0;
    gateway.drop();
    platform.say(platform.direct, "two");
    await host.until(() => host.reports.some(({ kind }) => kind === "alive"));
    expect(troubles(host).at(-1)).toMatchObject({ reason: "the gateway was not ready in time" });
    expect(greetings(gateway.said)).toEqual([2, 6, 2]);
    const missed = await link.missedSince?.(Date.now() - 60_000);
    expect(missed?.map(({ text }) => text)).toEqual(["one", "two"]);
  });

  test("changes its connection without trouble when Discord asks for that", async () => {
    const { platform, gateway, host } = await begin();
    gateway.rotate();
    platform.say(platform.direct, "in between");
    await host.heard("in between");
    await host.until(() => greetings(gateway.said).length === 2);
    platform.say(platform.direct, "after");
    await host.heard("after");
    expect(host.received.map(({ text }) => text)).toEqual(["in between", "after"]);
    expect(troubles(host)).toEqual([]);
  });

  test("pauses when Discord asks for one new connection after the other", async () => {
    const { platform, gateway, host } = await begin();
    gateway.rotate();
    await host.until(() => greetings(gateway.said).length === 2);
    platform.say(platform.direct, "on the second");
    await host.heard("on the second");
    const at = performance.now();
    gateway.rotate();
    await host.until(() => greetings(gateway.said).length === 3);
    expect(performance.now() - at).toBeGreaterThan(900);
    platform.say(platform.direct, "on the third");
    await host.heard("on the third");
    expect(troubles(host)).toEqual([]);
  });

  test("leaves a connection on which heartbeats are not answered", async () => {
    const platform = await discordPlatform();
    platform.fake.gateway.heartbeatMs = 150;
    const { host } = await start(platform);
    await host.until(() => platform.fake.gateway.said.some(({ op }) => op === 1));
    platform.fake.gateway.isDeaf = true;
    await host.until(() => troubles(host).length > 0);
    platform.fake.gateway.isDeaf = false;
    expect(troubles(host)[0]).toMatchObject({ reason: "the gateway answers no heartbeats" });
    platform.say(platform.direct, "still there");
    await host.heard("still there");
  });

  test("heartbeats report the connection alive, and name the last stored event", async () => {
    const platform = await discordPlatform();
    // A heartbeat whose answer was not read when the next one is due ends the connection.
    platform.fake.gateway.heartbeatMs = 150;
    const { host } = await start(platform);
    platform.say(platform.direct, "x");
    await host.heard("x");
    host.reports.length = 0;
    await host.until(() => host.reports.filter(({ kind }) => kind === "alive").length > 2);
    expect(platform.fake.gateway.said.findLast(({ op }) => op === 1)).toEqual({ op: 1, d: 3 });
  });

  test.each([
    [4004, /token/, /Reset Token/],
    [4014, /text of messages/, /Message Content Intent/],
    [4011, /too many servers/, /how many connections/],
  ])("close code %i stops the account, and says what to do", async (code, reason, fix) => {
    const platform = await discordPlatform();
    platform.fake.gateway.closeWith = code;
    const { host } = await start(platform);
    expect(host.reports.at(-1)).toEqual({
      kind: "dead",
      reason: expect.stringMatching(reason),
      fix: expect.stringMatching(fix),
    });
  });

  test.each([
    [4000, "is resumed", [2, 6, 6]],
    [4007, "is replaced", [2, 6, 2]],
    [1000, "is replaced", [2, 6, 2]],
  ])("after close code %i, it %s", async (code, _, expected) => {
    const platform = await discordPlatform();
    const first = new Host();
    await (await start(platform, first)).link.close();
    const { host } = await start(platform, new Host(first));
    host.reports.length = 0;
    platform.fake.gateway.close(code);
    await host.until(() => host.reports.some(({ kind }) => kind === "alive"));
    expect(greetings(platform.fake.gateway.said)).toEqual(expected);
  });

  test("a server that comes back is reached again", async () => {
    const { platform, fake, host } = await begin();
    await fake.goDown();
    await host.until(() => troubles(host).length >= 2);
    await fake.comeBack();
    platform.say(platform.direct, "back");
    await host.heard("back");
    expect(greetings(fake.gateway.said)).toEqual([2, 6]);
  });

  describe("with a channel of which Discord says nothing", () => {
    const LOOKUP = /^GET \/channels\/990$/;

    async function beginWithChannel(how: Parameters<FakeDiscord["fail"]>) {
      const running = await begin();
      running.world.addChannel({ id: "990", type: 0, guild_id: "900", name: "new", last_message_id: null });
      await running.host.until(() => running.host.reports.some(({ kind }) => kind === "alive"));
      running.fake.fail(...how);
      return running;
    }
    const texts = (host: Host) => host.received.map(({ text }) => text);

    test("its messages wait alone, in their order; nothing else does, and the account is in no trouble", async () => {
      const { platform, fake, host, world, gateway } = await beginWithChannel(["500", { count: 1000, fits: LOOKUP }]);
      for (const text of ["first", "second"]) fake.say("990", text);
      platform.say(platform.direct, "to you");
      platform.say(platform.group, "to all");
      const data = { id: "1", name: "status", type: 1 };
      gateway.dispatch("INTERACTION_CREATE", world.interaction("901", { type: 2, data }));
      await host.heard("/status");
      expect(texts(host).toSorted()).toEqual(["/status", "to all", "to you"]);
      fake.heal();
      await host.heard("second");
      expect(texts(host).slice(-2)).toEqual(["first", "second"]);
      expect(host.received.at(-1)).toMatchObject({ from: { chat: { id: "990", title: "#new" } } });
      expect(troubles(host)).toEqual([]);
    });

    test("its messages come again after a restart, and the others are not lost", async () => {
      const { platform, fake, host, link } = await beginWithChannel(["500", { count: 1000, fits: LOOKUP }]);
      fake.say("990", "first");
      platform.say(platform.direct, "to you");
      await host.heard("to you");
      await link.close();
      fake.heal();
      const { host: next } = await start(platform, new Host(host));
      await next.heard("first");
      const [again] = next.received.filter(({ text }) => text === "to you");
      expect(again?.eventKey).toBe(host.received[0]?.eventKey);
    });

    test("its messages go on without a name when Discord says to wait for long", async () => {
      const { fake, host } = await beginWithChannel(["429", { count: 1000, fits: LOOKUP, seconds: 3600 }]);
      for (const text of ["first", "second"]) fake.say("990", text);
      await host.heard("second");
      expect(host.received).toMatchObject(
        ["first", "second"].map((text) => ({ text, from: { chat: { kind: "group", id: "990" } }, guildId: "900" })),
      );
      expect(host.lines.join("\n")).toContain("goes on without what Discord does not say");
      expect(troubles(host)).toEqual([]);
    });

    test("a quote and a thread's beginning that are not to be had are left out", async () => {
      const { fake, host, world } = await beginWithChannel([
        "429",
        { count: 1000, fits: /^GET \/(?:guilds|channels\/\d+\/messages)/, seconds: 3600 },
      ]);
      const asked = world.write("903", "the question", {});
      fake.say("903", "and the answer", { replyTo: String(asked["id"]), more: { referenced_message: undefined } });
      expect(await host.heard("and the answer")).toMatchObject({
        from: { thread: "903" },
        replyTo: { id: asked["id"] },
      });
    });
  });

  test("what was missed is read although Discord does not say what a message quotes", async () => {
    const { platform, fake, world, link, host } = await begin();
    platform.say(platform.direct, "hello");
    await host.heard("hello");
    const channel = world.direct(ADA.id);
    const more = { referenced_message: undefined };
    fake.say(channel, "like that?", { unheard: true, replyTo: "700", more: { type: 19, ...more } });
    fake.say(channel, "anyone?", { unheard: true });
    fake.fail("500", { count: 1000, fits: /^GET \/channels\/\d+\/messages\/700$/ });
    const missed = (await link.missedSince?.(Date.now() - 60_000)) ?? [];
    expect(missed.map(({ text }) => text)).toEqual(expect.arrayContaining(["like that?", "anyone?"]));
  });

  test("one number far ahead makes the account deaf to nothing", async () => {
    const { platform, gateway, host } = await begin();
    platform.say(platform.direct, "before");
    await host.heard("before");
    gateway.say('{"op":0,"t":"TYPING_START","s":100000,"d":{}}');
    platform.say(platform.direct, "after");
    await host.heard("after");
    expect(host.lines.join("\n")).toContain("a number that does not follow");
    gateway.drop();
    await host.until(() => greetings(gateway.said).includes(6));
    platform.say(platform.direct, "resumed");
    await host.heard("resumed");
    expect(
      Number(
        objectIn(
          gateway.said.find(({ op }) => op === 6),
          "d",
        )["seq"],
      ),
    ).toBeLessThan(1000);
  });

  test("a session that is greeted again is heard, with the numbers that follow", async () => {
    const { platform, gateway, host, world } = await begin();
    for (const text of ["one", "two", "three"]) platform.say(platform.direct, text);
    await host.heard("three");
    const session_id = gateway.sessionIds[0];
    const ready = {
      v: 10,
      user: world.self,
      guilds: [],
      session_id,
      resume_gateway_url: world.url.replace("http", "ws"),
    };
    const timesAlive = () => host.reports.filter(({ kind }) => kind === "alive").length;
    const before = timesAlive();
    gateway.say(JSON.stringify({ op: 0, t: "READY", s: 1, d: ready }));
    await host.until(() => timesAlive() > before);
    const frame = (s: number, text: string) =>
      gateway.say(JSON.stringify({ op: 0, t: "MESSAGE_CREATE", s, d: world.told(world.write("901", text, {})) }));
    frame(2, "four");
    frame(3, "five");
    await host.heard("five");
    expect(host.received.map(({ text }) => text)).toEqual(["one", "two", "three", "four", "five"]);
  });

  test("a gap in the numbers is believed once the next one follows", async () => {
    const { platform, gateway, host, world } = await begin();
    const frame = (s: number, text: string) =>
      gateway.say(JSON.stringify({ op: 0, t: "MESSAGE_CREATE", s, d: world.told(world.write("901", text, {})) }));
    frame(1000, "one");
    frame(1001, "two");
    await host.heard("two");
    expect(host.received.map(({ text }) => text)).toEqual(["one", "two"]);
    gateway.drop();
    await host.until(() => greetings(gateway.said).includes(6));
    expect(
      objectIn(
        gateway.said.find(({ op }) => op === 6),
        "d",
      )["seq"],
    ).toBe(1001);
    expect(platform.shown(platform.group)).toEqual([]);
  });

  test("many deletions at once are reported one by one", async () => {
    const { fake, gateway, host } = await begin();
    const ids = ["one", "two", "three"].map((text) => fake.say("901", text));
    await host.heard("three");
    gateway.dispatch("MESSAGE_DELETE_BULK", { ids: [...ids.slice(1), "55"], channel_id: "901", guild_id: "900" });
    await host.until(() => host.received.length === 5);
    expect(host.received.slice(3)).toMatchObject(
      ids.slice(1).map((id) => ({ eventKey: `d${id}`, event: "news", news: { kind: "deleted", messageId: id } })),
    );
  });

  test("a message that comes after its own edit is not taken a second time", async () => {
    const { platform, gateway, host, world } = await begin();
    const message = world.write(world.direct(ADA.id), "old words", {});
    const created = { ...world.told(message) };
    Object.assign(message, { content: "new words", edited_timestamp: new Date().toISOString() });
    gateway.dispatch("MESSAGE_UPDATE", world.told(message));
    gateway.dispatch("MESSAGE_CREATE", created);
    platform.say(platform.direct, "next");
    await host.heard("next");
    expect(host.received.map(({ text, isEdit }) => [text, isEdit === true])).toEqual([
      ["new words", true],
      ["next", false],
    ]);
  });
});

describe("close()", () => {
  /** An idle connection of the HTTP client has a timer for four seconds, and up to one more. */
  const IDLE_MS = 10_000;
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

  test.each([
    ["hangs in its handshake", false],
    ["sends no HELLO and answers no CLOSE", true],
  ])("ends a connection that %s, and leaves no timer", async (_, answers) => {
    const gateway = await silentGateway(answers);
    const host = new Host();
    const platform = await discordPlatform();
    const before = timers();
    const connecting = start(platform, host, { gatewayUrl: gateway.url });
    await vi.waitFor(() => expect(gateway.connections()).toBe(1), PATIENCE);
    host.stop();
    await (await connecting).link.close();
    await vi.waitFor(() => expect(timers()).toBeLessThanOrEqual(before), { timeout: IDLE_MS });
    expect(gateway.connections()).toBe(1);
    gateway.close();
  });

  test("leaves no timer while a session is open", async () => {
    const platform = await discordPlatform();
    const before = timers();
    platform.fake.gateway.heartbeatMs = 50;
    const { link } = await start(platform);
    await vi.waitFor(
      () => expect(platform.fake.gateway.said.filter(({ op }) => op === 1).length).toBeGreaterThan(1),
      PATIENCE,
    );
    await link.close();
    await vi.waitFor(() => expect(timers()).toBeLessThanOrEqual(before), { timeout: IDLE_MS });
  });
});

describe("a bot in more servers than one connection holds", () => {
  const FAR = String(1n << 22n);
  async function beginTwo(maxConcurrency: number, first = new Host()) {
    const platform = await discordPlatform();
    const { world } = platform.fake;
    world.shards = 2;
    world.starts.max_concurrency = maxConcurrency;
    world.addGuild(FAR, "9901");
    const connecting = start(platform, first);
    return { platform, fake: platform.fake, world, connecting, host: first };
  }
  const shards = (said: readonly Json[]) =>
    said.filter(({ op }) => op === 2).map((frame) => objectIn(frame, "d")["shard"]);

  test("receives from all of them, with as many connections as Discord recommends", async () => {
    const { fake, platform, connecting, host } = await beginTwo(2);
    await connecting;
    platform.say(platform.direct, "from a person");
    platform.say(platform.group, "from one server");
    fake.say("9901", "from the other");
    await host.heard("from a person");
    await host.heard("from one server");
    await host.heard("from the other");
    expect(shards(fake.gateway.said)).toEqual([
      [0, 2],
      [1, 2],
    ]);
    expect(host.received).toHaveLength(3);
    expect(troubles(host)).toEqual([]);
  });

  test("resumes each session after a restart, even if Discord allows no new one", async () => {
    const { fake, world, connecting, host } = await beginTwo(2);
    const { link } = await connecting;
    fake.say("9901", "one");
    await host.heard("one");
    await link.close();
    fake.say("901", "two");
    fake.say("9901", "three");
    world.starts.remaining = 0;
    const second = await beginAgain(fake, host);
    await second.heard("two");
    await second.heard("three");
    expect(second.received).toHaveLength(2);
    expect(greetings(fake.gateway.said)).toEqual([2, 2, 6, 6]);
  });

  test("waits for Discord's limit between two sessions", async () => {
    const { fake, connecting, host } = await beginTwo(1);
    fake.gateway.heartbeatMs = 100;
    const waiting = () => fake.gateway.said.filter(({ op, d }) => op === 1 && d === null);
    await vi.waitFor(() => expect(waiting().length).toBeGreaterThan(1), { ...PATIENCE, interval: 20 });
    expect(fake.gateway.connections).toBe(2);
    expect(shards(fake.gateway.said)).toHaveLength(1);
    expect(host.reports).toEqual([]);
    host.stop();
    await connecting;
  });

  test("begins no session while Discord allows fewer than it needs", async () => {
    const { fake, world, connecting, host } = await beginTwo(2);
    Object.assign(world.starts, { remaining: 1, reset_after: 60_000 });
    await connecting;
    expect(fake.gateway.said).toEqual([]);
    expect(troubles(host)[0]).toMatchObject({ reason: expect.stringMatching(/no session.*shard \d of 2/) });
  });

  test("opens more connections when Discord requires them", async () => {
    const platform = await discordPlatform();
    const first = new Host();
    await (await start(platform, first)).link.close();
    const { host } = await start(platform, new Host(first));
    const { world, gateway } = platform.fake;
    world.starts.max_concurrency = 2;
    host.reports.length = 0;
    world.shards = 2;
    world.addGuild(FAR, "9901");
    gateway.forget();
    gateway.close(4011);
    await host.until(() => host.reports.at(-1)?.kind === "alive");
    platform.fake.say("9901", "from the other");
    await host.heard("from the other");
    expect(shards(gateway.said).slice(1)).toEqual([
      [0, 2],
      [1, 2],
    ]);
    expect(troubles(host)).toEqual([expect.objectContaining({ reason: expect.stringContaining("2 connections") })]);
  });

  test("is in trouble as long as one of its connections is", async () => {
    const { fake, connecting, host } = await beginTwo(2);
    fake.gateway.heartbeatMs = 100;
    await connecting;
    host.reports.length = 0;
    fake.gateway.isSilent = true;
    fake.gateway.dropOne();
    await host.until(() => troubles(host).length > 0);
    const beats = fake.gateway.said.length;
    await vi.waitFor(() => expect(fake.gateway.said.length).toBeGreaterThan(beats + 5), { ...PATIENCE, interval: 20 });
    expect(host.reports.filter(({ kind }) => kind === "alive")).toEqual([]);
  });
});

async function beginAgain(fake: FakeDiscord, first: Host): Promise<Host> {
  const { host } = await start({ ...(await discordPlatform()), config: { ...fake.config } }, new Host(first));
  return host;
}

describe("missed messages", () => {
  test("are not read where the session brings them", async () => {
    const { link, platform, host, fake } = await begin();
    platform.say(platform.direct, "known");
    await host.heard("known");
    const since = Date.now();
    fake.gateway.drop();
    platform.say(platform.direct, "in the gap");
    await host.heard("in the gap");
    const before = fake.calls.length;
    expect(await link.missedSince?.(since)).toEqual([]);
    expect(fake.calls).toHaveLength(before);
  });

  test("are read page by page, also from threads", async () => {
    const { link, platform, world, fake, host } = await begin();
    for (let number = 0; number < 230; number++) platform.sayUnheard?.(platform.group, `line ${number}`);
    platform.sayUnheard?.(platform.topic!, "in the thread");
    fake.gateway.dispatch("THREAD_UPDATE", world.channel("903"));
    fake.gateway.dispatch("CHANNEL_UPDATE", world.channel("901"));
    platform.say(platform.direct, "that was all");
    await host.heard("that was all");
    const missed = await link.missedSince?.(Date.now() - 60_000);
    expect(missed?.filter(({ from, guildId }) => guildId === "900" && from.thread === undefined)).toHaveLength(230);
    expect(missed?.find(({ from }) => from.thread !== undefined)).toMatchObject({
      text: "in the thread",
      from: platform.topic,
    });
    expect(fake.calls.filter(({ path }) => path.startsWith("/guilds/900/members/"))).toHaveLength(1);
  });

  test("are read later when Discord does not answer, and not where the bot may not read", async () => {
    const { link, platform, host, fake } = await begin();
    platform.say(platform.direct, "known");
    await host.heard("known");
    fake.fail("500", { fits: /^GET \/channels\/\d+\/messages$/ });
    await expect(link.missedSince?.(0)).rejects.toThrow();
    fake.fail("403", { fits: /^GET \/channels\/\d+\/messages$/ });
    expect(await link.missedSince?.(0)).toEqual([]);
    expect((await link.missedSince?.(0))?.map(({ sender }) => sender.id)).toEqual([ADA.id]);
  });
});

test("unreadable notes are kept aside, and messages are received", async () => {
  const host = new Host();
  for (const name of ["session", "direct-channels"]) await host.notes.set(name, '{"id": 5');
  const { platform } = await begin({}, host);
  platform.say(platform.direct, "hello");
  await host.heard("hello");
  expect(await host.notes.get("session.broken")).toBe('{"id": 5');
  expect(await host.notes.get("direct-channels.broken")).toBe('{"id": 5');
});

test("one odd entry of the noted direct chats costs no other", async () => {
  const host = new Host();
  const { platform, link, fake } = await begin({}, host);
  platform.say(platform.direct, "known");
  await host.heard("known");
  await link.close();
  const noted: readonly unknown[] = JSON.parse((await host.notes.get("direct-channels")) ?? "[]");
  await host.notes.set("direct-channels", JSON.stringify([[null, "5"], ...noted, ["1002"]]));
  const { link: next } = await start(platform, host);
  expect((await next.missedSince?.(0))?.map(({ text }) => text)).toContain("known");
  expect(fake.calls.filter(({ path }) => path.startsWith("/channels/5/"))).toEqual([]);
});
