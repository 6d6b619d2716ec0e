import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { putRecord, readRecords } from "../../../src/plugins/install/records.ts";
import { stagePlugin, type Staged } from "../../../src/plugins/install/stage.ts";
import type { PluginStore } from "../../../src/plugins/install/store.ts";
import {
  commitDraft,
  removeInstalled,
  repairStore,
  repairUnlessBusy,
  withStoreLock,
} from "../../../src/plugins/install/swap.ts";
import { folder, makePlugin, storeIn } from "../../kit/plugins/sources.ts";

let dir: string;
let store: PluginStore;

beforeEach(() => {
  dir = folder();
  store = storeIn(dir);
});

async function staged(version: string): Promise<Staged & { draft: string }> {
  const path = makePlugin(join(dir, `source-${version}`), { version });
  const done = await stagePlugin(store, { kind: "path", path }, { pin: false, step: () => undefined });
  return { ...done, draft: done.draft ?? "" };
}

async function install(version: string): Promise<void> {
  const { draft, record } = await staged(version);
  await commitDraft(store, { draft, id: "toy", record });
}

const installed = () =>
  /version: "([\d.]+)"/.exec(readFileSync(join(store.extensions, "toy/dist/index.js"), "utf8"))?.[1];
const recorded = async () => (await readRecords(store.records))["toy"]?.version;
const pending = ({ draft, record }: { draft: string; record: unknown }) =>
  writeFileSync(join(draft, "record.json"), JSON.stringify({ id: "toy", records: { toy: record } }));

test("an installation and an update leave the plugin, its record, and no draft", async () => {
  await install("1.0.0");
  expect([installed(), await recorded()]).toEqual(["1.0.0", "1.0.0"]);
  await install("2.0.0");
  expect([installed(), await recorded()]).toEqual(["2.0.0", "2.0.0"]);
  expect(readdirSync(store.extensions)).toEqual(["toy"]);
  expect(readlinkSync(join(store.extensions, "toy/node_modules/openclaw"))).toBe(store.packageRoot);
});

test("a new version that cannot be put into place leaves the old one", async () => {
  await install("1.0.0");
  const { draft, record } = await staged("2.0.0");
  renameSync(join(draft, "plugin"), join(draft, "gone"));
  await expect(commitDraft(store, { draft, id: "toy", record })).rejects.toThrow("ENOENT");
  expect(readdirSync(store.extensions)).toEqual(["toy"]);
  expect([installed(), await recorded()]).toEqual(["1.0.0", "1.0.0"]);
});

/** A removal, killed after the step that the function does. */
test.each([
  ["before the rename", () => undefined, "1.0.0"],
  ["after the rename", (draft: string) => renameSync(join(store.extensions, "toy"), join(draft, "old")), undefined],
])("a removal killed %s is completed or has not begun", async (_name, kill, left) => {
  await install("1.0.0");
  const draft = join(store.extensions, ".draft-1");
  mkdirSync(draft);
  writeFileSync(join(draft, "record.json"), JSON.stringify({ id: "toy", records: {} }));
  kill(draft);
  await repairStore(store);
  expect(await recorded()).toBe(left);
  expect(readdirSync(store.extensions)).toEqual(left === undefined ? [] : ["toy"]);
});

/** What a killed process leaves, in the order of its steps; then what the repair makes of it. */
const KILLED: readonly (readonly [string, (draft: string, record: unknown) => void, string, string])[] = [
  ["while it fetches", () => undefined, "1.0.0", "1.0.0"],
  ["after the decision", (draft, record) => pending({ draft, record }), "1.0.0", "1.0.0"],
  [
    "between the renames",
    (draft, record) => {
      pending({ draft, record });
      renameSync(join(store.extensions, "toy"), join(draft, "old"));
    },
    "1.0.0",
    "1.0.0",
  ],
  [
    "after the renames",
    (draft, record) => {
      pending({ draft, record });
      renameSync(join(store.extensions, "toy"), join(draft, "old"));
      renameSync(join(draft, "plugin"), join(store.extensions, "toy"));
    },
    "2.0.0",
    "2.0.0",
  ],
];

test.each(KILLED)("an update killed %s leaves one whole version", async (_name, kill, version, record) => {
  await install("1.0.0");
  const next = await staged("2.0.0");
  kill(next.draft, next.record);
  await repairStore(store);
  expect([installed(), await recorded()]).toEqual([version, record]);
  expect(readdirSync(store.extensions)).toEqual(["toy"]);
  expect(await repairStore(store)).toEqual([]);
});

