import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Home } from "../../kit/gateway/process.ts";
import { test } from "../../kit/gateway/world.ts";
import { Person } from "../onboard/terminal.ts";

const isRoot = process.getuid?.() === 0;
const SOMEBODY = 54_321;

/** Gives all of a directory to a user that no list of users has. */
function giveAway(path: string): void {
  for (const name of readdirSync(path, { recursive: true, encoding: "utf8" }))
    chownSync(join(path, name), SOMEBODY, SOMEBODY);
  chownSync(path, SOMEBODY, SOMEBODY);
}

function ofSomebody(home: Home): void {
  giveAway(home.dir);
  // The directory of all homes of this run, to which nobody else may go.
  chmodSync(dirname(home.dir), 0o711);
  home.user = SOMEBODY;
}

test("reset and uninstall answer scripts with one object, whatever was done", async ({ world }) => {
  const home = await world.home();
  mkdirSync(join(home.stateDir, "workspace"));
  writeFileSync(join(home.stateDir, "workspace", "NOTES.md"), "notes");
  const shown = await home.run(["uninstall", "--state", "--dry-run", "--json"]);
  expect(JSON.parse(shown.stdout)).toEqual({
    dryRun: true,
    removed: false,
    service: null,
    paths: [{ path: home.stateDir, real: home.stateDir, stays: [join(home.stateDir, "workspace")] }],
  });
  const config = { path: home.configPath, real: home.configPath, stays: [] };
  const reset = await home.run(["reset", "--scope", "config", "--yes", "--json"]);
  expect(JSON.parse(reset.stdout)).toEqual({ dryRun: false, removed: true, service: null, paths: [config] });
  const again = await home.run(["reset", "--scope", "config", "--yes", "--json"]);
  expect(JSON.parse(again.stdout)).toEqual({ dryRun: false, removed: false, service: null, paths: [] });
  const refused = await home.run(["reset", "--yes", "--json"]);
  expect([refused.code, JSON.parse(refused.stdout)]).toEqual([
    2,
    { error: expect.objectContaining({ code: "USAGE" }) },
  ]);
});

test("reset asks a person at a terminal what is to go, and nothing is chosen by itself", async ({ world }) => {
  const home = await world.home();
  const person = new Person(home, ["reset"]);
  await person.reads(/1 {2}config: [^]*3 {2}full: [^]*Enter for nothing: /);
  person.answer("");
  expect(await person.ended()).toBe(2);
  expect(existsSync(home.configPath)).toBe(true);
  const other = new Person(home, ["reset"]);
  await other.reads(/Enter for nothing: /);
  other.answer("1");
  await other.reads(/openclaw\.json[^]*\[y\/N\]/);
  other.answer("y");
  expect(await other.ended()).toBe(0);
  expect(existsSync(home.configPath)).toBe(false);
});

test("uninstall --all leaves nothing in the home, also what Node has compiled", async ({ world }) => {
  const home = await world.home();
  const cache = join(home.dir, ".cache");
  const env = { NODE_COMPILE_CACHE: "", XDG_CACHE_HOME: cache };
  expect((await home.run(["status"], env)).code).toBe(0);
  expect(readdirSync(join(cache, "openclaw", "compile"))).not.toEqual([]);
  const done = await home.run(["uninstall", "--all", "--yes"], env);
  expect(done.code, done.stderr).toBe(0);
  expect([existsSync(home.stateDir), existsSync(join(cache, "openclaw"))]).toEqual([false, false]);
});

test.runIf(isRoot)("the config goes last, so that a removal that fails can be run again", async ({ world }) => {
  const home = await world.home({ agents: { defaults: { workspace: "workspace" } } });
  mkdirSync(join(home.stateDir, "workspace"));
  writeFileSync(join(home.stateDir, "workspace", "NOTES.md"), "notes");
  ofSomebody(home);
  // It comes after the config in the directory, and only its owner may empty it.
  const held = join(home.stateDir, "zzz");
  mkdirSync(held);
  writeFileSync(join(held, "file"), "");
  for (const args of [
    ["uninstall", "--state", "--yes"],
    ["reset", "--scope", "full", "--yes"],
  ]) {
    const failed = await home.run(args);
    expect([failed.code, failed.stderr]).toEqual([
      78,
      expect.stringContaining(`ACCESS_DENIED: This user cannot use ${join(held, "file")}`),
    ]);
    expect(existsSync(home.configPath)).toBe(true);
  }
  expect(readFileSync(join(home.stateDir, "workspace", "NOTES.md"), "utf8")).toBe("notes");
  giveAway(held);
  chownSync(held, SOMEBODY, SOMEBODY);
  const done = await home.run(["uninstall", "--state", "--yes"]);
  expect(done.code, done.stderr).toBe(0);
  expect(readdirSync(home.stateDir)).toEqual(["workspace"]);
});

test.runIf(isRoot)(
  "a user that no list of users has can use everything, and is told what a missing home needs",
  async ({ world }) => {
    const home = await world.home();
    ofSomebody(home);
    for (const args of [
      ["setup"],
      ["status"],
      ["doctor"],
      ["backup", "create", "--output", home.dir],
      ["agent", "--local", "-m", "hello"],
    ]) {
      const { code, stderr } = await home.run(args);
      expect([args.join(" "), code, stderr]).toEqual([args.join(" "), 0, expect.not.stringMatching(/^error/m)]);
    }
    const homeless = await home.run(["status"], { HOME: "" });
    expect([homeless.code, homeless.stderr]).toEqual([78, expect.stringMatching(/^openclaw: .*set HOME/)]);
    expect((await home.run(["--version"], { HOME: "" })).code).toBe(0);
  },
);
