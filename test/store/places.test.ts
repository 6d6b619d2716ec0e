import { cp, mkdir, mkdtemp, readFile, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { readCronJobs } from "../../src/store/cron/read-jobs.ts";
import { openJournal } from "../../src/store/journal/journal.ts";
import { acquireStateLock, lockPath, readStateLock } from "../../src/store/lock/lock.ts";
import { EarlierPlaces, notePlace, readPlaces } from "../../src/store/places.ts";
import type { InboundMessage } from "../../src/types/chat/message.ts";
import type { CronJob } from "../../src/types/cron/job.ts";
import { message } from "../kit/inbound.ts";
import { emptyEarlierJournal } from "../kit/store/earlier-state.ts";

/** A directory in which tests put state directories. */
async function ground(): Promise<string> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), "openclaw-places-")));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

async function stateDir(path: string): Promise<string> {
  await mkdir(join(path, "state"), { recursive: true });
  await mkdir(join(path, "sessions"));
  return path;
}

const noted = async (dir: string): Promise<unknown> =>
  JSON.parse(await readFile(join(dir, "state", "places.json"), "utf8"));

describe("a text that names files of the state directory", () => {
  const left = [
    { path: "/old/state", until: 100 },
    { path: "/old", until: 50 },
  ];
  const earlier = new EarlierPlaces("/now", left);
  const read = (text: string, at = 0) => earlier.here(text, at);

  test("means those of the present directory, wherever a whole path is in it", () => {
    expect(read("[media attached: /old/state/media/x.png (image/png)]")).toBe(
      "[media attached: /now/media/x.png (image/png)]",
    );
    expect(read("cd /old/state/workspace && ls")).toBe("cd /now/workspace && ls");
    expect(read("/old/state")).toBe("/now");
    expect(read("It is in /old/state.")).toBe("It is in /now.");
    expect(read('"file:///old/state/a b.md",--root=/old/state/x')).toBe('"file:///now/a b.md",--root=/now/x');
    expect(read("line\n/old/media/y")).toBe("line\n/now/media/y");
  });

  test("stays where another path only looks like it", () => {
    for (const text of ["/old-state/x", "/older", "/mnt/old/state/x", "a/old", "/old.bak/x", "x.old", "./old/y"])
      expect(read(text)).toBe(text);
  });

  test("means what it says when it is from a later time", () => {
    expect(read("/old/state/a and /old/b", 75)).toBe("/now/a and /old/b");
    expect(read("/old/state/a", 101)).toBe("/old/state/a");
  });

  test("is not renamed twice where the present directory lies in an earlier one", () => {
    const inner = new EarlierPlaces("/old/new", [{ path: "/old", until: 100 }]);
    expect(inner.here("/old/x /old/new/y", 0)).toBe("/old/new/x /old/new/y");
  });
});

describe("a state directory", () => {
  test("remembers where it was moved from, and until when", async () => {
    const dir = await ground();
    const first = await stateDir(join(dir, "a"));
    expect((await notePlace(first, 10)).isNone).toBe(true);
    expect(await noted(first)).toEqual({ places: [{ path: first }] });
    const second = join(dir, "b");
    await rename(first, second);
    expect((await readPlaces(second, 20)).here(`${first}/x`, 15)).toBe(`${second}/x`);
    expect((await notePlace(second, 20)).here(`${first}/x`, 15)).toBe(`${second}/x`);
    expect(await noted(second)).toEqual({ places: [{ path: first, until: 20 }, { path: second }] });
    // Much later it is still the time of the move that counts.
    expect((await notePlace(second, 90)).here(`${first}/x`, 50)).toBe(`${first}/x`);
  });

  test("that is a copy has left the original, which has left nothing", async () => {
    const dir = await ground();
    const first = await stateDir(join(dir, "a"));
    await notePlace(first, 10);
    const copy = join(dir, "b");
    await cp(first, copy, { recursive: true });
    expect((await notePlace(copy, 20)).here(`${first}/x`, 15)).toBe(`${copy}/x`);
    expect((await notePlace(first, 30)).isNone).toBe(true);
    expect(await noted(first)).toEqual({ places: [{ path: first }] });
  });

  test("that comes back to its first path has left the others", async () => {
    const dir = await ground();
    const first = await stateDir(join(dir, "a"));
    await notePlace(first, 10);
    await rename(first, join(dir, "b"));
    await notePlace(join(dir, "b"), 20);
    await rename(join(dir, "b"), first);
    const earlier = await notePlace(first, 30);
    expect([earlier.here(`${dir}/b/x`, 25), earlier.here(`${first}/x`, 5)]).toEqual([`${first}/x`, `${first}/x`]);
  });

  test("has several paths where symbolic links lead to it, and leaves them together", async () => {
    const dir = await ground();
    const first = await stateDir(join(dir, "a"));
    const link = join(dir, "link");
    await symlink(first, link);
    await notePlace(first, 10);
    expect((await notePlace(link, 20)).isNone).toBe(true);
    expect((await notePlace(first, 30)).isNone).toBe(true);
    const copy = join(dir, "b");
    await cp(first, copy, { recursive: true });
    expect((await notePlace(copy, 40)).here(`${link}/x ${first}/y`, 35)).toBe(`${copy}/x ${copy}/y`);
  });

  test("with a damaged list is opened all the same", async () => {
    const first = await stateDir(join(await ground(), "a"));
    await writeFile(join(first, "state", "places.json"), "{ torn");
    expect((await notePlace(first, 10)).isNone).toBe(true);
    expect(await noted(first)).toEqual({ places: [{ path: first }] });
  });

  test("of an earlier version was where its transcripts were, and not where those of another program are", async () => {
    const dir = await ground();
    const copy = await stateDir(join(dir, "b"));
    await writeFile(join(copy, "sessions", "s1.jsonl"), "");
    await leaveRows(copy, [
      `${dir}/a/sessions/s1.jsonl`,
      `${dir}/foreign/sessions/s2.jsonl`,
      `${copy}/sessions/s1.jsonl`,
    ]);
    const earlier = await notePlace(copy, 10);
    expect(earlier.here(`${dir}/a/x`, 5)).toBe(`${copy}/x`);
    expect(earlier.here(`${dir}/foreign/x`, 5)).toBe(`${dir}/foreign/x`);
  });
});

