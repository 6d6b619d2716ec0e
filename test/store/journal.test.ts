import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Commits } from "../../src/store/database/commits.ts";
import { checks } from "../../src/store/checks.ts";
import { readCronJobs } from "../../src/store/cron/read-jobs.ts";
import { openJournal, type OpenJournal } from "../../src/store/journal/journal.ts";
import { openJournalToRead } from "../../src/store/journal/read-only.ts";
import { readSessionTable } from "../../src/store/journal/session-table.ts";
import type { Clock } from "../../src/types/clock.ts";
import { accountId, channelId, runId, sessionKey } from "../../src/types/ids.ts";
import type { InboundMessage, Peer } from "../../src/types/chat/message.ts";

const peer: Peer = {
  channel: channelId("telegram"),
  account: accountId("default"),
  chat: { kind: "direct", id: "8001" },
};
const message = (eventKey: string): InboundMessage => ({
  id: eventKey,
  eventKey,
  from: peer,
  sender: { id: "8001" },
  text: `text of ${eventKey}`,
  media: [],
  mentionsBot: true,
  receivedAt: 1,
});
const claim = (n: number) => ({ sessionKey: sessionKey("k"), runId: runId(`r${n}`), turnId: `t${n}` });

let dir: string;
let path: string;
let now: number;
const clock: Clock = { now: () => now, after: () => () => undefined };
const opened: OpenJournal[] = [];

/** As the gateway opens it, or as commands do. */
type Opener = "gateway" | "command";

async function open(bootId = "boot", opener: Opener = "gateway"): Promise<OpenJournal> {
  const journal = await openJournal({ path, bootId, clock, ...(opener === "gateway" && { sync: "full" }) });
  opened.push(journal);
  return journal;
}

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "journal-"));
  path = join(dir, "state", "journal.sqlite");
  now = 1_000_000;
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((journal) => journal.close()));
  await rm(dir, { recursive: true });
});

it("rejects what is written after it was closed", async () => {
  const journal = await open();
  await journal.close();
  await expect(journal.inbox.accept([message("late")])).rejects.toThrow();
  await expect(journal.values.set("a", "b")).rejects.toThrow();
});

describe("inbox", () => {
  it("knows an event again, in the same batch and after a restart", async () => {
    const first = await open();
    const [one, two] = await first.inbox.accept([message("a"), message("a")]);
    expect(one).toMatchObject({ isNew: true, row: { id: 1, state: "accepted", attempts: 0 } });
    expect(two).toMatchObject({ isNew: false, row: { id: 1 } });
    await first.close();
    const [again] = await (await open()).inbox.accept([message("a")]);
    expect(again).toMatchObject({ isNew: false, row: { id: 1, message: message("a") } });
  });

  it("identifies events by their account: two accounts may receive the same one", async () => {
    const { inbox } = await open();
    const other = { ...message("a"), from: { ...peer, account: accountId("work") } };
    expect(await inbox.accept([message("a"), other])).toMatchObject([
      { isNew: true, row: { id: 1 } },
      { isNew: true, row: { id: 2 } },
    ]);
    expect(await inbox.accept([other])).toMatchObject([{ isNew: false, row: { id: 2 } }]);
    expect(await inbox.find("telegram", "work", "a")).toMatchObject({ id: 2 });
    expect(await inbox.find("telegram", "nobody", "a")).toBeUndefined();
  });

  it("counts an attempt per boot, not per claim or begun command", async () => {
    const first = await open("one");
    await first.inbox.accept([message("a")]);
    await first.inbox.claim([1], claim(1));
    await first.inbox.claim([1], claim(2));
    expect(await first.inbox.open()).toMatchObject([{ attempts: 1, runId: "r2", turnId: "t2", state: "claimed" }]);
    const second = await open("two");
    await second.inbox.claim([1], claim(3));
    expect(await second.inbox.open()).toMatchObject([{ attempts: 2, runId: "r3" }]);
    const third = await open("three");
    for (const _ of [1, 2]) await third.inbox.begin(1);
    await third.inbox.claim([1], claim(4));
    expect(await third.inbox.open()).toMatchObject([{ attempts: 3, starts: { length: 3 } }]);
  });

  it("keeps the first outcome, and nothing is claimed after it", async () => {
    const { inbox } = await open();
    await inbox.accept([message("a"), message("b")]);
    await inbox.finish([1], { kind: "replied" });
    await inbox.finish([1], { kind: "failed", why: "late" });
    await inbox.claim([1], claim(1));
    expect((await inbox.open()).map((row) => row.id)).toEqual([2]);
    expect(await inbox.find("telegram", "default", "a")).toMatchObject({ state: "done", outcome: { kind: "replied" } });
    expect(await inbox.find("telegram", "default", "zzz")).toBeUndefined();
  });

  it("remembers an event longer than its row", async () => {
    const journal = await open();
    await journal.inbox.accept([message("old"), message("open")]);
    await journal.inbox.finish([1], { kind: "silent" });
    now += 31 * 86_400_000;
    expect(await journal.prune()).toBe(1);
    expect(await journal.inbox.find("telegram", "default", "old")).toBeUndefined();
    expect(await journal.inbox.accept([message("old")])).toMatchObject([{ isNew: false, row: { state: "done" } }]);
    expect(await journal.inbox.open()).toMatchObject([{ id: 2 }]);
  });

  it("lets a read see what was written before it in the same tick", async () => {
    const { inbox } = await open();
    const writing = inbox.accept([message("a")]);
    expect(await inbox.open()).toHaveLength(1);
    await writing;
  });
});

