import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { probeDisk, removeLeftProbes } from "../../src/store/disk.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "probe-"));
});
afterEach(() => rm(dir, { recursive: true }));

/** Files of an append-only directory can be made and not removed. False where the file system or the user cannot have one. */
const makeAppendOnly = (isOn: boolean): boolean => spawnSync("chattr", [isOn ? "+a" : "-a", dir]).status === 0;

describe("a probe of the disk", () => {
  it("finds nothing wrong with a directory that takes files, and leaves nothing in it", async () => {
    expect(await probeDisk(dir)).toBeUndefined();
    expect(await readdir(dir)).toEqual([]);
  });

  it("during which the process was killed leaves a file that the next start removes, and no other", async () => {
    for (const name of [".probe.0123456789ab.tmp", ".probe.txt", "openclaw.json"])
      await writeFile(join(dir, name), "1");
    await removeLeftProbes(dir);
    expect(await readdir(dir)).toEqual([".probe.txt", "openclaw.json"]);
    await expect(removeLeftProbes(join(dir, "missing"))).resolves.toBeUndefined();
  });

  it("says why a directory takes no file", async () => {
    expect(await probeDisk(join(dir, "missing"))).toMatchObject({
      code: "DISK_WRITE",
      message: expect.stringMatching(/ENOENT/),
    });
  });

  it("says that its file could not be removed", async ({ skip }) => {
    if (!makeAppendOnly(true)) skip("no append-only directories here");
    try {
      expect(await probeDisk(dir)).toMatchObject({
        code: "DISK_WRITE",
        message: expect.stringMatching(/EPERM.*unlink/),
      });
    } finally {
      makeAppendOnly(false);
    }
  });
});
