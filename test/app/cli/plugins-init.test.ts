import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { run } from "../../kit/gateway/cli.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "init-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const init = (...args: readonly string[]) => run(["plugins", "init", ...args]);

test("writes a plugin whose id is the folder's name", async () => {
  const root = join(dir, "word-counter");
  const { code, out } = await init("tool", root);
  expect(code).toBe(0);
  expect(out).toContain("README.md says how to test and use it");
  expect(readdirSync(root).toSorted()).toEqual([
    "README.md",
    "index.js",
    "openclaw.plugin.json",
    "package.json",
    "test",
  ]);
  const manifest: unknown = JSON.parse(readFileSync(join(root, "openclaw.plugin.json"), "utf8"));
  expect(manifest).toMatchObject({ id: "word-counter", contracts: { tools: ["word_counter"] } });
  expect(readFileSync(join(root, "README.md"), "utf8")).toContain(`openclaw plugins install -l "${root}"`);
});

test("writes nothing into a folder with files", async () => {
  const folder = join(dir, "filled");
  mkdirSync(folder);
  writeFileSync(join(folder, "kept.txt"), "mine");
  const { code, err } = await init("hook", folder);
  expect(code).toBe(2);
  expect(err).toContain(`The folder ${folder} is not empty.`);
  expect(readdirSync(folder)).toEqual(["kept.txt"]);
});

test.each([
  ["reload", "a running gateway follows the config by itself"],
  ["registry --refresh", "openclaw plugins list --verbose"],
  ["validate .", "openclaw plugins doctor"],
  ["build", "Run the build script of the plugin"],
  ["pack . --out x.tgz", "npm pack"],
  ["search memory", "uses no plugin marketplace"],
  ["marketplace list", "uses no plugin marketplace"],
])("`plugins %s` is refused with what to do instead", async (words, told) => {
  const { code, err } = await run(["plugins", ...words.split(" ")]);
  expect([code, err]).toEqual([2, expect.stringContaining(told)]);
});

test.each([
  ["a kind without a skeleton", "channels", "x", 'no skeleton for plugins of the kind "channels"'],
  ["a name that is no id", "tool", "Bad.Name", '"Bad.Name" cannot be the id of a new plugin'],
])("refuses %s", async (_what, kind, name, message) => {
  const { code, err } = await init(kind, join(dir, name));
  expect(code).toBe(2);
  expect(err).toContain(message);
  expect(readdirSync(dir)).toEqual([]);
});