describe("outbox", () => {
  const text = (body: string) => ({ kind: "text", body, format: "plain", plain: body }) as const;

  it("plans a reply once, and each row goes its way", async () => {
    const { outbox } = await open();
    const reply = { replyKey: "k", inboxId: 7, to: peer, parts: [text("a"), text("b")], replyTo: "55", editOf: "99" };
    const rows = await outbox.plan(reply);
    expect(rows).toMatchObject([{ part: 0, replyTo: "55", editOf: "99", state: "planned" }, { part: 1 }]);
    expect(rows[1]).not.toHaveProperty("replyTo");
    await outbox.mark(1, { state: "sending" });
    await outbox.mark(1, { state: "sent", messageId: "m1" });
    await outbox.mark(1, { state: "unknown" });
    await outbox.mark(2, { state: "sending" });
    await outbox.mark(2, { state: "unknown", error: "socket closed" });
    expect(await outbox.plan({ ...reply, parts: [text("other")] })).toMatchObject([
      { state: "sent", messageId: "m1", attempts: 1 },
      { state: "unknown", error: "socket closed", attempts: 1 },
    ]);
    expect((await outbox.open()).map((row) => row.id)).toEqual([2]);
    expect(await outbox.of(7)).toHaveLength(2);
  });

  it("remembers the last preview", async () => {
    const { outbox } = await open();
    await outbox.notePreview(1, peer, "a");
    await outbox.notePreview(1, peer, "b");
    expect(await outbox.previewOf(1)).toBe("b");
    expect(await outbox.previewOf(2)).toBeUndefined();
    await outbox.notePreviewLength(1, 40);
    await outbox.notePreviewLength(1, 50);
    expect([await outbox.previewLengthOf(1), await outbox.previewLengthOf(2)]).toEqual([50, 0]);
  });
});

