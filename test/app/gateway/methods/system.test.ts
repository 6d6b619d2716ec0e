import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startGatewayFixture, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import type { RawClient } from "../../../kit/server/server.ts";
import { expectShape } from "../../../server/shapes.ts";

let fixture: GatewayFixture;
let client: RawClient;
const OWN = { id: 1, username: "own" };

beforeAll(async () => {
  fixture = await startGatewayFixture({ dmPolicy: "pairing" });
  client = await fixture.client();
});
afterAll(async () => {
  await fixture.close();
});

const call = (method: string, params: object = {}) => client.ask(method, params);

const refused = (method: string, params: object) => client.refusal(method, params);

test("the machine and the process are described", async () => {
  const info = await call("system.info");
  expectShape("SystemInfoResult", info);
  expect(info).toMatchObject({ pid: process.pid, platform: process.platform, diskPath: fixture.dir });
  expect(info).toMatchObject({
    eventLoop: { utilization: expect.any(Number) },
    processMemory: { rssBytes: expect.any(Number) },
  });
});

test("what grows is told with its size, its bound and the key that sets it", async () => {
  const { rows } = z
    .looseObject({ rows: z.array(z.looseObject({ name: z.string() })) })
    .parse(await call("system.growth"));
  expect(rows).toContainEqual(
    expect.objectContaining({
      name: "journal",
      bytes: expect.any(Number),
      bound: expect.any(String),
      isBeyond: false,
      keys: expect.arrayContaining([expect.stringMatching(/^retention\./)]),
    }),
  );
});

test("the start that runs is told, and no other one after an end in order", async () => {
  const status = await call("status");
  expect(status).toMatchObject({ starts: [] });
  expect(status).not.toHaveProperty("safeMode");
});

test("nothing to update, and no event of this gateway's own", async () => {
  const update = await call("update.status");
  expectShape("UpdateStatusResult", update);
  expect(update).toEqual({ sentinel: null, updateAvailable: null });
  const held = await call("update.hold");
  expectShape("UpdateHoldResult", held);
  expect(held).toEqual({ ok: false });
  expect(await call("diagnostics.stability", { limit: 20 })).toMatchObject({ count: 0, events: [] });
});

test("an idle gateway may be restarted, and its lanes are empty", async () => {
  expect(await call("gateway.restart.preflight")).toMatchObject({
    safe: true,
    counts: { queueSize: 0, embeddedRuns: 0, cronRuns: 0, activeTasks: 0, totalActive: 0 },
    blockers: [],
    summary: "safe to restart now",
  });
  const empty = { activeCount: 0, queuedCount: 0, maxConcurrent: expect.any(Number), blockedBy: null };
  expect(await call("diagnostics.lanes")).toMatchObject({
    lanes: [
      { lane: "main", ...empty },
      { lane: "cron", ...empty },
    ],
    dynamic: { activeCount: 0, queuedCount: 0, queuedLaneCount: 0 },
  });
});

test("health and status have what OpenClaw's command line reads", async () => {
  const heartbeat = { enabled: true, everyMs: expect.any(Number), every: expect.stringMatching(/^\d+[ms]$/) };
  const sessions = { path: expect.any(String), count: expect.any(Number), recent: expect.any(Array) };
  const eventLoop = { reasons: expect.any(Array), intervalMs: expect.any(Number), cpuCoreRatio: expect.any(Number) };
  expect(await call("health")).toMatchObject({
    agents: [{ agentId: "main", isDefault: true, heartbeat, sessions }],
    sessions,
    eventLoop,
    plugins: { unavailable: [] },
    configReload: { hotReloadStatus: "active" },
    channels: { telegram: { configured: true } },
  });
  expect(await call("status")).toMatchObject({
    runtimeVersion: expect.any(String),
    pid: process.pid,
    heartbeat: { defaultAgentId: "main", agents: [{ agentId: "main", ...heartbeat }] },
    channelSummary: [expect.stringContaining("Telegram")],
    sessions: { paths: [expect.any(String)], defaults: { model: "fake-1" }, byAgent: [{ agentId: "main" }] },
    eventLoop,
    processMemory: { rssBytes: expect.any(Number) },
  });
});

const listed = z.looseObject({
  requests: z.array(z.looseObject({ requestId: z.string(), senderId: z.string() })),
});
const waiting = async (params: object = {}) => {
  const answer = await call("channels.pairing.list", params);
  expectShape("ChannelsPairingListResult", answer);
  return listed.parse(answer).requests;
};
const requestOf = async (senderId: string) => {
  const find = async () => (await waiting()).find((one) => one.senderId === senderId);
  await expect.poll(find, { timeout: 20_000 }).toBeDefined();
  return { channel: "telegram", accountId: "default", requestId: (await find())?.requestId };
};

