import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { run } from "../../kit/gateway/cli.ts";
import { folder, makePlugin } from "../../kit/plugins/sources.ts";

let dir: string;
let repository: string;
let env: Record<string, string>;

beforeEach(() => {
  dir = folder();
  repository = join(dir, "repository");
  env = { PATH: process.env["PATH"] ?? "", HOME: dir, OPENCLAW_STATE_DIR: join(dir, "state") };
  execFileSync("git", ["init", "--quiet", "--initial-branch=main", repository], { env });
});

function git(...args: string[]): string {
  const who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
  return execFileSync("git", [...who, ...args], { cwd: repository, env, encoding: "utf8" }).trim();
}

function commit(version: string): string {
  makePlugin(repository, { version });
  git("add", "--all");
  git("commit", "--quiet", "-m", version);
  return git("rev-parse", "HEAD");
}

const plugins = (...args: string[]) => run(["plugins", ...args], env);
const record = () => JSON.parse(readFileSync(join(dir, "state/plugins/installs.json"), "utf8")).installRecords["toy"];
const installed = () => readFileSync(join(dir, "state/extensions/toy/dist/index.js"), "utf8");

test("a repository is installed at its default branch, without its history, and updated", async () => {
  const first = commit("1.0.0");
  const source = `git:file://${repository}`;
  const { code, err } = await plugins("install", source, "--yes");
  expect([code, err]).toEqual([0, expect.stringContaining(`commit ${first}`)]);
  expect(record()).toMatchObject({ source: "git", spec: source, resolvedCommit: first, version: "1.0.0" });
  expect(existsSync(join(dir, "state/extensions/toy/.git"))).toBe(false);
  expect((await plugins("update", "toy", "--yes")).out).toBe("toy is up to date (1.0.0)\n");

  const second = commit("1.1.0");
  expect((await plugins("update", "toy", "--dry-run")).out).toBe(`toy can be updated (1.0.0 -> ${second})\n`);
  expect((await plugins("update", "toy", "--yes")).out).toBe("Updated plugin: toy (1.0.0 -> 1.1.0)\n");
  expect(record()).toMatchObject({ resolvedCommit: second });
});

test("a branch, a tag and a commit can be named, and --pin keeps the commit", async () => {
  const first = commit("1.0.0");
  git("tag", "-a", "v1", "-m", "v1");
  commit("2.0.0");
  for (const [ref, version] of [
    ["v1", "1.0.0"],
    ["main", "2.0.0"],
    [first, "1.0.0"],
  ] as const) {
    expect((await plugins("install", `git:file://${repository}#${ref}`, "--force")).code).toBe(0);
    expect(installed()).toContain(version);
  }
  expect((await plugins("install", `git:file://${repository}#v1`, "--force", "--pin")).code).toBe(0);
  expect(record()).toMatchObject({ spec: `git:file://${repository}#${first}` });
  expect((await plugins("update", "toy", "--yes")).out).toBe("toy is up to date (1.0.0)\n");
});

test("hooks and links of a repository do nothing, and one that is missing is reported", async () => {
  commit("1.0.0");
  execFileSync("ln", ["-s", "/etc/passwd", join(repository, "loot")]);
  commit("1.0.1");
  expect((await plugins("install", `git:file://${repository}`, "--yes")).err).toContain("error PLUGIN_UNSAFE:");
  const missing = await plugins("install", `git:file://${join(dir, "missing")}`, "--yes");
  expect([missing.code, missing.err]).toEqual([75, expect.stringContaining("git could not fetch")]);
  expect(missing.err).toContain("git ls-remote <address>");
  expect(missing.err).not.toContain("npm ping");
  mkdirSync(join(dir, "empty"));
  env["PATH"] = join(dir, "empty");
  const without = await plugins("install", `git:file://${repository}`, "--yes");
  expect(without.err).toContain("there is no git on this machine");
  expect(without.err).toContain("Install git");
  expect(readdirSync(join(dir, "state/extensions"))).toEqual([]);
});