describe("ledger, approvals, values", () => {
  const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 };
  const receipt = {
    model: { provider: "p", id: "m" },
    usage: { ...usage, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.5 } },
    calls: 1,
    durationMs: 3,
  };
  const record = { sessionKey: sessionKey("k"), receipt };

  it("sums up the model calls of plugins, which are no runs of their own", async () => {
    const journal = await open();
    await journal.runs.record({ ...record, runId: runId("plain"), at: 11, result: "replied" });
    const beside = [{ what: "plugin" as const, plugin: "notes", model: receipt.model, calls: 2, usage: receipt.usage }];
    await journal.runs.record({
      ...record,
      runId: runId("c"),
      at: 12,
      result: "replied",
      receipt: { ...receipt, beside },
    });
    const outside = { ...receipt, trigger: "plugin" as const, beside: [...beside, { ...beside[0]!, plugin: "other" }] };
    await journal.runs.record({ ...record, runId: runId("plugin-notes"), at: 13, result: "replied", receipt: outside });
    await journal.runs.record({
      ...record,
      runId: runId("past"),
      at: 2,
      result: "replied",
      receipt: { ...receipt, beside },
    });
    expect(await journal.runs.pluginTotals(10)).toEqual([
      { plugin: "notes", calls: 4, input: 20, output: 10, costUsd: 1 },
      { plugin: "other", calls: 2, input: 10, output: 5, costUsd: 0.5 },
    ]);
    expect(await journal.runs.totals(10)).toMatchObject({ runs: 2, input: 30 });
    expect((await journal.runs.last(sessionKey("k")))?.runId).toBe("c");
  });

  it("counts what a summary or an engine costs outside of a run, but not as a run", async () => {
    const journal = await open();
    for (const id of ["a", "a-engine", "a-compact", "compact-7"])
      await journal.runs.record({ ...record, runId: runId(id), at: 11, result: "replied" });
    expect(await journal.runs.totals(10)).toMatchObject({ runs: 1, input: 40 });
  });

  it("sums the runs of a busy day in slices, between which other work goes on", async () => {
    const journal = await open();
    const plugin = { ...receipt, plugin: "notes" };
    const count = 600;
    // Many at the same millisecond, so that a slice ends among them.
    const ids = Array.from({ length: count }, (_, n) => n);
    await Promise.all(
      ids.map((n) =>
        journal.runs.record({
          ...record,
          receipt: plugin,
          runId: runId(`r${n}`),
          at: 10 + (n > 100 ? 1 : 0),
          result: "replied",
        }),
      ),
    );
    const between = new Promise<void>((resolve) => setImmediate(() => resolve()));
    const totals = journal.runs.totals(10);
    const first = await Promise.race([between.then(() => "other work"), totals.then(() => "totals")]);
    expect(first).toBe("other work");
    expect(await totals).toMatchObject({ runs: count, input: 10 * count });
    expect(await journal.runs.totals(11)).toMatchObject({ runs: count - 101 });
    expect(await journal.runs.pluginTotals(10)).toEqual([
      { plugin: "notes", calls: count, input: 10 * count, output: 5 * count, costUsd: count / 2 },
    ]);
  });

  it("sums runs, keeps values", async () => {
    const journal = await open();
    await journal.runs.record({ ...record, runId: runId("old"), at: 1, result: "replied" });
    await journal.runs.record({ ...record, runId: runId("a"), at: 10, result: "replied" });
    await journal.runs.record({ ...record, runId: runId("b"), at: 11, result: "failed: auth" });
    expect(await journal.runs.totals(10)).toEqual({ runs: 2, failed: 1, input: 20, output: 10, costUsd: 1 });
    expect((await journal.runs.recent(2)).map((run) => run.runId)).toEqual(["b", "a"]);
    await journal.runs.record({
      ...record,
      sessionKey: sessionKey("other"),
      runId: runId("a_"),
      at: 12,
      result: "replied",
    });
    const ids = (runs: readonly { runId: string }[]) => runs.map((run) => run.runId);
    expect(ids(await journal.runs.recent(9, { sessionKey: sessionKey("k") }))).toEqual(["b", "a", "old"]);
    expect(ids(await journal.runs.recent(9, { sessionKey: sessionKey("k"), isFailed: true }))).toEqual(["b"]);
    expect(ids(await journal.runs.recent(9, { isFailed: true }))).toEqual(["b"]);
    expect((await journal.runs.last(sessionKey("k")))?.runId).toBe("b");
    expect(await journal.runs.last(sessionKey("nobody"))).toBeUndefined();
    expect(ids(await journal.runs.beginningWith("a", 9))).toEqual(["a_", "a"]);
    expect(ids(await journal.runs.beginningWith("%", 9))).toEqual([]);
    await journal.values.set("x", "1");
    await journal.values.set("x", "2");
    expect([await journal.values.get("x"), await journal.values.get("y")]).toEqual(["2", undefined]);
    expect(await journal.stats()).toMatchObject({ openInbox: 0, unknownOutbox: 0 });
  });
});

describe("a run in the journal", () => {
  it("knows its messages and their answers, for readers too", async () => {
    const journal = await open();
    const rows = await journal.inbox.accept([message("one"), message("two"), message("three")]);
    const [one, two, three] = rows.map(({ row }) => row.id);
    await journal.inbox.claim([one!, two!], claim(1));
    await journal.inbox.claim([three!], claim(2));
    await journal.outbox.plan({
      replyKey: "a",
      inboxId: one!,
      to: peer,
      parts: [{ kind: "text", body: "yes", format: "plain", plain: "yes" }],
    });
    await journal.outbox.plan({
      replyKey: "b",
      inboxId: three!,
      to: peer,
      parts: [{ kind: "text", body: "no", format: "plain", plain: "no" }],
    });
    const reader = await openJournalToRead(path);
    for (const source of [journal, reader]) {
      expect((await source.inbox.ofRun("r1")).map((row) => row.message.id)).toEqual(["one", "two"]);
      expect((await source.outbox.ofRun("r1")).map((row) => row.replyKey)).toEqual(["a"]);
      expect(await source.inbox.ofRun("r3")).toEqual([]);
    }
    const key = await journal.texts.put("a long prompt");
    expect(await reader.texts.get(key)).toBe("a long prompt");
    await reader.close();
  });
});

