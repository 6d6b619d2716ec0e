import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { namesIn, stampOf } from "../../src/store/file-stamp.ts";

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
