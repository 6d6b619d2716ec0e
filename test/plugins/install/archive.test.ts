import { gzipSync } from "node:zlib";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stagePlugin } from "../../../src/plugins/install/stage.ts";
import {
  archiveOf,
  asEntries,
  folder,
  makePlugin,
  pluginFiles,
  storeIn,
  type TarEntry,
} from "../../kit/plugins/sources.ts";

const options = { pin: false, step: () => undefined };

async function stage(bytes: Buffer, name = "toy.tgz") {
  const dir = folder();
  const path = join(dir, name);
  writeFileSync(path, bytes);
  const store = storeIn(dir);
  const staged = await stagePlugin(store, { kind: "archive", path, hasNpm: false }, options).catch(
    (error: unknown) => error,
  );
  return { dir, store, staged };
}

const GOOD = asEntries(pluginFiles());

test.each([
  ["with a top folder, packed", archiveOf(GOOD), "toy.tgz"],
  ["without a top folder, packed", archiveOf(asEntries(pluginFiles(), "")), "toy.tar.gz"],
  ["with ./ before each name", archiveOf(asEntries(pluginFiles(), "./")), "toy.tgz"],
  ["not packed", archiveOf(GOOD, false), "toy.tar"],
])("an archive %s is staged", async (_name, bytes, name) => {
  const { staged } = await stage(bytes, name);
  expect(staged).toMatchObject({
    facts: { id: "toy", version: "1.0.0", license: "MIT", contributes: { kinds: ["context-engine"] } },
    record: { source: "archive", version: "1.0.0", integrity: expect.stringMatching(/^sha512-/) },
  });
});

test("links inside the archive stay, and modes are settled", async () => {
  const { staged } = await stage(
    archiveOf([
      ...GOOD,
      { path: "package/run.sh", text: "#!/bin/sh\n", mode: 0o6777 },
      { path: "package/secret.txt", text: "x", mode: 0 },
      { path: "package/node_modules/.bin/run", type: "SymbolicLink", linkpath: "../../run.sh" },
      { path: "package/again.txt", type: "Link", linkpath: "package/secret.txt" },
    ]),
  );
  const { root } = (staged as { plugin: { root: string } }).plugin;
  expect(readFileSync(join(root, "node_modules/.bin/run"), "utf8")).toBe("#!/bin/sh\n");
  expect(readFileSync(join(root, "again.txt"), "utf8")).toBe("x");
  expect(statSync(join(root, "run.sh")).mode & 0o7777).toBe(0o700);
  expect(statSync(join(root, "secret.txt")).mode & 0o7777).toBe(0o600);
});

const file = (path: string): TarEntry => ({ path, text: "loot" });
const link = (path: string, linkpath: string, type: "SymbolicLink" | "Link" = "SymbolicLink"): TarEntry => ({
  path,
  linkpath,
  type,
});

const HOSTILE: readonly (readonly [string, readonly TarEntry[], RegExp])[] = [
  ["a path out of the archive", [file("../loot.txt")], /leads out of it/],
  ["a path out of it in the middle", [file("package/a/../../../loot.txt")], /leads out of it/],
  ["a path with backslashes", [file("package\\..\\..\\loot.txt")], /leads out of it/],
  ["an absolute path", [file("/tmp/openclaw-loot.txt")], /leads out of it/],
  ["a path with a drive", [file("C:/loot.txt")], /leads out of it/],
  ["a symbolic link out of it", [link("package/out", "../../../etc")], /leads out of it, to/],
  ["an absolute symbolic link", [link("package/out", "/etc/passwd")], /leads out of it, to/],
  ["a hard link out of it", [link("package/out", "../../loot", "Link")], /leads out of it, to/],
  ["an absolute hard link", [link("package/out", "/etc/passwd", "Link")], /leads out of it, to/],
  ["a file below a link", [link("package/a", "."), file("package/a/loot.txt")], /below a link/],
  ["a file in place of a link", [link("package/a", "b"), file("package/a")], /below a link/],
  [
    "a link over another link",
    [link("package/a/b/c/up", "../../.."), link("package/out", "a/b/c/up/../x")],
    /leads out of it|leads nowhere/,
  ],
  ["a link that leads nowhere", [link("package/out", "missing")], /leads nowhere/],
  ["a character device", [{ path: "package/dev", type: "CharacterDevice" }], /neither a file nor a folder/],
  ["a block device", [{ path: "package/dev", type: "BlockDevice" }], /neither a file nor a folder/],
  ["a named pipe", [{ path: "package/pipe", type: "FIFO" }], /neither a file nor a folder/],
  ["a name with a control character", [file("package/a\u001b[2Jb")], /control characters/],
  ["a name that turns its reading around", [file("package/a\u202egnp.js")], /control characters/],
];

