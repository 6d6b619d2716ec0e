import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stagePlugin } from "../../../src/plugins/install/stage.ts";
import { folder, makePlugin, pluginFiles, storeIn } from "../../kit/plugins/sources.ts";
import { zipOf, type ZipEntry } from "../../kit/plugins/zips.ts";

const FILE = 0o100644;

async function stage(bytes: Buffer) {
  const dir = folder();
  const path = join(dir, "toy.zip");
  writeFileSync(path, bytes);
  const store = storeIn(dir);
  const staged = await stagePlugin(
    store,
    { kind: "archive", path, hasNpm: false },
    { pin: false, step: () => undefined },
  ).catch((error: unknown) => error);
  return { dir, store, staged };
}

const entriesOf = (top: string): readonly ZipEntry[] =>
  Object.entries(pluginFiles()).map(([name, text]) => ({ path: `${top}${name}`, text }));
const GOOD = entriesOf("toy/");

test.each([
  ["with a top folder", zipOf(GOOD)],
  ["without a top folder", zipOf(entriesOf(""))],
  ["with entries for its folders", zipOf([{ path: "toy/" }, { path: "toy/dist/" }, ...GOOD])],
  ["not packed", zipOf(GOOD.map((entry) => ({ ...entry, stored: true })))],
  ["from macOS", zipOf([...GOOD, { path: "__MACOSX/toy/._x", text: "x" }])],
])("a ZIP archive %s is staged", async (_name, bytes) => {
  const { staged } = await stage(bytes);
  expect(staged).toMatchObject({
    facts: { id: "toy", version: "1.0.0", license: "MIT" },
    record: { source: "archive", integrity: expect.stringMatching(/^sha512-/) },
  });
});

test("modes are settled, and a comment after the end is no problem", async () => {
  const bytes = zipOf([
    ...GOOD,
    { path: "toy/run.sh", text: "#!/bin/sh\n", mode: 0o106777 },
    { path: "toy/a.txt", mode: FILE },
  ]);
  const comment = Buffer.from("PK\u0005\u0006 is the sign of an end");
  bytes.writeUInt16LE(comment.length, bytes.length - 2);
  const { staged } = await stage(Buffer.concat([bytes, comment]));
  const { root } = (staged as { plugin: { root: string } }).plugin;
  expect(statSync(join(root, "run.sh")).mode & 0o7777).toBe(0o700);
  expect(statSync(join(root, "a.txt")).mode & 0o7777).toBe(0o600);
});

const big = Buffer.alloc(1_000_000);

const HOSTILE: readonly (readonly [string, readonly ZipEntry[], string, string])[] = [
  ["a name that leads out", [{ path: "../evil.sh", text: "x" }], "PLUGIN_UNSAFE", "leads out"],
  ["a name that leads out later", [{ path: "toy/a/../../../evil", text: "x" }], "PLUGIN_UNSAFE", "leads out"],
  ["an absolute name", [{ path: "/tmp/evil", text: "x" }], "PLUGIN_UNSAFE", "leads out"],
  ["a drive", [{ path: "C:/evil", text: "x" }], "PLUGIN_UNSAFE", "leads out"],
  ["a backslash", [{ path: "..\\evil", text: "x" }], "PLUGIN_UNSAFE", "backslash"],
  ["a control character", [{ path: "toy/a\u001b[2J", text: "x" }], "PLUGIN_UNSAFE", "control characters"],
  ["a name that reads backwards", [{ path: "toy/a\u202Etxt.sh", text: "x" }], "PLUGIN_UNSAFE", "control characters"],
  ["a link", [{ path: "toy/link", text: "/etc/passwd", mode: 0o120777 }], "PLUGIN_UNSAFE", "such as a link"],
  ["a device", [{ path: "toy/tty", mode: 0o020666 }], "PLUGIN_UNSAFE", "neither a file"],
  [
    "the same name twice",
    [
      { path: "toy/A", text: "x" },
      { path: "toy/a", text: "y" },
    ],
    "PLUGIN_UNSAFE",
    "twice",
  ],
  ["a size above the limit", [{ path: "toy/a", text: "x", size: 0xfffffff0 }], "PLUGIN_UNSAFE", "more than 500 MB"],
  [
    "more bytes than its index says",
    [{ path: "toy/a", text: big, size: 10 }],
    "PLUGIN_UNSAFE",
    "larger than its index",
  ],
  ["fewer bytes than its index says", [{ path: "toy/a", text: "x", size: 10 }], "PLUGIN_INVALID", "damaged"],
  ["another checksum", [{ path: "toy/a", text: "x", crc: 1 }], "PLUGIN_INVALID", "damaged"],
  [
    "another name in its header",
    [{ path: "toy/aaaa", text: "x", headerName: "toy/evil" }],
    "PLUGIN_UNSAFE",
    "another name",
  ],
  ["encrypted entries", [{ path: "toy/a", text: "x", flags: 1 }], "PLUGIN_UNSAFE", "encrypted"],
  ["an unknown way of packing", [{ path: "toy/a", text: "x", method: 93 }], "PLUGIN_INVALID", "not in use"],
  ["a file in place of a folder", [{ path: "toy/dist", text: "x" }], "PLUGIN_INVALID", "cannot be unpacked"],
];