const journalIn = (dir: string): string => join(dir, "state", "journal.sqlite");

/** A journal of the version before rows named the directory. */
async function leaveRows(dir: string, files: readonly string[], more: (db: DatabaseSync) => void = () => undefined) {
  const db = await emptyEarlierJournal(journalIn(dir));
  const put = db.prepare("INSERT INTO sessions (key, row) VALUES (?, ?)");
  for (const [at, sessionFile] of files.entries())
    put.run(`k${at}`, JSON.stringify({ sessionId: `s${at}`, updatedAt: 1, sessionFile }));
  more(db);
  db.close();
}

const jobIn = (dir: string): CronJob => ({
  id: "j1",
  name: "tend",
  enabled: true,
  wakeMode: "now",
  schedule: { kind: "every", everyMs: 1000, anchorMs: 0 },
  payload: { kind: "command", argv: ["sh", "-c", `cat ${dir}/workspace/plan`], cwd: `${dir}/workspace` },
  sessionTarget: "isolated",
  createdAtMs: 1,
  updatedAtMs: 1,
  scheduleRevision: 1,
  setUpBy: "owner",
});

const ordered = (dir: string): InboundMessage => message({ text: `look into ${dir}/workspace` });

describe("the journal", () => {
  test("has no path of its directory, and gives each back as that of the directory where it is opened", async () => {
    const dir = await ground();
    const first = await stateDir(join(dir, "a"));
    const journal = await openJournal({ path: journalIn(first), bootId: "b" });
    await journal.cron.put(jobIn(first), { cursorMs: 0 });
    await journal.inbox.accept([ordered(first)]);
    expect((await journal.cron.all())[0]?.job).toEqual(jobIn(first));
    await journal.close();
    expect((await readFile(journalIn(first))).includes(first)).toBe(false);
    const copy = join(dir, "b");
    await cp(first, copy, { recursive: true });
    expect((await readCronJobs(journalIn(copy)))[0]?.job).toEqual(jobIn(copy));
    const opened = await openJournal({ path: journalIn(copy), bootId: "c" });
    onTestFinished(() => opened.close());
    expect((await opened.inbox.open())[0]?.message.text).toBe(`look into ${copy}/workspace`);
  });

  test.each(["own", "copied", "moved"])("of an earlier version works in its directory: %s", async (how) => {
    const dir = await ground();
    const before = join(dir, "a");
    const now = how === "own" ? before : join(dir, "b");
    if (how === "copied") await stateDir(before);
    await stateDir(now);
    await writeFile(join(now, "sessions", "s0.jsonl"), "");
    await leaveRows(now, [`${before}/sessions/s0.jsonl`], (db) => {
      db.prepare("INSERT INTO cron_jobs (id, job, state) VALUES ('j1', ?, '{}')").run(JSON.stringify(jobIn(before)));
      const waiting = db.prepare("INSERT INTO inbox (message, state) VALUES (?, 'accepted')");
      waiting.run(JSON.stringify(ordered(before)));
    });
    const journal = await openJournal({ path: journalIn(now), bootId: "b" });
    onTestFinished(() => journal.close());
    expect((await journal.cron.all())[0]?.job).toEqual(jobIn(now));
    expect((await journal.inbox.open())[0]?.message.text).toBe(`look into ${now}/workspace`);
  });
});

describe("the lock of a running gateway", () => {
  test("does not count in a copy of its directory", async () => {
    const dir = await ground();
    const first = await stateDir(join(dir, "a"));
    const lock = await acquireStateLock(first);
    await lock.note({ port: 1 });
    const copy = join(dir, "b");
    await cp(first, copy, { recursive: true });
    expect((await readStateLock(copy))?.alive).toBe(false);
    const second = await acquireStateLock(copy);
    expect([(await readStateLock(first))?.alive, (await readStateLock(copy))?.alive]).toEqual([true, true]);
    await second.release();
    await lock.release();
  });

  test("counts under every path of its directory, and where that was moved", async () => {
    const dir = await ground();
    const first = await stateDir(join(dir, "a"));
    const lock = await acquireStateLock(first);
    await symlink(first, join(dir, "link"));
    await expect(acquireStateLock(join(dir, "link"))).rejects.toMatchObject({ code: "STATE_LOCKED" });
    await rename(first, join(dir, "b"));
    expect((await readStateLock(join(dir, "b")))?.alive).toBe(true);
    await rename(join(dir, "b"), first);
    await lock.release();
    await expect(readFile(lockPath(first))).rejects.toThrow("ENOENT");
  });
});
