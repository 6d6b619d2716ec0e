import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stagePlugin } from "../../../src/plugins/install/stage.ts";
import { folder, makePlugin, storeIn } from "../../kit/plugins/sources.ts";

const options = { pin: false, step: () => undefined };

function source(prepare: (plugin: string, dir: string) => void = () => undefined) {
  const dir = folder();
  const path = makePlugin(join(dir, "source"));
  prepare(path, dir);
  const store = storeIn(dir);
  return { store, path, stage: () => stagePlugin(store, { kind: "path", path }, options) };
}

test("a folder is copied without its history and without the author's gateway", async () => {
  const { store, stage } = source((plugin, dir) => {
    mkdirSync(join(plugin, ".git/objects"), { recursive: true });
    mkdirSync(join(plugin, "node_modules/helper/.git"), { recursive: true });
    writeFileSync(join(plugin, "node_modules/helper/index.js"), "");
    mkdirSync(join(dir, "elsewhere/openclaw"), { recursive: true });
    writeFileSync(join(dir, "elsewhere/openclaw/openclaw.mjs"), "");
    symlinkSync(join(dir, "elsewhere/openclaw"), join(plugin, "node_modules/openclaw"));
    mkdirSync(join(plugin, "node_modules/.bin"));
    symlinkSync("../openclaw/openclaw.mjs", join(plugin, "node_modules/.bin/openclaw"));
    symlinkSync("../dist", join(plugin, "node_modules/dist"));
  });
  const staged = await stage();
  expect(readdirSync(staged.plugin.root).toSorted()).toEqual([
    "dist",
    "node_modules",
    "openclaw.plugin.json",
    "package.json",
  ]);
  expect(readdirSync(join(staged.plugin.root, "node_modules/helper"))).toEqual(["index.js"]);
  expect(readdirSync(join(staged.plugin.root, "node_modules/.bin"))).toEqual([]);
  expect(readlinkSync(join(staged.plugin.root, "node_modules/dist"))).toBe("../dist");
  expect(readlinkSync(join(staged.plugin.root, "node_modules/openclaw"))).toBe(store.packageRoot);
});

test.each<readonly [string, (plugin: string, dir: string) => void, RegExp]>([
  ["a relative link out of it", (plugin) => symlinkSync("../missing", join(plugin, "out")), /leads nowhere/],
  [
    "a link to its neighbour",
    (plugin, dir) => {
      mkdirSync(join(dir, "source-2"));
      symlinkSync("../source-2", join(plugin, "out"));
    },
    /leads out of its folder/,
  ],
  ["an absolute link into it", (plugin) => symlinkSync(join(plugin, "dist"), join(plugin, "out")), /leads out/],
  ["a named pipe", (plugin) => execFileSync("mkfifo", [join(plugin, "pipe")]), /neither a file nor a folder/],
  ["a control character in a name", (plugin) => writeFileSync(join(plugin, "a\u0007"), ""), /control characters/],
])("a folder with %s is refused, and nothing is left", async (_name, prepare, why) => {
  const { store, stage } = source(prepare);
  await expect(stage()).rejects.toMatchObject({ code: "PLUGIN_UNSAFE", message: expect.stringMatching(why) });
  expect(readdirSync(store.extensions)).toEqual([]);
});

test("a folder that is missing, and one without a plugin, are reported", async () => {
  const dir = folder();
  const stage = (path: string) => stagePlugin(storeIn(dir), { kind: "path", path }, options);
  await expect(stage(join(dir, "missing"))).rejects.toMatchObject({ code: "PLUGIN_INVALID" });
  mkdirSync(join(dir, "empty"));
  await expect(stage(join(dir, "empty"))).rejects.toMatchObject({
    code: "PLUGIN_INVALID",
    message: expect.stringContaining("no openclaw.plugin.json"),
  });
});

test("what a plugin is shows without running it", async () => {
  const dir = folder();
  const path = makePlugin(join(dir, "source"), {
    manifest: {
      name: "Toy",
      kind: ["context-engine", "lifecycle"],
      contracts: { tools: ["look"] },
      channels: ["toychat"],
      providers: ["toyai"],
      skills: ["skills/toy"],
      commandAliases: [{ name: "toy", cliCommand: "toy" }],
    },
    package: { author: { name: "Ann" }, dependencies: { helper: "1" }, scripts: { postinstall: "exit 1" } },
    files: {
      "build/toy.node": "",
      "binding.gyp": "{}",
      "dist/index.js": "throw new Error('it ran');",
      "skills/toy/SKILL.md": "",
    },
  });
  const { facts } = await stagePlugin(storeIn(dir), { kind: "path", path }, options);
  expect(facts).toMatchObject({
    id: "toy",
    name: "Toy",
    author: "Ann",
    license: "MIT",
    size: { files: 6 },
    contributes: {
      kinds: ["context-engine", "lifecycle"],
      tools: ["look"],
      channels: ["toychat"],
      providers: ["toyai"],
      cliCommands: ["toy"],
      skills: ["skills/toy"],
    },
    risks: {
      native: ["binding.gyp", "build/toy.node"],
      installScripts: ["postinstall"],
      dependencies: ["helper"],
    },
  });
});
