import { chmod, mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SessionManager } from "@mariozechner/pi-coding-agent";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checks } from "../../src/sessions/checks.ts";
import { openSessions } from "../../src/sessions/sessions.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import type { Sessions } from "../../src/types/session.ts";
import { ALL, answer, handClock, listen, say, scratch, texts, user } from "./kit.ts";

const KEY = sessionKey("telegram:default:8001");
let dir: string;
let clean: () => Promise<void>;
let clock: ReturnType<typeof handClock>;
let log: ReturnType<typeof listen>;
const opened: Sessions[] = [];

async function open(maxOpen = 64): Promise<Sessions> {
  const cwdFor = (agent: string) => `/spaces/${agent}`;
  const sessions = await openSessions({ dir, cwdFor, log, clock, maxOpen, defaultAgent: agentId("main") });
  opened.push(sessions);
  return sessions;
}
const readStore = async (): Promise<Record<string, Record<string, unknown>>> =>
  JSON.parse(await readFile(join(dir, "sessions.json"), "utf8"));
const files = async (): Promise<string[]> => (await readdir(dir)).sort();
const runChecks = async () => {
  const results = await Promise.all(checks(dir).map((check) => check.run(AbortSignal.timeout(2000))));
  return results.map((lines) => lines.map((line) => line.status));
};

beforeEach(async () => {
  const place = await scratch();
  dir = join(place.dir, "sessions");
  ({ clean } = place);
  clock = handClock();
  log = listen();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((sessions) => sessions.close()));
  await clean();
});

describe("a session", () => {
  it("leaves nothing behind until something is said, then its row and its turn are on disk", async () => {
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    expect(session).toMatchObject({ key: KEY, agentId: "main", isNew: true, leafId: null });
    expect([sessions.peek(KEY), await files()]).toEqual([undefined, []]);
    await session.append(say("hello"), { durable: true });
    expect((await readStore())[KEY]).toMatchObject({ sessionId: session.id, sessionFile: session.file });
    expect(await files()).toEqual([`${session.id}.jsonl`, "sessions.json"]);
    expect(session.isNew).toBe(false);
    const [header] = (await readFile(session.file, "utf8")).split("\n");
    expect(JSON.parse(header ?? "")).toMatchObject({ id: session.id, cwd: "/spaces/main" });
    expect(SessionManager.open(session.file, dir).buildSessionContext().messages).toEqual([user("hello")]);
  });

  it("belongs to one holder; others wait in their order", async () => {
    const sessions = await open();
    const first = await sessions.acquire(KEY);
    const order: number[] = [];
    const waiting = [1, 2, 3].map(async (number) => {
      const session = await sessions.acquire(sessionKey(`agent:main:${KEY}`));
      order.push(number);
      await session.append(say(`m${number}`));
      session.release();
    });
    await first.append(say("m0"));
    expect(order).toEqual([]);
    first.release();
    first.release();
    await Promise.all(waiting);
    const last = await sessions.acquire(KEY);
    expect(order).toEqual([1, 2, 3]);
    expect(texts(await last.window(ALL))).toEqual(["m0", "m1", "m2", "m3"]);
    await expect(first.append(say("late"))).rejects.toThrow("after its release");
  });

  it("is not held up by another session", async () => {
    const sessions = await open();
    await sessions.acquire(KEY);
    const other = await sessions.acquire(sessionKey("agent:ops:telegram:default:8001"));
    expect(other.agentId).toBe("ops");
  });

  it("changes its row within seconds, at once when told", async () => {
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    await session.append(say("a"), { durable: true });
    await session.update({ totalTokens: 5, thinkingLevel: "high" });
    expect((await readStore())[KEY]).not.toHaveProperty("totalTokens");
    clock.due();
    await sessions.flush();
    expect((await readStore())[KEY]).toMatchObject({ totalTokens: 5, totalTokensFresh: true, thinkingLevel: "high" });
    await session.update({ thinkingLevel: undefined, label: "x" }, { now: true });
    expect((await readStore())[KEY]).toMatchObject({ label: "x" });
    expect((await readStore())[KEY]).not.toHaveProperty("thinkingLevel");
    expect(await sessions.patch(KEY, { label: "y" })).toMatchObject({ label: "y" });
    expect(session.entry.label).toBe("y");
    expect(await sessions.patch(sessionKey("nobody:a:b"), { label: "y" })).toBeUndefined();
  });

  it("begins anew and keeps its settings and its archive", async () => {
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    await session.append(say("old"), { durable: true });
    await session.update({ thinkingLevel: "low", modelOverride: "m", label: "l", totalTokens: 9, compactionCount: 2 });
    const { id, file } = session;
    const text = await readFile(file, "utf8");
    await session.reset();
    expect(session.id).not.toBe(id);
    expect(session).toMatchObject({ isNew: true, leafId: null });
    expect(session.entry).toMatchObject({ thinkingLevel: "low", modelOverride: "m", label: "l" });
    expect(session.entry).not.toHaveProperty("totalTokens");
    const archive = `${file}.reset.2026-11-21T00-00-00.000Z`;
    expect(await readFile(archive, "utf8")).toBe(text);
    expect((await readStore())[KEY]).toMatchObject({ sessionId: session.id, sessionFile: session.file });
    await session.append(say("new"));
    expect(texts(await session.window(ALL))).toEqual(["new"]);
    session.release();
    expect(texts(await (await sessions.acquire(KEY)).window(ALL))).toEqual(["new"]);
  });

  it("is removed with its transcript archived", async () => {
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    await session.append(say("a"), { durable: true });
    session.release();
    expect(await sessions.remove(KEY)).toBe(true);
    expect(await sessions.remove(KEY)).toBe(false);
    expect(await files()).toEqual([`${session.id}.jsonl.deleted.2026-11-21T00-00-00.000Z`, "sessions.json"]);
    expect(await readStore()).toEqual({});
    expect((await sessions.acquire(KEY)).isNew).toBe(true);
  });

  it("survives being put out of memory and restarts", async () => {
    const sessions = await open(1);
    for (let round = 0; round < 3; round += 1) {
      for (const name of ["a", "b", "c"]) {
        const session = await sessions.acquire(sessionKey(`web:x:${name}`));
        await session.append(say(`${name}${round}`));
        session.release();
      }
    }
    await sessions.close();
    const again = await open();
    const session = await again.acquire(sessionKey("web:x:b"));
    expect(texts(await session.window(ALL))).toEqual(["b0", "b1", "b2"]);
    expect(again.list()).toHaveLength(3);
  });

  it("sees what another program appended meanwhile", async () => {
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    await session.append(say("ours"), { durable: true });
    await session.append(answer("yes"));
    session.release();
    SessionManager.open(session.file, dir).appendMessage(user("theirs"));
    expect(texts(await (await sessions.acquire(KEY)).window(ALL))).toEqual(["ours", "yes", "theirs"]);
  });
});