describe("group commit", () => {
  it("keeps the good writes of a batch whose one statement fails", async () => {
    const db = new DatabaseSync(join(dir, "x.sqlite"));
    db.exec("CREATE TABLE t (v INTEGER UNIQUE)");
    const commits = new Commits(db, "x");
    const put = (v: number) => commits.write((sql) => sql.run("INSERT INTO t VALUES (?)", v).changes);
    const results = await Promise.allSettled([put(1), put(1), put(2)]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    db.close();
  });

  it("rejects a batch that finds the disk full, and works again when there is space", async () => {
    const db = new DatabaseSync(join(dir, "x.sqlite"));
    db.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (v TEXT); PRAGMA max_page_count = 4");
    const commits = new Commits(db, "x");
    const put = (v: string) => commits.write((sql) => sql.run("INSERT INTO t VALUES (?)", v).changes);
    const results = await Promise.allSettled([put("small"), put("x".repeat(100_000))]);
    expect(results).toMatchObject([{ reason: { code: "DISK_FULL" } }, { reason: { code: "DISK_FULL" } }]);
    db.exec("PRAGMA max_page_count = 4000");
    expect(await put("x".repeat(100_000))).toBe(1);
    expect(await commits.read((sql) => sql.all("SELECT v FROM t").length)).toBe(1);
    db.close();
  });
});

describe("the file", () => {
  it("is private", async () => {
    await open();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(dir, "state"))).mode & 0o777).toBe(0o700);
  });

  it("can be opened by a command while the gateway has it", async () => {
    const [one, other] = await Promise.all([open("one"), open("two", "command")]);
    await one.inbox.accept([message("a")]);
    expect(await other.inbox.accept([message("a")])).toMatchObject([{ isNew: false }]);
    await other.inbox.accept([message("b")]);
    expect(await one.inbox.accept([message("b")])).toMatchObject([{ isNew: false }]);
  });

  it.each([
    [999, "JOURNAL_NEWER"],
    [20, "JOURNAL_OLDER"],
    [17, "JOURNAL_OLDER"],
    [1, "JOURNAL_OLDER"],
  ])("of version %s, which cannot be read, is refused and left as it is, and doctor says so", async (version, code) => {
    const journal = await open();
    await journal.inbox.accept([message("kept")]);
    await journal.close();
    const db = new DatabaseSync(path);
    db.exec(`PRAGMA user_version = ${version}; DELETE FROM kept WHERE key = 'schema:opens-from'`);
    db.close();
    const before = await readFile(path);
    await expect(open()).rejects.toMatchObject({ code });
    if (code === "JOURNAL_OLDER") await expect(openJournalToRead(path)).rejects.toMatchObject({ code });
    expect(await readSessionTable(path)).toEqual([]);
    expect(await readCronJobs(path)).toEqual([]);
    const [check] = checks({ stateDir: dir, journal: path, sessions: join(dir, "sessions") });
    const [found] = (await check?.run(AbortSignal.timeout(1000))) ?? [];
    expect(found).toMatchObject({ status: "fail", message: expect.stringContaining(`schema ${version}`) });
    expect(found?.fix).toMatch(/OPENCLAW_STATE_DIR/);
    expect((await readFile(path)).equals(before)).toBe(true);
  });

  it("that is broken is refused and left as it is", async () => {
    await (await open()).close();
    const garbage = "this is no database ".repeat(200);
    await writeFile(path, garbage);
    await expect(open()).rejects.toMatchObject({ code: "JOURNAL_BROKEN" });
    expect(await readFile(path, "utf8")).toBe(garbage);
    const [journal] = checks({ stateDir: dir, journal: path, sessions: join(dir, "sessions") });
    expect(await journal?.run(AbortSignal.timeout(1000))).toMatchObject([{ status: "fail" }]);
  });

  it("does not exist before the first start, and neither does its directory; the disk is checked all the same", async () => {
    const stateDir = join(dir, "not", "yet");
    const found = checks({ stateDir, journal: join(stateDir, "journal.sqlite"), sessions: join(stateDir, "sessions") });
    const disk = found.find(({ id }) => id === "store.disk");
    const [result] = (await disk?.run(AbortSignal.timeout(1000))) ?? [];
    expect(["ok", "warn"]).toContain(result?.status);
    expect(result?.message).toMatch(new RegExp(`MiB free at ${dir}\\.$`));
  });

  it("that is sound passes the checks", async () => {
    await open();
    for (const check of checks({ stateDir: dir, journal: path, sessions: join(dir, "sessions") })) {
      const [result] = await check.run(AbortSignal.timeout(1000));
      expect(["ok", "warn"]).toContain(result?.status);
    }
  });
});
