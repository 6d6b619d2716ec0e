import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Home } from "../../kit/gateway/process.ts";
import { test } from "../../kit/gateway/world.ts";

/** A used directory, with a link that leads out of it. */
async function used(home: Home): Promise<string> {
  const outside = join(home.dir, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "mine.txt"), "mine");
  mkdirSync(join(home.stateDir, "workspace"), { recursive: true });
  writeFileSync(join(home.stateDir, "workspace", "NOTES.md"), "notes");
  symlinkSync(outside, join(home.stateDir, "workspace", "linked"));
  mkdirSync(join(home.stateDir, "media"), { recursive: true });
  symlinkSync(outside, join(home.stateDir, "media", "linked"));
  return outside;
}

test("nothing goes while a gateway runs, without a yes, or in a dry run; then the state goes and links are not followed", async ({
  world,
}) => {
  const { home, gateway } = await world.start();
  const outside = await used(home);
  for (const args of [
    ["uninstall", "--state", "--yes"],
    ["reset", "--scope", "full", "--yes"],
    ["reset", "--scope", "config", "--yes"],
  ]) {
    const refused = await home.run(args);
    expect(refused.code, args.join(" ")).toBe(78);
    expect(refused.stderr).toMatch(/STATE_LOCKED[^]*gateway stop/);
  }
  expect(await gateway.kill()).toBe(0);
  const before = readdirSync(home.stateDir, { recursive: true }).length;

  const shown = await home.run(["uninstall", "--dry-run"]);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain(home.stateDir);
  expect((await home.run(["reset", "--scope", "full", "--dry-run"])).stdout).toContain(
    join(home.stateDir, "workspace"),
  );
  for (const args of [
    ["uninstall"],
    ["uninstall", "--state"],
    ["uninstall", "--all", "--non-interactive"],
    ["reset"],
    ["reset", "--scope", "full"],
  ]) {
    const refused = await home.run(args);
    expect([refused.code, args.join(" ")]).toEqual([2, args.join(" ")]);
  }
  expect(readdirSync(home.stateDir, { recursive: true }).length).toBe(before);

  const gone = await home.run(["uninstall", "--state", "--yes", "--non-interactive"]);
  expect(gone.code, gone.stderr).toBe(0);
  expect(readdirSync(home.stateDir)).toEqual(["workspace"]);
  expect(readFileSync(join(home.stateDir, "workspace", "NOTES.md"), "utf8")).toBe("notes");
  expect((await home.run(["uninstall", "--all", "--yes"])).code).toBe(0);
  expect(existsSync(home.stateDir)).toBe(false);
  expect(readFileSync(join(outside, "mine.txt"), "utf8")).toBe("mine");
  expect((await home.run(["uninstall", "--all", "--yes"])).stdout).toContain("nothing to remove");
});

test("a reset takes as much as its scope says, and the gateway starts anew", async ({ world }) => {
  const { home, gateway } = await world.start();
  await used(home);
  expect(await gateway.kill()).toBe(0);
  const config = readFileSync(home.configPath, "utf8");
  expect((await home.run(["reset", "--scope", "config", "--yes"])).code).toBe(0);
  expect(existsSync(home.configPath)).toBe(false);
  expect(existsSync(join(home.stateDir, "state", "journal.sqlite"))).toBe(true);

  writeFileSync(home.configPath, config, { mode: 0o600 });
  expect((await home.run(["reset", "--scope", "config+creds+sessions", "--yes"])).code).toBe(0);
  expect(readdirSync(home.stateDir)).toContain("workspace");
  for (const name of ["openclaw.json", "sessions", "credentials", "state"])
    expect(existsSync(join(home.stateDir, name)), name).toBe(false);

  mkdirSync(join(home.stateDir, "versions"));
  writeFileSync(home.configPath, config, { mode: 0o600 });
  expect((await home.run(["reset", "--scope", "full", "--yes"])).code).toBe(0);
  expect(readdirSync(home.stateDir)).toEqual(["versions"]);
  await home.writeConfig(JSON.parse(config));
  await home.start();
});

test("what stays is known before anything goes: the config is valid, and a link to the directory is kept", async ({
  world,
}) => {
  const home = await world.home();
  mkdirSync(join(home.stateDir, "mine"));
  await home.writeConfig({ agents: { defaults: { workspace: join(home.stateDir, "mine") } }, gateway: { prt: 1 } });
  for (const args of [
    ["uninstall", "--state", "--yes"],
    ["reset", "--scope", "config+creds+sessions", "--yes"],
  ]) {
    const refused = await home.run(args);
    expect(refused.code, args.join(" ")).toBe(78);
    expect(refused.stderr).toContain("does not say which directories are workspaces");
  }
  expect(readdirSync(home.stateDir).toSorted()).toEqual(["mine", "openclaw.json"]);

  await home.writeConfig({ agents: { defaults: { workspace: join(home.stateDir, "mine") } } });
  const link = join(home.dir, "link");
  symlinkSync(home.stateDir, link);
  const gone = await home.run(["uninstall", "--state", "--yes"], { OPENCLAW_STATE_DIR: link });
  expect(gone.code, gone.stderr).toBe(0);
  expect(readdirSync(link)).toEqual(["mine"]);
});

