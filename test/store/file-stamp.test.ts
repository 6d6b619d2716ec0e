import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { namesIn, stampOf, stampsIn } from "../../src/store/file-stamp.ts";

const LONG_AGO = new Date(Date.now() - 60_000);
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "file-stamp-"));
  await mkdir(join(directory, "one"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

test("an entry is listed although the directory was read a moment before", async () => {
  expect(await namesIn(directory)).toEqual(["one"]);
  await mkdir(join(directory, "two"));
  expect(await namesIn(directory)).toEqual(["one", "two"]);
});

test("an entry is listed that was added after a long time", async () => {
  await utimes(directory, LONG_AGO, LONG_AGO);
  expect(await namesIn(directory)).toEqual(["one"]);
  await mkdir(join(directory, "two"));
  expect(await namesIn(directory)).toEqual(["one", "two"]);
});

test("a change whose time equals that of the last listing is seen while the clock of the file system may not have advanced", async () => {
  const now = new Date();
  await utimes(directory, now, now);
  expect(await namesIn(directory)).toEqual(["one"]);
  await mkdir(join(directory, "two"));
  await utimes(directory, now, now);
  expect(await namesIn(directory)).toEqual(["one", "two"]);
});

test("what is missing has no stamp and no names", async () => {
  expect(stampOf(join(directory, "nothing"))).toBeUndefined();
  expect(await namesIn(join(directory, "nothing"))).toBeUndefined();
});

test("a file has no names", async () => {
  const file = join(directory, "file");
  await writeFile(file, "text");
  await expect(namesIn(file)).rejects.toMatchObject({ code: "ENOTDIR" });
});

const sizes = (...names: string[]) => {
  const stamp = stampsIn(directory);
  return names.map((name) => stamp(name)?.size);
};

test("a file that was missing has a stamp once it is there", async () => {
  await utimes(directory, LONG_AGO, LONG_AGO);
  await writeFile(join(directory, "here"), "1234");
  await utimes(directory, LONG_AGO, LONG_AGO);
  expect(sizes("here", "late")).toEqual([4, undefined]);
  expect(sizes("here", "late")).toEqual([4, undefined]);
  await writeFile(join(directory, "here"), "12345");
  await writeFile(join(directory, "late"), "1");
  expect(sizes("here", "late")).toEqual([5, 1]);
  await rm(join(directory, "here"));
  expect(sizes("here", "late")).toEqual([undefined, 1]);
});

test("a file that is made in the moment in which it was looked for has a stamp, although the directory's time is the same", async () => {
  const now = new Date();
  await utimes(directory, now, now);
  expect(sizes("late")).toEqual([undefined]);
  await writeFile(join(directory, "late"), "1");
  await utimes(directory, now, now);
  expect(sizes("late")).toEqual([1]);
});

test("a file has a stamp ten seconds later where its directory does not tell of it", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    await utimes(directory, LONG_AGO, LONG_AGO);
    expect(sizes("late")).toEqual([undefined]);
    await writeFile(join(directory, "late"), "1");
    await utimes(directory, LONG_AGO, LONG_AGO);
    vi.advanceTimersByTime(9_999);
    expect(sizes("late")).toEqual([undefined]);
    vi.advanceTimersByTime(1);
    expect(sizes("late")).toEqual([1]);
  } finally {
    vi.useRealTimers();
  }
});

test("a link has a stamp once the file is there to which it leads", async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), "file-stamp-"));
  try {
    await symlink(join(elsewhere, "target"), join(directory, "link"));
    await utimes(directory, LONG_AGO, LONG_AGO);
    expect(sizes("link")).toEqual([undefined]);
    await writeFile(join(elsewhere, "target"), "12");
    expect(sizes("link")).toEqual([2]);
  } finally {
    await rm(elsewhere, { recursive: true });
  }
});

test("nothing has a stamp in a directory that is missing, and files have one once it is made", async () => {
  const missing = join(directory, "missing");
  expect(stampsIn(missing)("file")).toBeUndefined();
  await mkdir(missing);
  await writeFile(join(missing, "file"), "123");
  expect(stampsIn(missing)("file")?.size).toBe(3);
});
