import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { SessionManager } from "@mariozechner/pi-coding-agent";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { checks } from "../../src/sessions/checks.ts";
import { OPERATOR_KEY, wireKey } from "../../src/sessions/keys.ts";
import { openSessions } from "../../src/sessions/sessions.ts";
import { diskFull } from "../../src/store/disk.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import type { Sessions, SessionTable } from "../../src/types/session.ts";
import { forgetTable, journalBeside, tableOf } from "../kit/store/session-table.ts";
import { openStateDir, type StateDir } from "../kit/store/state-dir.ts";
import { ALL, answer, handClock, say, texts, user } from "../kit/store/transcript-file.ts";
import { recordLog } from "../kit/log.ts";
import { PATIENCE } from "../kit/until.ts";

const KEY = sessionKey("telegram:default:8001");
let dir: string;
let remove: StateDir["remove"];
let clock: ReturnType<typeof handClock>;
let log: ReturnType<typeof recordLog>;
const opened: Sessions[] = [];

async function open(maxOpen = 64, given?: SessionTable): Promise<Sessions> {
  const cwdFor = (agent: string) => `/spaces/${agent}`;
  const table = given ?? (await tableOf(dir));
  const inMemory = { count: maxOpen, bytes: 2 ** 30 };
  const sessions = await openSessions({ dir, table, cwdFor, log, clock, inMemory, defaultAgent: agentId("main") });
  opened.push(sessions);
  return sessions;
}
/** The rows as the journal has them. */
const readStore = async (): Promise<Record<string, unknown>> =>
  Object.fromEntries((await (await tableOf(dir)).all()).flatMap(({ key, row }) => (row ? [[key, row]] : [])));
const readExport = async (): Promise<Record<string, Record<string, unknown>>> =>
  JSON.parse(await readFile(join(dir, "sessions.json"), "utf8"));
const files = async (): Promise<string[]> => (await readdir(dir)).sort();
const runChecks = async () => {
  const results = await Promise.all(
    checks({ dir, journal: journalBeside(dir) }).map((check) => check.run(AbortSignal.timeout(2000))),
  );
  return results.map((lines) => lines.map((line) => line.status));
};

const looksAhead = () => clock.waits.filter((ms) => ms === 10_000).length;

/** Time goes by; what was put off is done. */
async function pass(ms: number): Promise<void> {
  const looks = looksAhead();
  clock.time += ms;
  clock.due();
  // Each store looks at its file, and only then puts off the next look.
  await vi.waitFor(() => expect(looksAhead()).toBe(looks), { ...PATIENCE, interval: 2 });
}
/** Long enough for `sessions.json` to be written. */
async function rest(): Promise<void> {
  await pass(3000);
  await pass(30_000);
}

beforeEach(async () => {
  const place = await openStateDir();
  dir = join(place.dir, "sessions");
  ({ remove } = place);
  clock = handClock();
  log = recordLog();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((sessions) => sessions.close()));
  await remove();
});

