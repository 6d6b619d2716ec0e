import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openDatabase } from "../../../src/store/journal/database.ts";
import { openOnDisk } from "../../kit/store/slow-disk.ts";

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "power-cut-"));
  path = join(dir, "journal.sqlite");
});
afterEach(() => rm(dir, { recursive: true }));

const SECTOR = 4096;
const PAIRS = 120;

/** A repeatable stream of numbers from 0 to 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** What a disk may hold: of each sector that was not synced, the old or the new one; of the lengths either. */
function survived(synced: Buffer, now: Buffer, random: () => number): Buffer {
  const share = random();
  const length = random() < 0.5 ? now.length : synced.length;
  const kept = Buffer.alloc(length);
  for (let at = 0; at < length; at += SECTOR) {
    const from = random() < share ? now : synced;
    if (at < from.length) from.copy(kept, at, at, Math.min(at + SECTOR, length));
  }
  return kept;
}

/** Opens what a disk kept as the next start does, and looks whether the rows are whole and all told ones are there. */
async function expectWhole(image: { log: Buffer; database: Buffer }, told: readonly number[], where: string) {
  const place = await mkdtemp(join(dir, "after-"));
  await writeFile(join(place, "journal.sqlite"), image.database);
  await writeFile(join(place, "journal.sqlite-wal"), image.log);
  const db = openDatabase(join(place, "journal.sqlite"));
  try {
    expect(db.prepare("PRAGMA integrity_check").get(), where).toEqual({ integrity_check: "ok" });
    const found = (table: string) =>
      db
        .prepare(`SELECT key FROM ${table} WHERE key GLOB 'n*'`)
        .all()
        .map((row) => Number(String(row["key"]).slice(1)));
    const pairs = found("kept");
    expect(new Set(found("texts")), where).toEqual(new Set(pairs));
    expect(
      told.filter((n) => !pairs.includes(n)),
      `${where}: told, and gone`,
    ).toEqual([]);
  } finally {
    db.close();
    await rm(place, { recursive: true });
  }
}

/** Most of them where a log is copied and begun anew. */
const cutsAt = (syncs: number, sinceCopy: number): number => (sinceCopy <= 2 ? 8 : Number(syncs % 10 === 0));

it.each([1, 2])(
  "a power cut at any sync leaves a sound journal with every row that was told as kept (seed %i)",
  async (seed) => {
    const { disk, commits, close } = await openOnDisk(path);
    const random = numbers(seed);
    const now = () => ({ log: readFileSync(`${path}-wal`), database: readFileSync(path) });
    let synced = now();
    const told: number[] = [];
    let checks = 0;
    let sinceCopy = Number.POSITIVE_INFINITY;
    let running = Promise.resolve();
    disk.during = (file, sync) => {
      const at = now();
      running = (async () => {
        await setImmediate();
        // Syncs that run at the same time end in their order: what the earlier one wrote is on the disk.
        const before = synced;
        checks += 1;
        sinceCopy = file === "database" ? 0 : sinceCopy + 1;
        for (let cut = 0; cut < cutsAt(checks, sinceCopy); cut += 1) {
          const image = {
            log: survived(before.log, at.log, random),
            database: survived(before.database, at.database, random),
          };
          await expectWhole(image, [...told], `sync ${checks} of the ${file}`);
        }
        synced = { ...synced, [file]: at[file] };
        sync.resolve();
      })();
      running.catch((error: unknown) => sync.reject(error));
    };
    for (let n = 0; n < PAIRS; n += 1) {
      const value = "x".repeat(Math.floor(random() * 100_000));
      await commits.write((sql) => {
        sql.run("INSERT INTO kept (key, value) VALUES (?, ?)", `n${n}`, value);
        sql.run("INSERT INTO texts (key, text, at) VALUES (?, ?, ?)", `n${n}`, value, n);
      });
      told.push(n);
    }
    await running;
    expect(told).toHaveLength(PAIRS);
    await close();
  },
);