test.each(HOSTILE)("%s is refused, and nothing is left", async (_name, entries, code, why) => {
  const { dir, store, staged } = await stage(zipOf([...entries, ...GOOD]));
  expect(staged).toMatchObject({ code, message: expect.stringContaining(why) });
  expect(readdirSync(store.extensions)).toEqual([]);
  expect(existsSync(join(dir, "evil.sh"))).toBe(false);
  expect(existsSync("/tmp/evil")).toBe(false);
});

test("two entries with the bytes of one are refused", async () => {
  const entries = [{ path: "toy/a", text: big }, { path: "toy/b", headerName: "toy/b", text: "" }, ...GOOD];
  const bytes = zipOf(entries);
  const [first, second] = [bytes.indexOf("PK\u0003\u0004"), bytes.indexOf("PK\u0003\u0004", 4)];
  // The packed bytes of the first entry reach over the whole second one.
  const row = bytes.indexOf("PK\u0001\u0002");
  bytes.writeUInt32LE(second - first + 20, row + 20);
  const { staged } = await stage(bytes);
  expect(staged).toMatchObject({ code: "PLUGIN_UNSAFE", message: expect.stringContaining("shares bytes") });
});

test.each([
  ["cut off", (bytes: Buffer) => bytes.subarray(0, bytes.length - 30)],
  ["with a cut index", (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 400), bytes.subarray(bytes.length - 22)])],
  ["with bytes after it", (bytes: Buffer) => Buffer.concat([bytes, Buffer.from("more")])],
])("an archive %s is refused", async (_name, change) => {
  const { staged } = await stage(change(zipOf(GOOD)));
  expect(staged).toMatchObject({ code: "PLUGIN_INVALID" });
});

const hasZip = ["/usr/bin/zip", "/usr/local/bin/zip", "/opt/homebrew/bin/zip"].some(existsSync);

test.skipIf(!hasZip)("an archive of the system's zip is staged, and one with its links is refused", async () => {
  const dir = folder();
  makePlugin(join(dir, "toy"));
  mkdirSync(join(dir, "toy", "more"));
  writeFileSync(join(dir, "toy", "more", "über.txt"), "ü".repeat(10_000));
  execFileSync("zip", ["-qr", "good.zip", "toy"], { cwd: dir });
  const { staged } = await stage(readFileSync(join(dir, "good.zip")));
  expect(staged).toMatchObject({ facts: { id: "toy" } });
  const { root } = (staged as { plugin: { root: string } }).plugin;
  expect(readFileSync(join(root, "more", "über.txt"), "utf8")).toHaveLength(10_000);
  symlinkSync("/etc", join(dir, "toy", "link"));
  execFileSync("zip", ["-qry", "bad.zip", "toy"], { cwd: dir });
  const bad = await stage(readFileSync(join(dir, "bad.zip")));
  expect(bad.staged).toMatchObject({ code: "PLUGIN_UNSAFE", message: expect.stringContaining("such as a link") });
});
