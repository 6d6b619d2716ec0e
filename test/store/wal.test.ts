import { readFileSync } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { openJournal } from "../../src/store/journal/journal.ts";
import { openOnDisk } from "../kit/store/slow-disk.ts";

let dir: string;
let path: string;
const closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "wal-"));
  path = join(dir, "journal.sqlite");
});
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closing.splice(0)) await close();
  await rm(dir, { recursive: true });
});

async function open() {
  const opened = await openOnDisk(path);
  closing.push(() => opened.close());
  return opened;
}

/** From here on, time passes only by `vi.advanceTimersByTime`. */
const stopTime = () => vi.useFakeTimers({ toFake: ["performance", "setTimeout"] });

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Whether a promise is settled once the loop has turned a few times. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  for (let turns = 0; turns < 5; turns += 1) await turn();
  return settled;
}

describe("a sync that takes long", () => {
  it("holds up what it has to make durable, and those who read it; not the event loop", async () => {
    const { disk, set, keys } = await open();
    const write = set("a");
    const read = keys();
    expect(await isSettled(write)).toBe(false);
    expect(await isSettled(read)).toBe(false);
    disk.syncs[0]?.resolve();
    await write;
    expect(await read).toEqual(["a"]);
  });

  it("does not hold up what may be ahead of the disk, until somebody asks for it to be there", async () => {
    const { disk, commits } = await open();
    const put = "INSERT INTO kept (key, value) VALUES ('a', 'v')";
    await commits.writeAhead((sql) => void sql.run(put));
    expect(
      await commits.readAhead((sql) => sql.all("SELECT key FROM kept WHERE key NOT LIKE 'schema:%'")),
    ).toHaveLength(1);
    const synced = commits.synced();
    expect(await isSettled(synced)).toBe(false);
    disk.syncs[0]?.resolve();
    await synced;
    await expect(commits.writeAhead((sql) => void sql.run(put))).rejects.toThrow("UNIQUE");
  });

  it("is followed by one sync for all that was written meanwhile", async () => {
    const { disk, set } = await open();
    stopTime();
    const first = set("first");
    await turn();
    const others: Promise<void>[] = [];
    for (const key of ["a", "b", "c"]) {
      others.push(set(key));
      await turn();
    }
    disk.syncs[0]?.resolve();
    await first;
    expect(await isSettled(Promise.all(others))).toBe(false);
    expect(disk.syncs).toHaveLength(2);
    disk.syncs[1]?.resolve();
    await Promise.all(others);
  });
});

describe("a sync that takes longer than 5 ms", () => {
  /** Writes, until so many syncs run. */
  async function startSyncs(count: number) {
    const opened = await open();
    stopTime();
    const settled: string[] = [];
    const writes: Promise<unknown>[] = [];
    const { disk, set } = opened;
    for (const key of ["a", "b", "c", "d"].slice(0, count)) {
      writes.push(set(key).then(() => settled.push(key)));
      await isSettled(writes.at(-1) ?? Promise.resolve());
      vi.advanceTimersByTime(5);
      expect(disk.syncs).toHaveLength(writes.length);
    }
    return { ...opened, settled, writes };
  }

  it("does not delay the sync of later writes, which are settled after the earlier ones all the same", async () => {
    const { disk, settled, writes } = await startSyncs(2);
    disk.syncs[1]?.resolve();
    expect(await isSettled(Promise.race(writes))).toBe(false);
    disk.syncs[0]?.resolve();
    await Promise.all(writes);
    expect(settled).toEqual(["a", "b"]);
  });

  it("fails the later writes too when it fails, whatever their own sync does", async () => {
    const { disk, writes } = await startSyncs(2);
    disk.syncs[1]?.resolve();
    disk.syncs[0]?.reject(Object.assign(new Error("EIO"), { code: "EIO" }));
    const ends = await Promise.allSettled(writes);
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });

  it("runs beside two others at most; the next one begins when one of them ends", async () => {
    const { disk, set } = await startSyncs(3);
    const last = set("d");
    expect(await isSettled(last)).toBe(false);
    vi.advanceTimersByTime(100);
    expect(disk.syncs).toHaveLength(3);
    disk.syncs[0]?.resolve();
    expect(await isSettled(last)).toBe(false);
    expect(disk.syncs).toHaveLength(4);
    for (const sync of disk.syncs) sync.resolve();
    await last;
  });
});