describe("history", () => {
  it("gives the newest entries for people, while a run holds the session", async () => {
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    expect(await sessions.history(KEY, 10)).toEqual({ entries: [], hasMore: false });
    await session.append(say("one"));
    await session.append({ type: "model_change", provider: "p", modelId: "m" });
    await session.append(answer("two"));
    await session.append({ type: "custom", customType: "openclaw.notice", data: { text: "three" } });
    await session.append({ type: "custom", customType: "private", data: 1 });
    const all = await sessions.history(KEY, 10);
    expect(all.entries.map((entry) => entry.type)).toEqual(["message", "message", "custom"]);
    expect(all.hasMore).toBe(false);
    const newest = await sessions.history(KEY, 2);
    expect(newest).toEqual({ entries: all.entries.slice(1), hasMore: true });
  });

  it("leaves out a memory flush with all that was answered to it, whole or under way", async () => {
    const provenance = { kind: "internal_system" as const, sourceTool: "memory_flush" };
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    for (const said of [say("first"), answer("one")]) await session.append(said);
    await session.append({ type: "message", message: { ...user("save it"), provenance } });
    for (const said of ["wrote it", "NO_REPLY"]) await session.append(answer(said));
    const told = async (limit: number) => {
      const { entries, hasMore } = await sessions.history(KEY, limit);
      return [JSON.stringify(entries).match(/first|one|save it|wrote it|NO_REPLY|second/g), hasMore];
    };
    expect(await told(10)).toEqual([["first", "one"], false]);
    expect(await told(1)).toEqual([["one"], true]);
    await session.append(say("second"));
    expect(await told(10)).toEqual([["first", "one", "second"], false]);
    expect(await told(2)).toEqual([["one", "second"], true]);
  });
});