describe("a session", () => {
  it("leaves no row before the first message, then its row and its turn are on disk", async () => {
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    expect(session).toMatchObject({ key: KEY, agentId: "main", isNew: true, leafId: null });
    expect([sessions.peek(KEY), await files()]).toEqual([undefined, []]);
    await session.append(say("hello"), { durable: true });
    expect((await readStore())[KEY]).toMatchObject({ sessionId: session.id, sessionFile: basename(session.file) });
    expect(await files()).toEqual([`${session.id}.jsonl`]);
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

  it("writes its row within seconds, and at once when asked to", async () => {
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    await session.append(say("a"), { durable: true });
    await session.update({ totalTokens: 5, thinkingLevel: "high" });
    expect((await readStore())[KEY]).not.toHaveProperty("totalTokens");
    clock.due();
    await sessions.flush();
    expect((await readStore())[KEY]).toMatchObject({ totalTokens: 5, thinkingLevel: "high" });
    await session.update({ thinkingLevel: undefined, label: "x" }, { now: true });
    expect((await readStore())[KEY]).toMatchObject({ label: "x" });
    expect((await readStore())[KEY]).not.toHaveProperty("thinkingLevel");
    await sessions.patch(KEY, { label: "z" }, { now: true });
    expect((await readStore())[KEY]).toMatchObject({ label: "z" });
    expect(await sessions.patch(KEY, { label: "y" })).toMatchObject({ label: "y" });
    expect(session.entry.label).toBe("y");
    expect(await sessions.patch(sessionKey("nobody:a:b"), { label: "y" })).toBeUndefined();
  });

  it("reports each change of a setting, and nothing else", async () => {
    const sessions = await open();
    const changes: string[] = [];
    const ended = (async () => {
      for await (const key of sessions.settingChanges()) changes.push(key);
    })();
    const session = await sessions.acquire(KEY);
    await session.append(say("a"));
    await session.update({ totalTokens: 5 });
    await session.update({ thinkingLevel: "high", totalTokens: 6 }, { now: true });
    await sessions.patch(KEY, { thinkingLevel: "high" }, { now: true });
    await sessions.patch(KEY, { providerOverride: "p", modelOverride: "m" });
    session.release();
    await sessions.close();
    await ended;
    expect(changes).toEqual([KEY, KEY]);
  });

  it("begins a new transcript and keeps its settings and its archive", async () => {
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    await session.append(say("old"), { durable: true });
    await session.update({ thinkingLevel: "low", modelOverride: "m", label: "l", totalTokens: 9, compactionCount: 2 });
    const { id, file } = session;
    const text = await readFile(file, "utf8");
    await session.reset("new");
    expect(session.id).not.toBe(id);
    expect(session).toMatchObject({ isNew: true, leafId: null });
    expect(session.entry).toMatchObject({ thinkingLevel: "low", modelOverride: "m", label: "l" });
    expect(session.entry).not.toHaveProperty("totalTokens");
    const archive = `${file}.reset.2026-11-21T00-00-00.000Z`;
    expect(await readFile(archive, "utf8")).toBe(text);
    expect((await readStore())[KEY]).toMatchObject({ sessionId: session.id, sessionFile: basename(session.file) });
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
    expect(await sessions.remove(KEY)).toEqual({ archived: expect.stringContaining(".jsonl.deleted.") });
    expect(await sessions.remove(KEY)).toBeUndefined();
    expect(await files()).toEqual([`${session.id}.jsonl.deleted.2026-11-21T00-00-00.000Z`]);
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
    expect(await sessions.history(KEY, 10)).toMatchObject({ entries: [], hasMore: false });
    await session.append(say("one"));
    await session.append({ type: "model_change", provider: "p", modelId: "m" });
    await session.append(answer("two"));
    await session.append({ type: "custom", customType: "openclaw.notice", data: { text: "three" } });
    await session.append({ type: "custom", customType: "private", data: 1 });
    const all = await sessions.history(KEY, 10);
    expect(all.entries.map((entry) => entry.type)).toEqual(["message", "message", "custom"]);
    expect(all.hasMore).toBe(false);
    const newest = await sessions.history(KEY, 2);
    expect(newest).toMatchObject({ entries: all.entries.slice(1), hasMore: true });
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

describe("the joined direct chats of an earlier version", () => {
  const row = (sessionId: string, updatedAt: number) => ({ sessionId, updatedAt, sessionFile: `${sessionId}.jsonl` });

  it("are the main session, with the operator's own", async () => {
    const table = await tableOf(dir);
    await table.write([[sessionKey("main"), row("joined", 1)]]);
    const sessions = await open();
    for (const key of ["main", "agent:main:main", OPERATOR_KEY])
      expect(sessions.peek(sessionKey(key))).toMatchObject({ sessionId: "joined" });
    expect(Object.keys(await readStore())).toEqual([OPERATOR_KEY]);
  });

  it.each([
    [1, 2, "own", "joined"],
    [2, 1, "joined", "own"],
  ])("go on in the session used last, and the other one is kept", async (joined, own, main, other) => {
    const table = await tableOf(dir);
    await table.write([
      [sessionKey("main"), row("joined", joined)],
      [OPERATOR_KEY, row("own", own)],
    ]);
    const sessions = await open();
    const earlier = sessionKey(`webchat:default:${other}`);
    expect(sessions.peek(OPERATOR_KEY)?.sessionId).toBe(main);
    expect(sessions.peek(earlier)).toMatchObject({ sessionId: other, label: "Earlier main chat" });
    expect(Object.keys(await readStore()).toSorted()).toEqual([OPERATOR_KEY, earlier].toSorted());
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
    session.release();
    await sessions.close();
    const store = await readExport();
    expect(store["$note"]).toBe("keep me");
    expect(store[KEY]).toMatchObject({ origin: { from: "x" }, sessionFile: "elsewhere.jsonl" });
    expect(log.lines).toEqual(["info sessions.json taken in"]);
  });

  it("that moved with its directory still leads to its transcripts", async () => {
    await place(JSON.stringify({ [KEY]: { sessionId: "sid", updatedAt: 5, sessionFile: "/gone/sid.jsonl" } }));
    await writeFile(join(dir, "sid.jsonl"), transcript("found"));
    expect(texts(await (await (await open()).acquire(KEY)).window(ALL))).toEqual(["found"]);
  });

  it("that cannot be read is set aside, reported, and made again from the transcripts", async () => {
    const first = await open();
    const session = await first.acquire(KEY);
    await session.append(say("kept"), { durable: true });
    session.release();
    await first.close();
    // As after a move to a new journal.
    await forgetTable(dir);
    await writeFile(join(dir, "sessions.json"), "{ this is torn");
    await writeFile(join(dir, "stranger.jsonl"), transcript("whose?"));
    expect((await runChecks())[0]).toEqual(["fail"]);
    const sessions = await open();
    expect(log.lines).toEqual([
      expect.stringMatching(/error sessions.json could not be read; .* from the transcripts/),
    ]);
    const aside = (await files()).find((name) => name.startsWith("sessions.json.broken."));
    expect(await readFile(join(dir, aside ?? ""), "utf8")).toBe("{ this is torn");
    const again = await sessions.acquire(KEY);
    expect(again.id).toBe(session.id);
    expect(texts(await again.window(ALL))).toEqual(["kept"]);
    expect((await runChecks())[0]).toEqual(["ok", "warn"]);
  });

  it("that cannot be read is set aside, and the journal's rows stay", async () => {
    const first = await open();
    const session = await first.acquire(KEY);
    await session.append(say("kept"), { durable: true });
    await session.update({ label: "mine" });
    session.release();
    await first.close();
    await writeFile(join(dir, "sessions.json"), "{ this is torn");
    const sessions = await open();
    expect(log.lines).toEqual([expect.stringMatching(/error sessions.json could not be read; .* from the journal/)]);
    expect(sessions.peek(KEY)).toMatchObject({ sessionId: session.id, label: "mine" });
    await rest();
    expect(await readExport()).toMatchObject({ [KEY]: { label: "mine" } });
    expect((await files()).filter((name) => name.startsWith("sessions.json.broken."))).toHaveLength(1);
  });

  it("is written when the rows stop changing and at the end, never per message", async () => {
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    await session.append(say("a"), { durable: true });
    expect(await files()).not.toContain("sessions.json");
    await rest();
    expect(await readExport()).toMatchObject({ [KEY]: { sessionId: session.id } });
    const written = await stat(join(dir, "sessions.json"), { bigint: true });
    for (let count = 0; count < 10; count += 1) {
      await session.append(say("b"), { durable: true });
      await session.update({ totalTokens: count });
      await pass(10_000);
      await sessions.flush();
    }
    expect((await stat(join(dir, "sessions.json"), { bigint: true })).mtimeNs).toBe(written.mtimeNs);
    await rest();
    expect((await readExport())[KEY]).toMatchObject({ totalTokens: 9, totalTokensFresh: true });
    await session.update({ label: "last" });
    session.release();
    await sessions.close();
    expect((await readExport())[KEY]).toMatchObject({ label: "last" });
  });

  it("is written after ten minutes when the rows keep changing", async () => {
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    await session.append(say("a"), { durable: true });
    await rest();
    for (let count = 0; count <= 600; count += 10) {
      await session.update({ totalTokens: count });
      await pass(10_000);
    }
    expect((await readExport())[KEY]?.["totalTokens"]).toBeGreaterThan(500);
  });

  it("is written again after a write that failed", async () => {
    const table = await tableOf(dir);
    let tries = 0;
    const failing: SessionTable = {
      ...table,
      async noteExport(rows, state) {
        tries += 1;
        if (tries === 1) throw diskFull("/state", "no space");
        await table.noteExport(rows, state);
      },
    };
    const sessions = await open(64, failing);
    const session = await sessions.acquire(KEY);
    await session.append(say("a"), { durable: true });
    await rest();
    expect([tries, log.lines]).toEqual([1, [expect.stringContaining("warn sessions.json was not written")]]);
    await pass(10_000);
    expect(tries).toBe(2);
    await pass(60_000);
    expect(tries).toBe(2);
  });

  it("that the system does not let be read is left alone, and taken in when it does", async () => {
    // A directory in its place cannot be read as a file.
    await mkdir(join(dir, "sessions.json"), { recursive: true });
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    await session.append(say("a"), { durable: true });
    await rest();
    expect((await stat(join(dir, "sessions.json"))).isDirectory()).toBe(true);
    await rm(join(dir, "sessions.json"), { recursive: true });
    await place(JSON.stringify({ "web:x:y": { sessionId: "other", updatedAt: 1 } }));
    await pass(10_000);
    expect(sessions.peek(sessionKey("web:x:y"))).toMatchObject({ sessionId: "other" });
    expect(Object.keys(await readExport()).toSorted()).toEqual([KEY, "web:x:y"]);
  });

  it("rows that a full disk refused are written when it has space", async () => {
    const table = await tableOf(dir);
    let isFull = true;
    const full: SessionTable = {
      ...table,
      write: (rows) => (isFull ? Promise.reject(diskFull("/state", "no space")) : table.write(rows)),
    };
    const sessions = await open(64, full);
    const session = await sessions.acquire(KEY);
    await expect(session.append(say("a"), { durable: true })).rejects.toMatchObject({ code: "DISK_FULL" });
    isFull = false;
    clock.due();
    await vi.waitFor(async () => expect(await readStore()).toHaveProperty([KEY]), PATIENCE);
  });

  it("that is gone is written again, and nothing is forgotten", async () => {
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    await session.append(say("a"), { durable: true });
    session.release();
    await sessions.close();
    await rm(join(dir, "sessions.json"));
    const again = await open();
    expect(again.peek(KEY)).toMatchObject({ sessionId: session.id });
    await rest();
    expect(await readExport()).toHaveProperty([KEY]);
  });

  /** Another program reads the file, changes something and writes it. */
  async function edit(change: (rows: Record<string, Record<string, unknown>>) => void): Promise<void> {
    const rows = await readExport();
    change(rows);
    await writeFile(join(dir, "sessions.json"), JSON.stringify(rows));
  }

  it("edited while the gateway runs changes rows of live sessions, field by field", async () => {
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    await session.append(say("a"), { durable: true });
    await session.update({ thinkingLevel: "low", totalTokens: 1 });
    await rest();
    await edit((rows) => {
      rows["web:x:y"] = { sessionId: "other", updatedAt: 1 };
      Object.assign(rows[KEY] ?? {}, { label: "theirs", modelOverride: "m2", totalTokens: 99 });
      delete rows[KEY]?.["thinkingLevel"];
    });
    await session.update({ totalTokens: 2 });
    await session.append(say("b"), { durable: true });
    await pass(10_000);
    await vi.waitFor(() => expect(session.entry).toMatchObject({ label: "theirs" }), PATIENCE);
    expect(session.entry).toMatchObject({ modelOverride: "m2", totalTokens: 2 });
    expect(session.entry).not.toHaveProperty("thinkingLevel");
    expect(sessions.peek(sessionKey("web:x:y"))).toMatchObject({ sessionId: "other" });
    expect(log.lines).toContain("info sessions.json was changed by others; taken in");
    await session.update({ totalTokens: 3 });
    await rest();
    expect(await readExport()).toMatchObject({
      [KEY]: { label: "theirs", modelOverride: "m2", totalTokens: 3 },
      "web:x:y": { sessionId: "other" },
    });
  });

  it("written back by a plugin with the keys that plugins see changes the same rows", async () => {
    const sessions = await open();
    const mine = await sessions.acquire(OPERATOR_KEY);
    const session = await sessions.acquire(KEY);
    for (const one of [mine, session]) await one.append(say("a"), { durable: true });
    await session.update({ parentSessionKey: OPERATOR_KEY });
    await rest();
    const rows = Object.entries(await readExport()).map(([key, row]) => [
      wireKey(key),
      { ...row, label: wireKey(key) },
    ]);
    const written: Record<string, Record<string, unknown>> = Object.fromEntries(rows);
    Object.assign(written[wireKey(KEY)] ?? {}, { parentSessionKey: "agent:main:main" });
    await writeFile(join(dir, "sessions.json"), JSON.stringify(written));
    await pass(10_000);
    await vi.waitFor(
      () => expect(session.entry).toMatchObject({ label: "agent:main:telegram:default:8001" }),
      PATIENCE,
    );
    expect(session.entry).toMatchObject({ parentSessionKey: OPERATOR_KEY });
    expect(mine.entry).toMatchObject({ label: "agent:main:main" });
    expect(sessions.list()).toHaveLength(2);
  });

  it("written back by a program that read an older one brings back no conversation and removes no row", async () => {
    const sessions = await open();
    const session = await sessions.acquire(KEY);
    await session.append(say("a"), { durable: true });
    await rest();
    const older = await readExport();
    await session.reset("new");
    const other = await sessions.acquire(sessionKey("web:x:new"));
    await other.append(say("b"), { durable: true });
    await rest();
    Object.assign(older[KEY] ?? {}, { label: "theirs" });
    await writeFile(join(dir, "sessions.json"), JSON.stringify(older));
    await pass(10_000);
    await vi.waitFor(() => expect(session.entry).toMatchObject({ label: "theirs" }), PATIENCE);
    expect(session.entry).toMatchObject({ sessionId: session.id, sessionFile: basename(session.file) });
    expect(sessions.peek(sessionKey("web:x:new"))).toBeDefined();
    await rest();
    expect(await readExport()).toMatchObject({
      [KEY]: { sessionId: session.id },
      "web:x:new": { sessionId: other.id },
    });
  });

  it("edited while no gateway ran changes the rows, removes and adds some", async () => {
    const first = await open();
    for (const key of [KEY, sessionKey("web:x:gone")]) {
      const session = await first.acquire(key);
      await session.append(say("a"), { durable: true });
      session.release();
    }
    await first.close();
    await edit((rows) => {
      delete rows["web:x:gone"];
      rows["web:x:new"] = { sessionId: "new", updatedAt: 1 };
      Object.assign(rows[KEY] ?? {}, { label: "theirs" });
    });
    const sessions = await open();
    expect(sessions.list().map(({ key, entry }) => [key, entry.label])).toEqual([
      [KEY, "theirs"],
      ["web:x:new", undefined],
    ]);
    expect(await readStore()).toMatchObject({ [KEY]: { label: "theirs" }, "web:x:new": { sessionId: "new" } });
    expect(log.lines).toContain("info sessions.json was changed by others; taken in");
  });

  it("that an earlier process did not write is older than the rows, not edited by a person", async () => {
    const first = await open();
    const session = await first.acquire(KEY);
    await session.append(say("a"), { durable: true });
    await rest();
    await session.update({ label: "newer" }, { now: true });
    const other = await first.acquire(sessionKey("web:x:new"));
    await other.append(say("b"), { durable: true });
    // Killed: nobody closes it.
    const sessions = await open();
    expect(sessions.peek(KEY)).toMatchObject({ label: "newer" });
    expect(sessions.peek(sessionKey("web:x:new"))).toBeDefined();
    expect(log.lines.join("\n")).not.toContain("changed by others");
    await rest();
    await vi.waitFor(async () => expect(await readExport()).toMatchObject({ [KEY]: { label: "newer" } }), PATIENCE);
  });

  it("costs a new session the same whether there is none or ten thousand others", async () => {
    const rows = Array.from({ length: 10_000 }, (_, at) => [
      `telegram:default:${at}`,
      { sessionId: `s${at}`, updatedAt: at, label: "x".repeat(200) },
    ]);
    const costs: number[] = [];
    for (const known of [[], rows]) {
      await place(JSON.stringify(Object.fromEntries(known)));
      let cost = 0;
      const table = await tableOf(dir);
      const counted: SessionTable = {
        ...table,
        write(changes) {
          cost += JSON.stringify(changes).length;
          return table.write(changes);
        },
      };
      const sessions = await open(64, counted);
      expect(sessions.list()).toHaveLength(known.length);
      cost = 0;
      const before = await stat(join(dir, "sessions.json"), { bigint: true });
      const session = await sessions.acquire(sessionKey(`web:x:${known.length}`));
      await session.append(say("a"), { durable: true });
      await session.update({ totalTokens: 1 }, { now: true });
      session.release();
      costs.push(cost);
      expect((await stat(join(dir, "sessions.json"), { bigint: true })).mtimeNs).toBe(before.mtimeNs);
      await sessions.close();
      opened.pop();
    }
    const [few = 0, many = 0] = costs;
    expect(few).toBeGreaterThan(0);
    expect(many).toBeLessThan(few * 1.2);
  });
});

describe("the checks", () => {
  it("find all well in a new and in a used directory", async () => {
    expect(await runChecks()).toEqual([["ok"], ["ok"], ["ok"]]);
    const session = await (await open()).acquire(KEY);
    await session.append(say("a"), { durable: true });
    expect(await runChecks()).toEqual([["ok"], ["ok"], ["ok"]]);
  });

  it("distinguish cut, headless and missing transcripts", async () => {
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

  it("repair loose modes", async () => {
    const session = await (await open()).acquire(KEY);
    await session.append(say("a"), { durable: true });
    await chmod(dir, 0o755);
    await chmod(session.file, 0o644);
    const modes = checks({ dir, journal: journalBeside(dir) }).find((check) => check.id === "sessions.permissions");
    const [found] = (await modes?.run(AbortSignal.timeout(1000))) ?? [];
    expect(found?.status).toBe("warn");
    await found?.repair?.apply();
    expect((await stat(session.file)).mode & 0o777).toBe(0o600);
    expect((await runChecks())[2]).toEqual(["ok"]);
  });
});
