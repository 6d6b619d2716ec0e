import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { placeOfBeat } from "../../src/app/gateway/parts/heartbeat-place.ts";
import { loadConfig } from "../../src/app/config/load.ts";
import { resolvePaths } from "../../src/app/config/paths.ts";
import { Live } from "../../src/app/live.ts";
import { openSessions } from "../../src/sessions/sessions.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import type { Sessions, SessionPatch } from "../../src/types/session.ts";
import { recordLog } from "../kit/log.ts";
import { tableOf } from "../kit/store/session-table.ts";
import { watchedRows } from "../kit/store/watched-rows.ts";

/** The people who may not write any more. */
const putOut = new Set<string>();
let dir: string;
let sessions: Sessions;
beforeEach(async () => {
  putOut.clear();
  dir = await mkdtemp(join(tmpdir(), "openclaw-beat-"));
  sessions = await openSessions({
    dir: join(dir, "sessions"),
    table: await tableOf(dir),
    cwdFor: () => dir,
    log: recordLog(),
    defaultAgent: agentId("main"),
  });
});
afterEach(async () => {
  await sessions.close();
  await rm(dir, { recursive: true });
});

const OWNERS = { commands: { ownerAllowFrom: ["telegram:1"] } };

/** A conversation that was used then. */
async function used(key: string, updatedAt: number, patch: SessionPatch = {}): Promise<void> {
  const session = await sessions.acquire(sessionKey(key));
  await session.append({ type: "session_info", name: key });
  await session.update({ chatType: "direct", ...patch, updatedAt });
  session.release();
}

const SLACK_WORK: SessionPatch = { lastChannel: "slack", lastAccountId: "work" };
const telegram = (id: string): SessionPatch => ({ lastChannel: "telegram", lastTo: `telegram:${id}` });

const mayWrite = async (_to: unknown, { id }: { readonly id: string }) => !putOut.has(id);

async function place(heartbeat: object = {}, more: object = {}, cause: "interval" | "event" = "interval") {
  const paths = resolvePaths({ HOME: dir, OPENCLAW_STATE_DIR: dir });
  await writeFile(paths.configPath, JSON.stringify({ ...more, agents: { defaults: { heartbeat } } }));
  const live = new Live(paths, dir, await loadConfig({ path: paths.configPath, env: {} }));
  const status = () =>
    ["telegram default", "slack default", "slack work", "signal default"].map((row) => {
      const [channel = "", accountId = ""] = row.split(" ");
      return { channel, accountId, enabled: true };
    });
  const agent = live.defaultAgent;
  if (!agent.heartbeat) throw new Error("no heartbeat");
  const parts = { live, channels: { status, limits: () => undefined, mayWrite }, sessions };
  const { to, ...rest } = await placeOfBeat(agent, agent.heartbeat, { cause, parts });
  return { ...rest, to: to && `${to.channel}:${to.chat.id}` };
}

