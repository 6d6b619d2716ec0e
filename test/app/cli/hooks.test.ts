import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import JSON5 from "json5";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { run } from "../../kit/gateway/cli.ts";
import { writeHook } from "../../kit/gateway/hook-folders.ts";
import { makePlugin } from "../../kit/plugins/sources.ts";

let dir: string;
let state: string;
let env: Record<string, string>;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "hooks-cli-"));
  state = join(dir, "state");
  mkdirSync(state);
  env = { PATH: process.env["PATH"] ?? "", HOME: dir, OPENCLAW_STATE_DIR: state };
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const hooks = (...args: string[]) => run(["hooks", ...args], env);
const config = () => JSON5.parse(readFileSync(join(state, "openclaw.json"), "utf8"));
const entries = () => config().hooks.internal.entries;
const code = "export default () => undefined;";

/** An npm package with one hook. */
function makePack(name = "@tides/pack", hook = "tide"): string {
  const root = join(dir, "source");
  writeHook(join(root, "hooks"), { name: hook, events: ["message:received"], code });
  writeFileSync(
    join(root, "package.json"),
    JSON.stringify({ name, version: "1.0.0", openclaw: { hooks: [`./hooks/${hook}`] } }),
  );
  return root;
}

describe("hooks", () => {
  test("are listed with their state, and told of one by one", async () => {
    writeHook(join(state, "hooks"), {
      name: "far",
      events: ["tide:high"],
      code,
      metadata: { os: ["win32"], emoji: "🌊" },
    });
    mkdirSync(join(state, "hooks", "empty"));
    writeFileSync(join(state, "hooks", "empty", "HOOK.md"), "nothing");
    const list = await hooks("list");
    expect(list.out).toMatch(/💾 session-memory +off +bundled +command:new command:reset/);
    expect(list.err).toMatch(/empty is not used: its HOOK\.md does not begin with frontmatter/);
    expect((await hooks("list", "-v")).out).toContain("FOLDER");
    const shown = JSON.parse((await hooks("list", "--json", "--eligible")).out);
    expect(shown.hooks.map(({ name }: { name: string }) => name)).not.toContain("far");
    expect((await hooks("info", "far")).out).toMatch(
      /state +off: the config enables no hook[\s\S]*unknown events +tide:high[\s\S]*missing +it is for win32/,
    );
    writeHook(join(state, "hooks"), { name: "moon", events: ["moon:rises"], code });
    writeFileSync(join(state, "openclaw.json"), "{ hooks: { internal: { enabled: true } } }");
    expect((await hooks("check")).out).toContain("moon: no event is called moon:rises.");
    expect(await hooks("info", "fat")).toMatchObject({ code: 1, err: expect.stringContaining("Did you mean far?") });
    expect((await hooks("info", "empty")).err).toContain("cannot be used as a hook");
  });

  test("are enabled and disabled in the config, also where all were off", async () => {
    writeFileSync(join(state, "openclaw.json"), "{ hooks: { internal: { enabled: false } } }");
    expect((await hooks("enable", "boot-md")).out).toBe("Enabled hook: boot-md\n");
    expect(config().hooks.internal).toEqual({ enabled: true, entries: { "boot-md": { enabled: true } } });
    expect(await hooks("check")).toMatchObject({
      code: 0,
      out: "5 hooks: 1 on, 4 off, 0 wanted that cannot be called.\n",
    });
    expect((await hooks("disable", "boot-md")).code).toBe(0);
    expect(entries()).toEqual({ "boot-md": { enabled: false } });
    expect((await hooks("disable", "nothing")).err).toContain("There is no hook nothing.");
  });

  test("that cannot be used here are not enabled", async () => {
    writeHook(join(state, "hooks"), { name: "far", events: ["message"], code, metadata: { os: ["win32"] } });
    expect(await hooks("enable", "far")).toMatchObject({
      code: 1,
      err: expect.stringContaining("far cannot be used here: it is for win32"),
    });
    expect(existsSync(join(state, "openclaw.json"))).toBe(false);
  });

  test("of a workspace are approved as they are, wherever they really lie, and check says when they were changed", async () => {
    const outside = writeHook(join(dir, "outside"), { name: "notes", events: ["message"], code });
    mkdirSync(join(state, "workspace", "hooks"), { recursive: true });
    symlinkSync(outside, join(state, "workspace", "hooks", "notes"));
    expect((await hooks("enable", "notes")).out).toContain("are approved as they are now");
    expect(entries().notes).toEqual({ enabled: true, integrity: expect.stringMatching(/^sha256-/) });
    expect((await hooks("check")).code).toBe(0);
    writeFileSync(join(outside, "handler.mjs"), "export default () => process.exit();");
    const { code: failed, out } = await hooks("check");
    expect([failed, out]).toEqual([
      1,
      expect.stringContaining("notes: its files were changed after they were approved."),
    ]);
    await hooks("disable", "notes");
    expect(entries().notes).toEqual({ enabled: false });
  });

  test("of a pack are shown, installed, enabled, updated, and replaced only with --force", async () => {
    const source = makePack();
    expect(await hooks("install", source)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/hooks +tide[\s\S]*called for +message:received/),
    });
    expect(await hooks("install", source, "--yes")).toMatchObject({ code: 0, out: "Installed hooks: tide\n" });
    expect(entries()).toEqual({ tide: { enabled: true } });
    const installed = join(state, "hooks", "pack", "hooks", "tide", "handler.mjs");
    expect(readFileSync(installed, "utf8")).toBe(code);
    expect((await hooks("install", source, "--yes")).err).toContain("openclaw hooks update pack");
    writeFileSync(join(source, "hooks", "tide", "handler.mjs"), "export default 1;");
    expect((await hooks("update", "pack", "--yes")).code).toBe(0);
    expect(readFileSync(installed, "utf8")).toBe("export default 1;");
    expect((await hooks("update", "other", "--yes")).err).toContain("No hooks were installed as other.");
    expect((await hooks("check")).code).toBe(0);
  });

  test("are not installed from what holds none, or over somebody's own", async () => {
    mkdirSync(join(dir, "nothing"));
    expect((await hooks("install", join(dir, "nothing"), "--yes")).err).toContain("It holds no hook");
    writeHook(join(state, "hooks"), { name: "tide", events: ["message"], code });
    const source = makePack();
    expect((await hooks("install", source, "--yes", "--force")).err).toContain("Remove that folder first.");
    expect(existsSync(join(state, "hooks", "pack"))).toBe(false);
  });

  test("are used where they are with --link, and a plugin is installed as one", async () => {
    writeHook(join(dir, "mine"), { name: "linked", events: ["message"], code });
    expect((await hooks("install", "--link", join(dir, "mine"))).code).toBe(0);
    expect(config().hooks.internal.load.extraDirs).toEqual([join(dir, "mine")]);
    expect((await hooks("list")).out).toMatch(/linked +on +managed/);
    const plugin = makePlugin(join(dir, "plugin"));
    expect((await hooks("install", plugin, "--yes")).out).toContain("Installed plugin: toy");
  });
});
