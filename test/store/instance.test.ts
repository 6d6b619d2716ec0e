import { cp, mkdtemp, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { changeInstance, readInstance } from "../../src/store/lock/instance.ts";
import { acquireStateLock, runningOriginal, type StateLock } from "../../src/store/lock/lock.ts";

/** A directory for state directories, and a function that starts a gateway on one of them, as far as its lock is concerned. */
async function ground() {
  const dir = await realpath(await mkdtemp(join(tmpdir(), "openclaw-instance-")));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return { first: join(dir, "first"), copy: join(dir, "copy"), other: join(dir, "other") };
}

async function started(dir: string, port?: number): Promise<StateLock> {
  const lock = await acquireStateLock(dir);
  if (port !== undefined) await lock.note({ port });
  return lock;
}

test("a directory keeps its id from its first start on", async () => {
  const { first } = await ground();
  expect(await readInstance(first)).toBeUndefined();
  await (await started(first)).release();
  const instance = await readInstance(first);
  expect(instance).toMatchObject({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), isAdopted: false });
  await changeInstance(first, { isAdopted: true });
  await (await started(first)).release();
  expect(await readInstance(first)).toEqual({ id: instance?.id, isAdopted: true });
});

test("a copy finds the running gateway of its original, until it takes an id of its own", async () => {
  const { first, copy } = await ground();
  const running = await started(first, 18_789);
  await cp(first, copy, { recursive: true });
  const second = await started(copy);
  expect(await runningOriginal(copy)).toEqual({ dir: first, pid: process.pid, port: 18_789 });
  expect(await runningOriginal(first)).toBeUndefined();
  await changeInstance(copy, { id: "own" });
  expect(await runningOriginal(copy)).toBeUndefined();
  await changeInstance(copy, { id: (await readInstance(first))?.id ?? "" });
  expect(await runningOriginal(copy)).toMatchObject({ dir: first });
  await running.release();
  expect(await runningOriginal(copy)).toBeUndefined();
  await second.release();
});

test("a copy that was moved, and a copy of a copy, find it too", async () => {
  const { first, copy, other } = await ground();
  const running = await started(first);
  await cp(first, copy, { recursive: true });
  await (await started(copy)).release();
  await rename(copy, other);
  const second = await started(other);
  expect(await runningOriginal(other)).toMatchObject({ dir: first });
  await second.release();
  await cp(other, copy, { recursive: true });
  const third = await started(copy);
  expect(await runningOriginal(copy)).toMatchObject({ dir: first });
  await Promise.all([third.release(), running.release()]);
});

test("no original: a moved directory, a link to it, and another directory where it was", async () => {
  const { first, copy, other } = await ground();
  await (await started(first)).release();
  await rename(first, copy);
  await symlink(copy, other);
  const running = await started(copy);
  expect(await runningOriginal(copy)).toBeUndefined();
  expect(await runningOriginal(other)).toBeUndefined();
  const stranger = await started(first);
  expect(await runningOriginal(copy)).toBeUndefined();
  await Promise.all([running.release(), stranger.release()]);
});

test("a damaged file is made anew at the next start, and is not adopted", async () => {
  const { first } = await ground();
  await (await started(first)).release();
  await changeInstance(first, { isAdopted: true });
  for (const text of ["{", "[]", '{"id":""}', '{"adopted":true}']) {
    await writeFile(join(first, "state", "instance.json"), text);
    expect(await readInstance(first)).toBeUndefined();
    await (await started(first)).release();
    expect(await readInstance(first)).toMatchObject({ isAdopted: false });
  }
});