describe("the place of a heartbeat", () => {
  it("is the direct chat that an owner used last, whoever else writes later", async () => {
    await used("telegram:default:1", 10, telegram("1"));
    await used("telegram:default:2", 20, telegram("2"));
    await used("telegram:default:group:7", 30, { ...telegram("7"), chatType: "group", groupId: "7" });
    expect(await place({}, OWNERS)).toEqual({
      sessionKey: "heartbeat",
      to: "telegram:1",
      tell: "telegram:default:1",
    });
  });

  it("is found among 10000 chats that others used later, by a look at few of them", async () => {
    const rows = Array.from({ length: 10_000 }, (_, id) => {
      const to = id === 0 ? 1 : id + 100;
      const lastTo = `telegram:${to}`;
      const row = { sessionId: `s${id}`, updatedAt: id, chatType: "direct" as const, lastChannel: "telegram", lastTo };
      return [`telegram:default:${to}`, row] as const;
    });
    await sessions.close();
    const { table, read } = watchedRows(rows);
    const parts = { table, cwdFor: () => dir, log: recordLog(), defaultAgent: agentId("main") };
    sessions = await openSessions({ dir: join(dir, "many"), ...parts });
    read.clear();
    expect(await place({}, OWNERS)).toMatchObject({ to: "telegram:1" });
    expect(await place({}, { commands: { ownerAllowFrom: ["telegram:2"] } })).toMatchObject({
      problem: "no owner has written in a direct chat yet",
    });
    expect(await place({ target: "slack" })).toMatchObject({ problem: "nobody has written there yet" });
    expect([...read]).toEqual(["telegram:default:1"]);
    read.clear();
    expect(await place()).toMatchObject({ problem: expect.stringContaining("commands.ownerAllowFrom") });
    expect(read.size).toBeLessThanOrEqual(2);
  });

  it("knows an owner by the name that ids are linked to", async () => {
    await used("peer:anna", 10, telegram("1"));
    await used("peer:bert", 20, telegram("2"));
    const session = { dmScope: "per-peer", identityLinks: { anna: ["telegram:5", "slack:U1"], bert: ["telegram:2"] } };
    const commands = { ownerAllowFrom: ["slack:U1"] };
    expect(await place({}, { session, commands })).toMatchObject({ to: "telegram:1" });
  });

  it("knows an owner by a phone number too, and that somebody else wrote last", async () => {
    const signal = { lastChannel: "signal", lastTo: "signal:uuid-1", origin: { from: "signal:+43" } };
    await used("signal:default:uuid-1", 10, signal);
    expect(await place({}, { commands: { ownerAllowFrom: ["+43"] } })).toMatchObject({ to: "signal:uuid-1" });
    await used("main", 20, { ...telegram("1"), origin: { from: "telegram:2" } });
    // The joined chat is the operator's own too, which is on the page.
    expect(await place({}, OWNERS)).toMatchObject({ to: "webchat:webchat:default:operator" });
  });

  it("is the conversation of the person whose direct chat is named, by the chat's id or the person's", async () => {
    const signal = { lastChannel: "signal", lastTo: "signal:uuid-1", origin: { from: "signal:+43" } };
    await used("signal:default:uuid-1", 10, signal);
    await used("slack:default:U1", 20, { lastChannel: "slack", lastTo: "slack:D1", origin: { from: "slack:U1" } });
    await used("slack:work:U1", 30, { ...SLACK_WORK, lastTo: "slack:D7", origin: { from: "slack:U1" } });
    const told = async (target: string, to: string, more = {}) =>
      (await place({ target, to, isolatedSession: true, ...more })).tell;
    expect(await told("slack", "D1")).toBe("slack:default:U1");
    expect(await told("slack", "U1")).toBe("slack:default:U1");
    expect(await told("slack", "D7", { accountId: "work" })).toBe("slack:work:U1");
    expect(await told("signal", "+43")).toBe("signal:default:uuid-1");
    expect(await told("slack", "D9")).toBeUndefined();
    // Without a conversation of its own, a heartbeat is said in that of the person.
    expect(await place({ target: "slack", to: "D1", isolatedSession: false })).toMatchObject({
      sessionKey: "slack:default:U1",
      to: "slack:D1",
    });
  });

  it("is the page where the operator wrote last, or where nobody is known to be an owner", async () => {
    const page = { sessionKey: "heartbeat", to: "webchat:webchat:default:operator" };
    expect(await place()).toEqual({ ...page, problem: "nobody has written there yet" });
    await used("telegram:default:1", 10, telegram("1"));
    await used("telegram:default:2", 20, telegram("2"));
    expect(await place()).toMatchObject({ ...page, problem: expect.stringContaining("commands.ownerAllowFrom") });
    await used("webchat:default:operator", 30);
    expect(await place({}, OWNERS)).toEqual({ ...page, tell: "webchat:default:operator" });
  });

  it("is the only direct chat that there is, without owners", async () => {
    await used("telegram:default:1", 10, telegram("1"));
    expect(await place()).toMatchObject({ to: "telegram:1" });
  });

  it("is no direct chat of a person who may not write any more", async () => {
    await used("telegram:default:1", 10, { ...telegram("1"), origin: { from: "telegram:1" } });
    await used("telegram:default:2", 20, { ...telegram("2"), origin: { from: "telegram:2" } });
    putOut.add("2");
    expect(await place()).toMatchObject({ to: "telegram:1" });
    putOut.add("1");
    const problem = expect.stringMatching(/^the person of telegram:2 may not write to the agent any more/);
    expect(await place()).toMatchObject({ to: "webchat:webchat:default:operator", problem });
    expect(await place({ target: "telegram" })).toMatchObject({ to: undefined, problem });
    expect(await place({ target: "telegram" }, OWNERS)).toMatchObject({
      problem: expect.stringContaining("telegram:1 may not write"),
    });
  });

  it("is no chat where none is wished, and no direct one where those are shut", async () => {
    await used("telegram:default:1", 10, telegram("1"));
    expect(await place({ target: "none" })).toEqual({ sessionKey: "heartbeat", to: undefined });
    expect(await place({ directPolicy: "block" })).toMatchObject({ to: undefined, problem: expect.any(String) });
  });

  it("is the chat that the config names, which need not have written yet", async () => {
    expect(await place({ target: "telegram", to: "55" })).toEqual({ sessionKey: "heartbeat", to: "telegram:55" });
    await used("telegram:default:55", 10, telegram("55"));
    expect(await place({ target: "telegram", to: "55" })).toMatchObject({ tell: "telegram:default:55" });
    expect(await place({ target: "discord", to: "5" })).toMatchObject({ problem: expect.stringContaining("discord") });
  });

  it("continues in the chat's own conversation where it is to, and for news", async () => {
    await used("telegram:default:1", 10, telegram("1"));
    const there = { sessionKey: "telegram:default:1", to: "telegram:1" };
    expect(await place({ isolatedSession: false })).toEqual(there);
    expect(await place({}, {}, "event")).toEqual(there);
    expect(await place({ session: "main" })).toMatchObject({
      sessionKey: "webchat:default:operator",
      to: "telegram:1",
    });
  });

  it("on the page the conversation's transcript is the delivery", async () => {
    await used("webchat:default:operator", 30);
    expect(await place({ isolatedSession: false })).toEqual({ sessionKey: "webchat:default:operator", to: undefined });
  });
});