test.each(HOSTILE)("%s is refused, and nothing is left", async (_name, entries, why) => {
  for (const all of [
    [...GOOD, ...entries],
    [...entries, ...GOOD],
  ]) {
    const { dir, store, staged } = await stage(archiveOf(all));
    expect(staged).toMatchObject({ code: "PLUGIN_UNSAFE", message: expect.stringMatching(why) });
    expect(readdirSync(store.extensions)).toEqual([]);
    expect(readdirSync(dir).toSorted()).toEqual(["extensions", "toy.tgz"]);
    expect(existsSync("/tmp/openclaw-loot.txt")).toBe(false);
  }
});

test("more than 20,000 entries are refused before anything is written", async () => {
  const many = Array.from({ length: 20_001 }, (_, index) => ({ path: `package/f${index}`, text: "" }));
  const { staged } = await stage(archiveOf([...GOOD, ...many]));
  expect(staged).toMatchObject({ code: "PLUGIN_UNSAFE", message: "It has more than 20000 files." });
});

test("more than 500 MB unpacked are refused by what the headers say", async () => {
  const { staged } = await stage(archiveOf([{ path: "package/big", size: 501 * 1_048_576 }]));
  expect(staged).toMatchObject({ code: "PLUGIN_UNSAFE", message: "It has more than 500 MB." });
});

test.each([
  ["is no archive", Buffer.from("not an archive, and longer than one block".repeat(50)), "cannot be unpacked"],
  ["ends in the middle", archiveOf(GOOD, false).subarray(0, 700), "cannot be unpacked"],
  ["holds no plugin", archiveOf([{ path: "package/readme.md", text: "hello" }]), "no openclaw.plugin.json"],
  ["is empty", archiveOf([]), "cannot be unpacked"],
])("a file that %s is reported", async (_name, bytes, why) => {
  const { store, staged } = await stage(bytes);
  expect(staged).toMatchObject({ code: "PLUGIN_INVALID", message: expect.stringContaining(why) });
  expect(readdirSync(store.extensions)).toEqual([]);
});

test("a plugin that needs a newer gateway, has a wrong manifest or no entry is refused", async () => {
  for (const [shape, why] of [
    [{ package: { openclaw: { compat: { pluginApi: ">=2099.1.1" }, extensions: ["./dist/index.js"] } } }, "2099.1.1"],
    [{ manifest: { id: "../up" } }, "openclaw.plugin.json is wrong"],
    [{ package: { openclaw: { extensions: ["./missing.js"] } } }, "none of its entry files exists"],
    [{ package: { openclaw: { extensions: ["../../out.js"] } } }, "outside its folder"],
  ] as const) {
    const { store, staged } = await stage(archiveOf(asEntries(pluginFiles(shape))));
    expect(staged).toMatchObject({ code: "PLUGIN_INVALID", message: expect.stringContaining(why) });
    expect(readdirSync(store.extensions)).toEqual([]);
  }
});

test("a small archive with much behind its end is read in time", async () => {
  const tar = archiveOf(asEntries(pluginFiles()), false);
  const { staged } = await stage(gzipSync(Buffer.concat([tar, Buffer.alloc(100_000_000)])));
  expect(staged).toMatchObject({ facts: { id: "toy" } });
});

test("a lock that cannot be read is reported, since it may hide install scripts", async () => {
  const { store, staged } = await stage(
    archiveOf(asEntries(pluginFiles({ files: { "package-lock.json": "{ torn" } }))),
  );
  expect(staged).toMatchObject({ code: "PLUGIN_INVALID", message: expect.stringContaining("package-lock.json") });
  expect(readdirSync(store.extensions)).toEqual([]);
});

test("an archive that npm or the system's tar packed is staged", async () => {
  const dir = folder();
  makePlugin(join(dir, "package"), { files: { "deep/er/a.txt": "x" } });
  execFileSync("tar", ["-czf", join(dir, "toy.tgz"), "-C", dir, "package"]);
  const path = join(dir, "toy.tgz");
  const staged = await stagePlugin(storeIn(dir), { kind: "archive", path, hasNpm: false }, options);
  expect(staged.facts.size.files).toBe(4);
});