describe("a disk whose last sync took less than 5 ms", () => {
  it("syncs a write at once although another sync runs; a longer one makes the next write wait again", async () => {
    const { disk, set } = await open();
    stopTime();
    const first = set("first");
    await turn();
    disk.syncs[0]?.resolve();
    await first;
    const a = set("a");
    await turn();
    const b = set("b");
    await turn();
    expect(disk.syncs).toHaveLength(3);
    vi.advanceTimersByTime(6);
    for (const sync of disk.syncs) sync.resolve();
    await Promise.all([a, b]);
    const c = set("c");
    await turn();
    const d = set("d");
    await turn();
    expect(disk.syncs).toHaveLength(4);
    disk.during = (_file, sync) => sync.resolve();
    disk.syncs[3]?.resolve();
    await Promise.all([c, d]);
  });

  it("begins the sync of an accepted message with its commit, and waits with others for what follows", async () => {
    const { disk, commits, set } = await open();
    const put = (key: string) => `INSERT INTO kept (key, value) VALUES ('${key}', 'v')`;
    await commits.writeAhead((sql) => void sql.run(put("soon")));
    expect(disk.syncs).toHaveLength(0);
    const next = set("awaited");
    await turn();
    expect(disk.syncs).toHaveLength(1);
    disk.syncs[0]?.resolve();
    await next;
    await commits.writeAhead((sql) => void sql.run(put("now")), "at once");
    expect(disk.syncs).toHaveLength(2);
    disk.syncs[1]?.resolve();
    await commits.synced();
  });
});

describe("a sync for which nobody waits", () => {
  async function writeAhead(count: number) {
    const opened = await open();
    stopTime();
    for (let at = 0; at < count; at += 1)
      await opened.commits.writeAhead((sql) => void sql.run("INSERT INTO kept (key, value) VALUES (?, 'v')", `${at}`));
    expect(opened.disk.syncs).toHaveLength(0);
    return opened;
  }

  it("begins after 5 ms, for all that was written until then", async () => {
    const { disk, commits } = await writeAhead(3);
    vi.advanceTimersByTime(5);
    expect(disk.syncs).toHaveLength(1);
    disk.syncs[0]?.resolve();
    await commits.synced();
    vi.advanceTimersByTime(100);
    expect(disk.syncs).toHaveLength(1);
  });

  it("begins at once when somebody waits or reads", async () => {
    const { disk, commits, keys } = await writeAhead(2);
    const read = keys();
    expect(await isSettled(read)).toBe(false);
    expect(disk.syncs).toHaveLength(1);
    disk.syncs[0]?.resolve();
    expect(await read).toEqual(["0", "1"]);
    await commits.synced();
    expect(disk.syncs).toHaveLength(1);
  });

  it("is not begun by the end of an earlier one", async () => {
    const { disk, commits } = await writeAhead(1);
    const synced = commits.synced();
    await commits.writeAhead((sql) => void sql.run("INSERT INTO kept (key, value) VALUES ('later', 'v')"));
    disk.syncs[0]?.resolve();
    await synced;
    await turn();
    expect(disk.syncs).toHaveLength(1);
    vi.advanceTimersByTime(5);
    expect(disk.syncs).toHaveLength(2);
    disk.syncs[1]?.resolve();
    await commits.synced();
  });
});

