import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { run } from "../../kit/gateway/cli.ts";
import { archiveOf, asEntries, folder, makePlugin, pluginFiles } from "../../kit/plugins/sources.ts";

const mount = (dir: string) =>
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", dir], { stdio: "pipe" });
const unmount = (dir: string) => execFileSync("umount", ["-l", dir]);

/** Mounting needs root; `test/faults/disk/disk.test.ts` says so. */
const canMount = ((): boolean => {
  const dir = "/tmp/openclaw-mount-try";
  mkdirSync(dir, { recursive: true });
  try {
    mount(dir);
    unmount(dir);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
})();

const FILES = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`lib/part${at}.js`, `export default ${at};\n`]));

describe.skipIf(!canMount)("a disk that becomes full while a plugin is installed", () => {
  let dir: string;
  let state: string;
  beforeEach(() => {
    dir = folder();
    state = join(dir, "state");
    mkdirSync(state);
    mount(state);
    writeFileSync(join(state, "openclaw.json"), "{}\n");
  });
  afterEach(() => unmount(state));

  const plugins = (...args: string[]) =>
    run(["plugins", ...args], { PATH: process.env["PATH"] ?? "", HOME: dir, OPENCLAW_STATE_DIR: state });
  const folderOf = (version: string) => makePlugin(join(dir, "source"), { version, files: FILES });
  const archive = (version: string) => {
    const file = join(dir, "toy.tgz");
    writeFileSync(file, archiveOf(asEntries(pluginFiles({ version, files: FILES }))));
    return file;
  };
  const installed = (): string => {
    const entry = join(state, "extensions/toy/dist/index.js");
    return existsSync(entry) ? (/version: "([\d.]+)"/.exec(readFileSync(entry, "utf8"))?.[1] ?? "?") : "absent";
  };

  /** Runs a command while only so many KiB are free. */
  async function withFree(kib: number, ...args: string[]) {
    const { bavail, bsize } = statfsSync(state);
    const filler = join(state, "filler");
    writeFileSync(filler, Buffer.alloc(bavail * bsize - kib * 1024));
    const ended = await plugins(...args);
    rmSync(filler);
    return ended;
  }

  test.each([
    ["a folder", folderOf],
    ["an archive", archive],
  ])("from %s says so, leaves what was there, and can be repeated", async (_what, publish) => {
    for (const [before, after] of [
      ["absent", "1.0.0"],
      ["1.0.0", "2.0.0"],
    ] as const) {
      const args = ["install", publish(after), "--yes", "--force"];
      for (const kib of [0, 8, 24]) {
        const { code, err } = await withFree(kib, ...args);
        expect([code, err], `${kib} KiB`).toEqual([75, expect.stringContaining("error DISK_FULL: No space left")]);
        expect(installed()).toBe(before);
        expect(existsSync(join(state, "extensions")) ? readdirSync(join(state, "extensions")) : []).toEqual(
          before === "absent" ? [] : ["toy"],
        );
      }
      expect((await plugins(...args)).code).toBe(0);
      expect(installed()).toBe(after);
    }
    expect(await plugins("doctor")).toMatchObject({ code: 0, out: "No problems with 1 plugin.\n" });
  });

  test("during a removal leaves it to be completed", async () => {
    await plugins("install", folderOf("1.0.0"), "--yes");
    const { code, err } = await withFree(4, "uninstall", "toy", "--force");
    expect([code, err]).toEqual([75, expect.stringContaining("error DISK_FULL: No space left")]);
    expect((await plugins("doctor")).out).toContain(
      "repaired: The removal of toy was interrupted; it is complete now.\n",
    );
    expect([installed(), readdirSync(join(state, "extensions"))]).toEqual(["absent", []]);
  });
});
