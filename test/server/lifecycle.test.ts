import { expect, test } from "vitest";
import type { Clock } from "../../src/types/clock.ts";
import { RawClient, startTestServer } from "../kit/server/server.ts";
import { ends, facts, says } from "../kit/server/scripted-chat.ts";
import { expectShape } from "./shapes.ts";

/** Time that passes when the test says so. */
function manualClock(): Clock & { pass(ms: number): void } {
  let now = 1_000;
  const waiting = new Set<{ at: number; call: () => void }>();
  return {
    now: () => now,
    after(ms, call) {
      const entry = { at: now + ms, call };
      waiting.add(entry);
      return () => waiting.delete(entry);
    },
    pass(ms) {
      now += ms;
      for (const entry of [...waiting].filter((item) => item.at <= now)) {
        waiting.delete(entry);
        entry.call();
      }
    },
  };
}

test("a shutdown is announced, sockets are closed with 1012 and nothing new is accepted", async () => {
  const gateway = await startTestServer();
  const client = new RawClient(gateway.url);
  await client.connect();
  const stranger = new RawClient(gateway.url);
  await stranger.event("connect.challenge");
  const closing = gateway.server.close(2_000, "maintenance");
  const shutdown = await client.event("shutdown");
  expect(shutdown).toMatchObject({ payload: { reason: "maintenance" } });
  expectShape("ShutdownEvent", shutdown["payload"]);
  expect(await client.closed).toEqual({ code: 1012, reason: "service restart" });
  expect(await stranger.closed).toMatchObject({ code: 1012 });
  await closing;
  await expect(fetch(`${gateway.http}/healthz`)).rejects.toThrow();
});

test("a connection that does not close is cut after the grace period", async () => {
  const gateway = await startTestServer();
  const client = new RawClient(gateway.url);
  await client.connect();
  client.socket.pause();
  const begun = Date.now();
  await gateway.server.close(50);
  expect(Date.now() - begun).toBeLessThan(10_000);
  client.close();
});

test("the error for a taken port names the process that has it", async () => {
  const gateway = await startTestServer();
  await expect(startTestServer({ options: { port: gateway.server.port } })).rejects.toMatchObject({
    code: "PORT_IN_USE",
    message: expect.stringContaining(
      process.platform === "linux" ? `(pid ${process.pid})` : String(gateway.server.port),
    ),
  });
  await gateway.server.close(100);
});

test("an address that this machine does not have is refused with a fix", async () => {
  await expect(startTestServer({ options: { host: "203.0.113.1" } })).rejects.toMatchObject({ code: "BIND_REFUSED" });
});

test("ticks come every 15 seconds", async () => {
  const clock = manualClock();
  const gateway = await startTestServer({ ports: { clock } });
  const client = new RawClient(gateway.url);
  await client.connect();
  clock.pass(14_999);
  await client.request("health");
  expect(client.frames.filter((frame) => frame["event"] === "tick")).toEqual([]);
  clock.pass(1);
  const tick = await client.event("tick");
  expect(tick).toMatchObject({ payload: { ts: 16_000 }, seq: 1 });
  expectShape("TickEvent", tick["payload"]);
  clock.pass(15_000);
  expect(await client.until((frame) => frame["event"] === "tick" && frame["seq"] === 2)).toBeDefined();
  await gateway.server.close(100);
});

test("a client without a handshake is disconnected", async () => {
  const clock = manualClock();
  const gateway = await startTestServer({ ports: { clock } });
  const client = new RawClient(gateway.url);
  await client.event("connect.challenge");
  clock.pass(15_000);
  expect(await client.closed).toEqual({ code: 1008, reason: "handshake timeout" });
  await gateway.server.close(100);
});

test("the handshake timeout is an option", async () => {
  const clock = manualClock();
  const gateway = await startTestServer({ ports: { clock }, access: { handshakeMs: 500 } });
  const client = new RawClient(gateway.url);
  await client.event("connect.challenge");
  clock.pass(500);
  expect(await client.closed).toEqual({ code: 1008, reason: "handshake timeout" });
  await gateway.server.close(100);
});

test("every client sees every run, whoever began it, and presence as it changes", async () => {
  const gateway = await startTestServer();
  const [one, two] = [new RawClient(gateway.url), new RawClient(gateway.url)];
  await one.connect();
  await two.connect();
  expect(await one.event("presence")).toMatchObject({
    payload: { presence: [{ mode: "gateway" }, {}, { mode: "test" }] },
  });
  gateway.chat.begin(facts("from-telegram", "telegram:default:7")).tell(...says("Hi Ann."), ends());
  for (const client of [one, two]) {
    const final = await client.until((frame) => JSON.stringify(frame).includes('"state":"final"'));
    expect(await client.event("sessions.changed")).toMatchObject({
      payload: { sessionKey: "agent:main:telegram:default:7", reason: "run" },
    });
    expect(final).toMatchObject({
      event: "chat",
      payload: { runId: "from-telegram", sessionKey: "agent:main:telegram:default:7" },
    });
  }
  const seqs = one.frames.flatMap((frame) => (typeof frame["seq"] === "number" ? [frame["seq"]] : []));
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  await gateway.server.close(100);
});

test("a compaction outside a run is reported like one inside it, and the session list changes with its end", async () => {
  const gateway = await startTestServer();
  const client = new RawClient(gateway.url);
  await client.connect();
  const of = facts("compaction-1", "telegram:default:7");
  const sizes = { tokensBefore: 900, tokensAfter: 90, willRetry: false, costs: [] };
  gateway.chat.compacted.publish({
    facts: of,
    event: { type: "compaction", phase: "start", tokensBefore: 900, seq: 1, ts: 10 },
  });
  gateway.chat.compacted.publish({
    facts: of,
    event: { type: "compaction", phase: "end", ok: true, ...sizes, seq: 2, ts: 20 },
  });
  expect(await client.event("sessions.changed")).toMatchObject({
    payload: { sessionKey: "agent:main:telegram:default:7", reason: "compact" },
  });
  const told = client.frames.filter((frame) => frame["event"] === "agent").map((frame) => frame["payload"]);
  const session = { stream: "compaction", sessionKey: "agent:main:telegram:default:7", runId: "compaction-1" };
  expect(told).toMatchObject([
    { ...session, data: { phase: "start" } },
    { ...session, data: { phase: "end", willRetry: false } },
  ]);
  await gateway.server.close(100);
});

test("a client without the scope does not get events that need it", async () => {
  const gateway = await startTestServer();
  const client = new RawClient(gateway.url);
  await client.connect({ scopes: ["operator.read"] });
  gateway.events.publish({ event: "pairing.requested", payload: { code: "X" }, scope: "operator.pairing" });
  gateway.events.publish({ event: "sessions.changed", payload: {} });
  await client.event("sessions.changed");
  expect(client.frames.some((frame) => frame["event"] === "pairing.requested")).toBe(false);
  await gateway.server.close(100);
});