describe("a write for whose commit nobody waits", () => {
  async function putOff() {
    const opened = await open();
    stopTime();
    const other = new DatabaseSync(path, { readOnly: true });
    closing.unshift(async () => other.close());
    const write = opened.commits.writeAhead(
      (sql) => void sql.run("INSERT INTO kept (key, value) VALUES ('put off', 'v')"),
      "with others",
    );
    expect(await isSettled(write)).toBe(false);
    const committed = () =>
      other
        .prepare("SELECT key FROM kept WHERE key NOT LIKE 'schema:%' ORDER BY key")
        .all()
        .map((row) => row["key"]);
    expect(committed()).toEqual([]);
    return { ...opened, write, committed };
  }

  it("is committed with the next write", async () => {
    const { disk, set, write, committed } = await putOff();
    const next = set("next");
    await write;
    expect(committed()).toEqual(["next", "put off"]);
    disk.syncs[0]?.resolve();
    await next;
  });

  it("is committed after 5 ms without another one, and synced within 5 ms more", async () => {
    const { disk, commits, write, committed } = await putOff();
    vi.advanceTimersByTime(5);
    await write;
    expect(committed()).toEqual(["put off"]);
    expect(disk.syncs).toHaveLength(0);
    vi.advanceTimersByTime(5);
    expect(disk.syncs).toHaveLength(1);
    disk.syncs[0]?.resolve();
    await commits.synced();
  });

  it("is there for who reads", async () => {
    const { commits, write } = await putOff();
    expect(
      await commits.readAhead((sql) => sql.all("SELECT key FROM kept WHERE key NOT LIKE 'schema:%'")),
    ).toHaveLength(1);
    await write;
  });
});

describe("writes that share a sync", () => {
  it("are settled in their order, four in one iteration of the event loop, also when the next sync ends meanwhile", async () => {
    const { disk, set } = await open();
    let iteration = 0;
    const settled: { key: string; at: number }[] = [];
    const write = async (key: string) => {
      await set(key);
      settled.push({ key, at: iteration });
    };
    const first = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map(write);
    await turn();
    const second = ["j", "k"].map(write);
    await turn();
    for (const sync of disk.syncs) sync.resolve();
    while (settled.length < 11) {
      await turn();
      for (const sync of disk.syncs) sync.resolve();
      iteration += 1;
    }
    await Promise.all([...first, ...second]);
    expect(settled.map(({ key }) => key).join("")).toBe("abcdefghijk");
    for (const { at } of settled) expect(settled.filter((other) => other.at === at).length).toBeLessThanOrEqual(4);
  });
});

it("writes that share a sync are settled in their order also when the last of them begins it", async () => {
  const { disk, set } = await open();
  stopTime();
  const settled: string[] = [];
  const write = async (key: string) => {
    await set(key);
    settled.push(key);
  };
  const first = write("a");
  await turn();
  const second = write("b");
  await turn();
  // The loop was busy: 5 ms have passed, and no timer has fired.
  const now = performance.now();
  vi.spyOn(performance, "now").mockReturnValue(now + 6);
  onTestFinished(() => void vi.restoreAllMocks());
  const third = write("c");
  await turn();
  expect(disk.syncs).toHaveLength(2);
  for (const sync of disk.syncs) sync.resolve();
  await Promise.all([first, second, third]);
  expect(settled).toEqual(["a", "b", "c"]);
});

describe("a sync that fails", () => {
  it.each([
    ["EIO", "DISK_WRITE"],
    ["ENOSPC", "DISK_FULL"],
  ])("with %s fails what waits for it and all that comes, and says that the process has to end", async (code, told) => {
    const { disk, wal, set } = await open();
    disk.during = (_file, sync) => sync.reject(Object.assign(new Error(code), { code }));
    await expect(set("a")).rejects.toMatchObject({ code: told, fix: expect.stringContaining("The gateway ends now") });
    expect(await wal.lost).toMatchObject({ code: told });
    disk.during = (_file, sync) => sync.resolve();
    await expect(set("b")).rejects.toMatchObject({ code: told });
  });

  it("lets nobody read what may not be on the disk, also when no sync runs any more", async () => {
    const { disk, commits, set, keys } = await open();
    disk.during = (_file, sync) => sync.reject(Object.assign(new Error("EIO"), { code: "EIO" }));
    await expect(set("a")).rejects.toMatchObject({ code: "DISK_WRITE" });
    await turn();
    await expect(keys()).rejects.toMatchObject({ code: "DISK_WRITE" });
    await expect(commits.synced()).rejects.toMatchObject({ code: "DISK_WRITE" });
  });
});

