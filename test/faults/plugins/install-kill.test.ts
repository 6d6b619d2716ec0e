import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { readPlugin } from "../../../src/plugins/manifest/read-plugin.ts";
import { FOLDER_LIMITS } from "../../../src/plugins/install/paths.ts";
import { readRecords } from "../../../src/plugins/install/records.ts";
import { repairStore } from "../../../src/plugins/install/swap.ts";
import { hashTree, readTree } from "../../../src/plugins/install/tree.ts";
import { folder, makePlugin, storeIn } from "../../kit/plugins/sources.ts";

const ROUNDS = 25;
/** Installations that each round lets end, however slow the machine is: the next one is of the other version. */
const wholeOnes = (round: number): number => round % 3;
/** Milliseconds after them at which it kills: steps that meet all parts of an installation, which takes about 30 ms. */
const momentOf = (round: number): number => (round * 37) % 61;

/** Kills an installation at any moment, repairs as the next command does, and looks whether one whole version is there. */
test("a plugin that is being replaced is whole after each kill", async () => {
  const dir = folder();
  const store = storeIn(dir);
  const sources = ["1.0.0", "2.0.0"].map((version) => makePlugin(join(dir, version), { version, files: { version } }));
  mkdirSync(store.extensions);
  const versions = new Set<string | undefined>();
  for (let round = 0; round < ROUNDS; round++) {
    await killed(dir, sources, round);
    // A dead process leaves its lock, which others take when it is stale.
    rmSync(`${store.records}.lock`, { recursive: true, force: true });
    await repairStore(store);
    const record = (await readRecords(store.records))["toy"];
    const there = readdirSync(store.extensions);
    expect(there).toEqual(record ? ["toy"] : []);
    if (!record) continue;
    const root = join(store.extensions, "toy");
    expect(await readPlugin(root, "global")).toMatchObject({ plugin: { package: { version: record.version } } });
    expect(await hashTree(root, await readTree(root, FOLDER_LIMITS))).toBe(record.files);
    versions.add(record.version);
  }
  expect(versions.size).toBe(2);
});

async function killed(dir: string, sources: readonly string[], round: number): Promise<void> {
  const script = join(import.meta.dirname, "install-loop.ts");
  const child = spawn(process.execPath, ["--conditions=source", script, dir, ...sources], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  let lines = 0;
  for await (const _line of createInterface(child.stdout)) {
    lines += 1;
    if (lines > wholeOnes(round)) break;
  }
  await pause(momentOf(round));
  child.kill("SIGKILL");
  await ended;
}