describe("sessions.json", () => {
  async function place(text: string): Promise<void> {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    await writeFile(join(dir, "sessions.json"), text, { mode: 0o600 });
  }
  const transcript = (text: string) =>
    [
      { type: "session", version: 3, id: "sid", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/" },
      { type: "message", id: "00000001", parentId: null, timestamp: "2025-01-01T00:00:00.000Z", message: user(text) },
    ]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join("");

  it("of another program loads, comments and all, and keeps what it does not know", async () => {
    const file = join(dir, "elsewhere.jsonl");
    await place(`{
      // written by a person
      "agent:main:${KEY}": {sessionId: "sid", updatedAt: 5, sessionFile: ${JSON.stringify(file)}, chatType: "dm", origin: {from: "x"},},
      relative: {sessionId: "sid2", updatedAt: 5, sessionFile: "elsewhere.jsonl"},
      $note: "keep me",
    }`);
    await writeFile(file, transcript("from before"));
    const sessions = await open();
    expect(sessions.peek(KEY)).toMatchObject({ sessionId: "sid", chatType: "direct" });
    const session = await sessions.acquire(KEY);
    expect(texts(await session.window(ALL))).toEqual(["from before"]);
    expect(texts(await (await sessions.acquire(sessionKey("relative"))).window(ALL))).toEqual(["from before"]);
    await session.append(say("now"), { durable: true });
    await sessions.flush();
    const store = await readStore();
    expect(store["$note"]).toBe("keep me");
    expect(store[KEY]).toMatchObject({ origin: { from: "x" }, sessionFile: file });
    expect(log.lines).toEqual([]);
  });

  it("that moved with its directory still leads to its transcripts", async () => {
    await place(JSON.stringify({ [KEY]: { sessionId: "sid", updatedAt: 5, sessionFile: "/gone/sid.jsonl" } }));
    await writeFile(join(dir, "sid.jsonl"), transcript("found"));
    expect(texts(await (await (await open()).acquire(KEY)).window(ALL))).toEqual(["found"]);
  });

  it("that cannot be read is set aside, told, and made anew from the transcripts", async () => {
    const first = await open();
    const session = await first.acquire(KEY);
    await session.append(say("kept"), { durable: true });
    await first.close();
    await writeFile(join(dir, "sessions.json"), "{ this is torn");
    await writeFile(join(dir, "stranger.jsonl"), transcript("whose?"));
    expect((await runChecks())[0]).toEqual(["fail"]);
    const sessions = await open();
    expect(log.lines).toEqual([expect.stringContaining("error sessions.json could not be read")]);
    const aside = (await files()).find((name) => name.startsWith("sessions.json.broken."));
    expect(await readFile(join(dir, aside ?? ""), "utf8")).toBe("{ this is torn");
    const again = await sessions.acquire(KEY);
    expect(again.id).toBe(session.id);
    expect(texts(await again.window(ALL))).toEqual(["kept"]);
    expect((await runChecks())[0]).toEqual(["ok", "warn"]);
  });

  it("changed by another program keeps that program's rows", async () => {
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    await session.append(say("a"), { durable: true });
    await sessions.flush();
    const store = await readStore();
    const path = join(dir, "sessions.json");
    await writeFile(path, JSON.stringify({ ...store, "web:x:y": { sessionId: "other", updatedAt: 1 } }));
    await utimes(path, 1, 1);
    await session.update({ label: "mine" }, { now: true });
    expect(await readStore()).toMatchObject({ [KEY]: { label: "mine" }, "web:x:y": { sessionId: "other" } });
    expect(sessions.peek(sessionKey("web:x:y"))).toMatchObject({ sessionId: "other" });
  });
});

describe("the checks", () => {
  it("find all well in a new and in a used directory", async () => {
    expect(await runChecks()).toEqual([["ok"], ["ok"], ["ok"]]);
    const session = await (await open()).acquire(KEY);
    await session.append(say("a"), { durable: true });
    expect(await runChecks()).toEqual([["ok"], ["ok"], ["ok"]]);
  });

  it("tell torn, headless and missing transcripts apart", async () => {
    const sessions = await open();
    for (const name of ["torn", "headless", "missing"]) {
      const session = await sessions.acquire(sessionKey(`web:x:${name}`));
      await session.append(say("a"), { durable: true });
      if (name === "torn") await writeFile(session.file, "\n{half", { flag: "a" });
      if (name === "headless") await writeFile(session.file, "nonsense\n");
      if (name === "missing") await session.update({ sessionFile: join(dir, "nowhere.jsonl") });
    }
    expect((await runChecks())[1]?.toSorted()).toEqual(["fail", "warn", "warn"]);
  });

  it("mend loose modes", async () => {
    const session = await (await open()).acquire(KEY);
    await session.append(say("a"), { durable: true });
    await chmod(dir, 0o755);
    await chmod(session.file, 0o644);
    const modes = checks(dir).find((check) => check.id === "sessions.permissions");
    const [found] = (await modes?.run(AbortSignal.timeout(1000))) ?? [];
    expect(found?.status).toBe("warn");
    await found?.repair?.apply();
    expect((await stat(session.file)).mode & 0o777).toBe(0o600);
    expect((await runChecks())[2]).toEqual(["ok"]);
  });
});