test("a first installation killed before or after its rename is none, or whole", async () => {
  const first = await staged("1.0.0");
  pending(first);
  expect(await repairStore(store)).toEqual([]);
  expect([readdirSync(store.extensions), await readRecords(store.records)]).toEqual([[], {}]);

  const second = await staged("1.0.0");
  pending(second);
  renameSync(join(second.draft, "plugin"), join(store.extensions, "toy"));
  expect(await repairStore(store)).toEqual([expect.stringContaining("its record is complete now")]);
  expect([installed(), await recorded()]).toEqual(["1.0.0", "1.0.0"]);
});

test("a removal killed after its rename is complete", async () => {
  await install("1.0.0");
  await putRecord(store.records, "toy", undefined);
  mkdirSync(join(store.extensions, ".draft-1"));
  renameSync(join(store.extensions, "toy"), join(store.extensions, ".draft-1/old"));
  expect(await repairStore(store)).toEqual([]);
  expect(readdirSync(store.extensions)).toEqual([]);
});

test("a removal takes folder and record, or the record alone", async () => {
  await install("1.0.0");
  await removeInstalled(store, "toy", true);
  expect([existsSync(join(store.extensions, "toy")), await readRecords(store.records)]).toEqual([true, {}]);
  await removeInstalled(store, "toy", false);
  expect(readdirSync(store.extensions)).toEqual([]);
  await removeInstalled(store, "toy", false);
});

test("a gateway that has moved is linked again", async () => {
  await install("1.0.0");
  const moved = { ...store, packageRoot: join(dir, "moved") };
  expect(await repairUnlessBusy(moved)).toEqual([expect.stringContaining("leads to")]);
  expect(readlinkSync(join(store.extensions, "toy/node_modules/openclaw"))).toBe(moved.packageRoot);
  expect(await repairUnlessBusy(moved)).toEqual([]);
});

test("drafts of a command that still runs are left alone", async () => {
  await withStoreLock(store, async () => {
    const { draft } = await staged("1.0.0");
    expect(await repairUnlessBusy(store)).toEqual([]);
    expect(existsSync(draft)).toBe(true);
  });
  await repairUnlessBusy(store);
  expect(readdirSync(store.extensions)).toEqual([]);
});

test("the file of the records keeps what others wrote into it, and is private", async () => {
  mkdirSync(join(dir, "plugins"));
  const foreign = { version: 3, installRecords: { other: { source: "clawhub", clawhubPackage: "x" } } };
  writeFileSync(store.records, JSON.stringify(foreign));
  await install("1.0.0");
  const after = JSON.parse(readFileSync(store.records, "utf8"));
  expect(after).toMatchObject({ ...foreign, installRecords: { ...foreign.installRecords, toy: { source: "path" } } });
});

test("records that cannot be read are reported, not overwritten", async () => {
  mkdirSync(join(dir, "plugins"));
  writeFileSync(store.records, "{ broken");
  await expect(readRecords(store.records)).rejects.toMatchObject({ code: "PLUGIN_INVALID" });
  await expect(putRecord(store.records, "toy", { source: "path" })).rejects.toMatchObject({ code: "PLUGIN_INVALID" });
  expect(readFileSync(store.records, "utf8")).toBe("{ broken");
});

test("records and drafts that lead out of the folder of the plugins touch nothing there", async () => {
  const victim = join(dir, "victim");
  mkdirSync(join(dir, "plugins"));
  mkdirSync(victim);
  const record = { source: "path" };
  writeFileSync(store.records, JSON.stringify({ installRecords: { "../victim": record, "..": record } }));
  const draft = join(store.extensions, ".draft-strange");
  mkdirSync(draft, { recursive: true });
  writeFileSync(join(draft, "record.json"), JSON.stringify({ id: "..", records: { "..": record } }));
  expect(await repairStore(store)).toEqual([]);
  await removeInstalled(store, "../victim", false);
  expect(readdirSync(victim)).toEqual([]);
  expect(readdirSync(dir).toSorted()).not.toContain("node_modules");
});

test("a draft whose record cannot be read keeps the earlier version, and stops no other repair", async () => {
  const [torn, empty] = ["torn", "empty"].map((name) => join(store.extensions, `.draft-${name}`));
  if (torn === undefined || empty === undefined) throw new Error("two drafts");
  mkdirSync(join(torn, "old"), { recursive: true });
  mkdirSync(empty);
  for (const draft of [torn, empty]) writeFileSync(join(draft, "record.json"), "{ torn");
  writeFileSync(join(store.extensions, ".draft-file"), "");
  expect(await repairStore(store)).toEqual([expect.stringContaining(`${torn} holds an earlier version`)]);
  expect(readdirSync(store.extensions).toSorted()).toEqual([".draft-file", ".draft-torn"]);
});
