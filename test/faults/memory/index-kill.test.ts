import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { IndexFile } from "../../../extensions/memory-core/index/index-file.ts";
import type { MemoryPlace } from "../../../extensions/memory-core/job.ts";
import { hitsOf, scoresByWords } from "../../../extensions/memory-core/index/search-index.ts";
import { startEndpoint } from "../../../extensions/memory-core/test/memory-kit.ts";
import { Vectors } from "../../../extensions/memory-core/index/vectors.ts";

const DAYS = ["monday", "tuesday", "wednesday", "thursday"];
/** Kills of each test, spread over all steps. */
const KILLS = 40;

const source = (name: string) =>
  JSON.stringify(new URL(`../../../extensions/memory-core/${name}.ts`, import.meta.url).href);

/** Makes the whole index again, with all vectors, and kills itself before or after its n-th change of the file. */
const BUILDER = `
import { DatabaseSync, StatementSync } from "node:sqlite";
import { IndexFile } from ${source("index/index-file")};
import { Vectors } from ${source("index/vectors")};
const [place, at] = process.argv.slice(1).map((text) => JSON.parse(text));
let steps = 0;
const step = () => (steps += 1) === at && process.kill(process.pid, "SIGKILL");
for (const [of, name] of [[DatabaseSync.prototype, "exec"], [StatementSync.prototype, "run"]]) {
  const original = of[name];
  of[name] = function (...values) {
    step();
    const result = original.apply(this, values);
    step();
    return result;
  };
}
const index = new IndexFile(place);
let isFirst = true;
do index.sync(0, { rebuild: isFirst }), (isFirst = false);
while (index.state().pending > 0);
const vectors = new Vectors(index);
let state = await vectors.fill(place.vectors, { most: 2, rebuild: true });
while (state.pending > 0 && !state.failed) state = await vectors.fill(place.vectors, { most: 2, rebuild: false });
process.stdout.write(String(steps));
`;

async function build(place: MemoryPlace, at: number): Promise<{ readonly killed: boolean; readonly steps: number }> {
  const args = ["--input-type=module", "-e", BUILDER, JSON.stringify(place), JSON.stringify(at)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  child.stdout.on("data", (part) => (out += String(part)));
  await once(child, "close");
  return { killed: child.signalCode === "SIGKILL", steps: Number(out) };
}

/** What is found for each day in the index as it is, without taking anything in. */
function found(index: IndexFile): readonly string[] {
  return DAYS.map((query) => {
    const asked = { query, maxResults: 6, isPrivate: true };
    const generation = index.current();
    const hits = index.with((db) => hitsOf(db, generation, { ...asked, scores: scoresByWords(db, generation, asked) }));
    return hits.map(({ path }) => path).join();
  });
}

const notes = DAYS.map((day) => `memory/${day}.md`);
const rowsOf = (db: string, table: string) => {
  const file = new DatabaseSync(db, { readOnly: true });
  const rows = file.prepare(`SELECT state FROM ${table}`).all();
  const sound = file.prepare("PRAGMA integrity_check").get();
  file.close();
  return [...rows.map((row) => row["state"]), sound?.["integrity_check"]];
};

test("an index that is killed at any step of a rebuild is searched whole, before and after it is completed", async () => {
  const root = mkdtempSync(join(tmpdir(), "index-kill-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const { url } = await startEndpoint();
  const vectors = { provider: "here", model: "m", url, weight: 0.3 };
  const workspace = join(root, "workspace");
  mkdirSync(join(workspace, "memory"), { recursive: true });
  for (const day of DAYS) writeFileSync(join(workspace, "memory", `${day}.md`), `# ${day}\n\nThe ${day} was fine.\n`);
  const whole = join(root, "whole");
  const first = { workspace, db: join(whole, "i.sqlite"), vectors };
  await build(first, 0);
  const { steps } = await build(first, 0);
  expect(steps).toBeGreaterThan(100);

  const stride = Math.max(1, Math.floor(steps / KILLS));
  let killed = 0;
  for (let at = 1; at <= steps; at += stride) {
    const dir = join(root, `at-${at}`);
    cpSync(whole, dir, { recursive: true });
    const place = { workspace, db: join(dir, "i.sqlite"), vectors };
    const ended = await build(place, at);
    killed += Number(ended.killed);
    const index = new IndexFile(place);
    expect(found(index), `killed at step ${at}`).toEqual(notes);
    while (index.sync(50).pending > 0);
    const made = new Vectors(index);
    let state = await made.fill(vectors, { most: 2, rebuild: false });
    while (state.pending > 0 && state.failed === undefined)
      state = await made.fill(vectors, { most: 2, rebuild: false });
    expect(state, `killed at step ${at}`).toMatchObject({ pending: 0, isComplete: true });
    const near = await made.near(vectors, "anything", 6);
    expect(near.near).toHaveLength(DAYS.length);
    expect(found(index)).toEqual(notes);
    index.close();
    expect(rowsOf(place.db, "generations")).toEqual(["current", "ok"]);
    expect(rowsOf(place.db, "vectorSets")).toEqual(["current", "ok"]);
    rmSync(dir, { recursive: true, force: true });
  }
  expect(killed).toBeGreaterThanOrEqual(KILLS - 1);
}, 600_000);