describe("strangers", () => {
  test("are listed by account, and let in with a message", async () => {
    fixture.telegram.say("hello", { from: { ...OWN, id: 501 } });
    const asked = await requestOf("501");
    expect(await call("channels.pairing.list", { channel: "telegram" })).toMatchObject({
      accounts: [{ channel: "telegram", channelLabel: "Telegram", accountId: "default", notifySupported: true }],
      commandOwnerConfigured: false,
      limits: { pendingPerAccount: 3, ttlMs: 3_600_000 },
    });
    const done = await call("channels.pairing.approve", { ...asked, notify: true, bootstrapCommandOwner: true });
    expectShape("ChannelsPairingApproveResult", done);
    expect(done).toEqual({
      requestId: asked.requestId,
      senderId: "501",
      notification: "sent",
      commandOwnerBootstrap: "configured",
    });
    expect(JSON.parse(fixture.config())).toMatchObject({ commands: { ownerAllowFrom: ["telegram:501"] } });
    await fixture.telegram.waitFor(({ text }) => text.includes("has let you in"));
    expect(await refused("channels.pairing.approve", asked)).toMatchObject({
      code: "INVALID_REQUEST",
      message: "pending DM access request no longer exists",
    });
  });

  test("are dismissed, and only an administrator names an owner", async () => {
    fixture.telegram.say("hello", { from: { ...OWN, id: 502 } });
    const asked = await requestOf("502");
    const done = await call("channels.pairing.dismiss", asked);
    expectShape("ChannelsPairingDismissResult", done);
    expect(done).toEqual({ requestId: asked.requestId, senderId: "502" });
    expect((await waiting()).map(({ senderId }) => senderId)).not.toContain("502");
    expect(await refused("channels.pairing.dismiss", asked)).toMatchObject({ code: "INVALID_REQUEST" });
    expect(await refused("channels.pairing.list", { channel: "irc" })).toMatchObject({
      message: "unknown pairing channel: irc",
    });
  });
});

test("secrets are read again, and a file that does not fit changes nothing", async () => {
  const before = fixture.config();
  expect(await call("secrets.reload")).toMatchObject({ ok: true, warningCount: expect.any(Number) });
  writeFileSync(join(fixture.dir, "openclaw.json"), "{");
  expect(await refused("secrets.reload", {})).toMatchObject({ code: "UNAVAILABLE" });
  writeFileSync(join(fixture.dir, "openclaw.json"), before);
  expect(await call("secrets.reload")).toMatchObject({ ok: true });
});

const progress = z.looseObject({
  sessionId: z.string().optional(),
  done: z.boolean(),
  error: z.string().optional(),
  step: z.looseObject({ id: z.string(), type: z.string(), message: z.string() }).optional(),
});

/** Answers the steps of a wizard in turn; resolves with the last answer and the messages of all steps. */
async function wizard(start: object, answers: readonly unknown[]) {
  const begun = await call("wizard.start", { flow: "channels", ...start });
  expectShape("WizardStartResult", begun);
  let at = progress.parse(begun);
  const { sessionId } = at;
  const seen = [`${at.step?.type} ${at.step?.message}`];
  for (const value of answers) {
    const next = await call("wizard.next", { sessionId, answer: { stepId: at.step?.id, value } });
    expectShape("WizardNextResult", next);
    at = progress.parse(next);
    seen.push(at.error ?? `${at.step?.type} ${at.step?.message}`);
  }
  return { at, seen, sessionId };
}

describe("a wizard", () => {
  test("asks for a channel, an account and its values, and writes them", async () => {
    const { at, seen } = await wizard({}, ["telegram", "no/name", "work", "", "not a token", "77:token-of-the-wizard"]);
    expect(seen.map((text) => text.split(" ")[0])).toEqual(expect.arrayContaining(["select", "text"]));
    expect(seen[2]).toContain("Use letters");
    expect(seen[4]).toContain("it is missing");
    expect(at).toMatchObject({ done: true, status: "done", accounts: [{ channel: "telegram", accountId: "work" }] });
    expect(JSON.parse(fixture.config())).toMatchObject({
      channels: { telegram: { accounts: { work: { botToken: "77:token-of-the-wizard" } } } },
    });
  });

  test("does not replace an account without being told to, and can be cancelled", async () => {
    const before = fixture.config();
    const { seen, sessionId } = await wizard({ channel: "telegram" }, ["work", "78:another-token-entirely"]);
    expect(seen.at(-1)).toContain("There is an account work already");
    expect(await call("wizard.status", { sessionId })).toEqual({ status: "running" });
    expect(await call("wizard.cancel", { sessionId })).toEqual({ status: "cancelled", error: "cancelled" });
    expect(await refused("wizard.next", { sessionId })).toMatchObject({ details: { code: "WIZARD_NOT_FOUND" } });
    expect(fixture.config()).toBe(before);
  });

  test("of another kind is refused", async () => {
    expect(await refused("wizard.start", {})).toMatchObject({ code: "INVALID_REQUEST" });
    expect(await refused("wizard.start", { flow: "channels", channel: "irc" })).toMatchObject({
      message: "there is no channel irc",
    });
    expect(await refused("wizard.status", { sessionId: "nothing" })).toMatchObject({ message: "wizard not found" });
  });
});