test("a workspace with more in it than files of the gateway stays", async ({ world }) => {
  const home = await world.home();
  await home.writeConfig({ agents: { defaults: { workspace: home.dir } } });
  const refused = await home.run(["uninstall", "--workspace", "--yes"]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain("more in it than files of the gateway");
  expect(existsSync(home.configPath)).toBe(true);
});

test("of a config that is a link to a person's own file, the link alone goes", async ({ world }) => {
  const home = await world.home();
  const own = join(home.dir, "dotfiles.json");
  renameSync(home.configPath, own);
  symlinkSync(own, home.configPath);
  const done = await home.run(["reset", "--scope", "config", "--yes"]);
  expect(done.code, done.stderr).toBe(0);
  expect([existsSync(home.configPath), existsSync(own)]).toEqual([false, true]);
});

test("links out of the state directory are not followed, and no directory around it or the home goes", async ({
  world,
}) => {
  const home = await world.home();
  const outside = join(home.dir, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "mine.txt"), "mine");
  for (const name of ["sessions", "media", "credentials"]) symlinkSync(outside, join(home.stateDir, name));
  const done = await home.run(["reset", "--scope", "config+creds+sessions", "--yes"]);
  expect(done.code, done.stderr).toBe(0);
  expect([readdirSync(outside), existsSync(join(home.stateDir, "sessions"))]).toEqual([["mine.txt"], false]);
  const link = join(home.dir, "home-by-a-link");
  symlinkSync(home.dir, link);
  for (const workspace of ["~", home.dir, home.stateDir]) {
    await home.writeConfig({ agents: { defaults: { workspace } } });
    const refused = await home.run(["uninstall", "--workspace", "--yes"], { HOME: link });
    expect([refused.code, refused.stderr], workspace).toEqual([2, expect.stringContaining("has more in it")]);
  }
  expect(existsSync(join(outside, "mine.txt"))).toBe(true);
});

test("nothing goes that no config speaks for: a directory of another program, a workspace that is not named any more", async ({
  world,
}) => {
  const home = await world.home();
  const photos = join(home.dir, "photos");
  mkdirSync(join(photos, "2026"), { recursive: true });
  writeFileSync(join(photos, "2026", "sea.jpg"), "jpg");
  for (const args of [
    ["uninstall", "--all", "--yes"],
    ["reset", "--scope", "full", "--yes"],
  ]) {
    const refused = await home.run(args, { OPENCLAW_STATE_DIR: photos });
    expect([refused.code, refused.stderr], args.join(" ")).toEqual([2, expect.stringContaining("neither a config")]);
    expect(refused.stdout).toBe("");
  }
  expect(readFileSync(join(photos, "2026", "sea.jpg"), "utf8")).toBe("jpg");

  mkdirSync(join(home.stateDir, "mine"));
  const config = readFileSync(home.configPath, "utf8");
  rmSync(home.configPath);
  mkdirSync(join(home.stateDir, "state"), { recursive: true });
  writeFileSync(join(home.stateDir, "state", "journal.sqlite"), "");
  for (const args of [
    ["uninstall", "--state", "--yes"],
    ["reset", "--scope", "config+creds+sessions", "--yes"],
  ]) {
    const refused = await home.run(args);
    expect([refused.code, refused.stderr], args.join(" ")).toEqual([78, expect.stringContaining("no config says")]);
  }
  expect(existsSync(join(home.stateDir, "mine"))).toBe(true);
  writeFileSync(home.configPath, config, { mode: 0o600 });
});

test("names that are not UTF-8 go too", async ({ world }) => {
  const home = await world.home();
  const odd = Buffer.concat([Buffer.from(`${home.stateDir}/media/caf`), Buffer.from([0xe9])]);
  mkdirSync(odd, { recursive: true });
  writeFileSync(Buffer.concat([odd, Buffer.from("/file")]), "x");
  const done = await home.run(["reset", "--scope", "full", "--yes"]);
  expect(done.code, done.stderr).toBe(0);
  expect(existsSync(home.stateDir)).toBe(false);
});

test("the set-up anew sets no home aside, and puts everything back when a step of it fails", async ({ world }) => {
  const home = await world.home();
  const setUp = (...more: readonly string[]) =>
    home.run([
      "onboard",
      "--non-interactive",
      "--accept-risk",
      "--auth-choice",
      "skip",
      "--skip-health",
      "--reset",
      ...more,
    ]);
  await home.writeConfig({ agents: { defaults: { workspace: "~" } } });
  const refused = await setUp("--reset-scope", "full");
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("more in it than files of the gateway")]);
  expect(existsSync(home.configPath)).toBe(true);

  // Nobody can rename it, as a volume of a container.
  await home.writeConfig({ agents: { defaults: { workspace: "/proc/self" } } });
  const failed = await setUp("--reset-scope", "full");
  expect(failed.code).not.toBe(0);
  expect(existsSync(home.configPath)).toBe(true);
});
