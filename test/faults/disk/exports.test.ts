import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useFaultFixture } from "../fixture.ts";
import { mountRefusal, needsSmallDisk } from "./small-disk.ts";

needsSmallDisk();

/** A public key of age, to which nobody has the secret one. */
const RECIPIENT = "age1qm3ycvj86ld6r6m9nsqyg77c7flw224dg26zwgcdxt8rk3r7dc9svjufga";

describe.skipIf(mountRefusal !== undefined)("a command that writes onto a full disk", () => {
  const fixture = useFaultFixture();
  let disk: string;

  beforeEach(async () => {
    disk = mkdtempSync(join(tmpdir(), "openclaw-full-"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", disk]);
    // No backup gets smaller than this.
    const said = randomBytes(75_000).toString("base64");
    const answer = await fixture().home.run(["agent", "--local", "--message", said]);
    expect(answer.code, answer.stderr).toBe(0);
  });
  afterEach(() => {
    execFileSync("umount", ["-l", disk]);
    rmSync(disk, { recursive: true, force: true });
  });

  test.each([
    ["sessions", "export", "main", "-o", "out.jsonl"],
    ["sessions", "export", "main", "--format", "markdown", "-o", "out.md"],
    ["export", "--to", "state"],
    ["backup", "create", "--output", "state.tar.gz"],
    ["backup", "create", "--recipient", RECIPIENT, "--output", "state.tar.gz.age"],
  ])("says so with a code, and leaves nothing there: %s %s", async (...args) => {
    const ended = await fixture().home.run(args.with(-1, join(disk, args.at(-1) ?? "")));
    expect(ended.stderr).toMatch(
      /^error DISK_FULL: No space left on the disk of .*openclaw-full-.*\nfix: Free some space/m,
    );
    expect(ended.code).toBe(75);
    expect(readdirSync(disk)).toEqual([]);
  });

  test("says so of its standard output, too", async () => {
    const full = openSync("/dev/full", "w");
    try {
      const { stateDir, configPath } = fixture().home;
      const env = { ...process.env, OPENCLAW_STATE_DIR: stateDir, OPENCLAW_CONFIG_PATH: configPath };
      const args = ["bin/openclaw.mjs", "sessions", "export", "main"];
      const child = spawn(process.execPath, args, { env, stdio: ["ignore", full, "pipe"] });
      let printed = "";
      child.stderr?.on("data", (data: Buffer) => (printed += data.toString()));
      const code = await new Promise((resolve) => child.once("close", resolve));
      expect(printed).toMatch(
        /^error DISK_FULL: No space left on the disk of the standard output\.\nfix: Free some space/m,
      );
      expect(code).toBe(75);
    } finally {
      closeSync(full);
    }
  });
});
