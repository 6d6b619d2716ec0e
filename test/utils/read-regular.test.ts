import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readRegular } from "../../src/utils/read-regular.ts";

let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "regular-")));
  writeFileSync(join(dir, "secret"), "secret");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("a checked file", () => {
  it("is read whole, up to its limit", async () => {
    writeFileSync(join(dir, "empty"), "");
    expect(String(await readRegular(join(dir, "secret"), 6))).toBe("secret");
    expect(await readRegular(join(dir, "empty"), 6)).toHaveLength(0);
    await expect(readRegular(join(dir, "secret"), 5)).rejects.toThrow("larger than");
  });

  it("is not read when a link has taken its place, or that of a folder on the way", async () => {
    symlinkSync(join(dir, "secret"), join(dir, "report"));
    mkdirSync(join(dir, "private"));
    writeFileSync(join(dir, "private", "notes"), "secret");
    symlinkSync(join(dir, "private"), join(dir, "open"));
    await expect(readRegular(join(dir, "report"), 99)).rejects.toThrow("cannot be opened");
    await expect(readRegular(join(dir, "open", "notes"), 99)).rejects.toThrow("changed");
  });

  it("is neither a folder nor gone", async () => {
    await expect(readRegular(dir, 99)).rejects.toThrow("not a regular file");
    await expect(readRegular(join(dir, "none"), 99)).rejects.toThrow("cannot be opened");
  });
});