describe("another program that holds the write lock", () => {
  it("is waited for without a block of the event loop", async () => {
    const { disk, set, keys } = await open();
    disk.during = (_file, sync) => sync.resolve();
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const write = set("a");
    const read = keys();
    expect(await isSettled(write)).toBe(false);
    other.exec("INSERT INTO kept (key, value) VALUES ('theirs', 'v'); COMMIT");
    other.close();
    await write;
    expect(await read).toEqual(["a", "theirs"]);
  });

  it("for longer than two seconds fails the write, and a later one works", async () => {
    const { disk, set } = await open();
    disk.during = (_file, sync) => sync.resolve();
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    await expect(set("a")).rejects.toMatchObject({ code: "DISK_WRITE" });
    other.exec("ROLLBACK");
    other.close();
    await set("b");
  });
});

describe("the log", () => {
  it("is copied into the database when it is long, and written from its beginning again", async () => {
    const journal = await openJournal({ path, bootId: "b", sync: "full" });
    const sizes: number[] = [];
    for (let n = 0; n < 60; n += 1) {
      await journal.values.set(`key ${n}`, "x".repeat(400_000));
      sizes.push((await stat(`${path}-wal`)).size);
    }
    expect(Math.max(...sizes)).toBeLessThan(6 * 1024 * 1024);
    await journal.close();
    const again = await openJournal({ path, bootId: "c", sync: "full" });
    for (let n = 0; n < 60; n += 1) expect(await again.values.get(`key ${n}`)).toHaveLength(400_000);
    await again.close();
  });

  it("may grow while a reader needs it, and becomes short again", async () => {
    const journal = await openJournal({ path, bootId: "b", sync: "full" });
    const reader = new DatabaseSync(path, { readOnly: true });
    reader.exec("BEGIN; SELECT * FROM kept");
    for (let n = 0; n < 50; n += 1) await journal.values.set(`key ${n}`, "x".repeat(400_000));
    expect((await stat(`${path}-wal`)).size).toBeGreaterThan(16 * 1024 * 1024);
    reader.exec("COMMIT");
    reader.close();
    for (let n = 0; n < 5; n += 1) await journal.values.set(`key ${n}`, "y".repeat(400_000));
    expect((await stat(`${path}-wal`)).size).toBeLessThan(6 * 1024 * 1024);
    await journal.close();
  });

  it("is copied in parts while it grows: only what is on the disk, and never its end", async () => {
    const { disk, commits } = await open();
    const header = () => readFileSync(`${path}-wal`).subarray(0, 32);
    const database = () => readFileSync(path);
    const write = (n: number) =>
      commits.write((sql) => {
        sql.run("INSERT INTO kept (key, value) VALUES (?, ?)", `key ${n}`, "x".repeat(50_000));
      });
    const other = new DatabaseSync(path);
    const [begun, empty] = [header(), database()];
    const writes: Promise<void>[] = [];
    for (let n = 0; n < 20; n += 1) {
      writes.push(write(n));
      await turn();
    }
    expect(database().equals(empty)).toBe(true);

    disk.during = (file, sync) => file === "log" && sync.resolve();
    for (const sync of disk.syncs) sync.resolve();
    await Promise.all(writes);
    for (let n = 20; n < 40; n += 1) {
      await write(n);
      await turn();
      // Whoever found the whole log in the database would write it from its beginning.
      other.exec("UPDATE kept SET value = value WHERE key = 'key 1'");
      expect(header().equals(begun)).toBe(true);
    }
    expect(database().length).toBeGreaterThan(20 * 50_000);
    other.close();
  });
});
