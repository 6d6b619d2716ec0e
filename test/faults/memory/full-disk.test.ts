import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Memory, type JobOutcome } from "../../../extensions/memory-core/memory.ts";
import { agentId } from "../../../src/types/ids.ts";

/** A small disk for the index; undefined where none can be mounted, which `disk.test.ts` reports. */
function smallDisk(root: string): string | undefined {
  const dir = join(root, "state");
  mkdirSync(dir);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", dir], { stdio: "pipe" });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync("umount", ["-l", dir]));
  return dir;
}

/** Takes every byte that is left. */
function fill(dir: string): void {
  for (let left = statfsSync(dir); left.bavail > 0; left = statfsSync(dir)) {
    try {
      appendFileSync(join(dir, "filler"), Buffer.alloc(Math.min(left.bavail, 64) * left.bsize));
    } catch {
      // Other files of the disk have grown meanwhile.
    }
  }
}

const pathsIn = (outcome: JobOutcome) => ("hits" in outcome ? outcome.hits.map(({ path }) => path) : outcome.failed);
const degradedIn = (outcome: JobOutcome) => ("state" in outcome ? outcome.state.degraded : undefined);

test("while the disk is full searches are answered from the index, and changes are taken in once there is space", async ({
  skip,
}) => {
  const root = mkdtempSync(join(tmpdir(), "memory-full-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const stateDir = smallDisk(root);
  if (stateDir === undefined) return skip("a small disk cannot be mounted here");
  const workspace = join(root, "workspace");
  mkdirSync(join(workspace, "memory"), { recursive: true });
  const note = (name: string, text: string) => writeFileSync(join(workspace, "memory", name), text);
  note("gate.md", "The gate is green.\n");
  const memory = new Memory(stateDir);
  const place = memory.placeOf({ id: agentId("main"), workspace });
  const search = (query: string) => memory.search(place, { query, maxResults: 6, isPrivate: true });
  expect(pathsIn(await search("gate"))).toEqual(["memory/gate.md"]);

  fill(stateDir);
  expect(pathsIn(await search("green"))).toEqual(["memory/gate.md"]);
  for (let day = 0; day < 40; day += 1) note(`${day}.md`, `Fence number${day} is green.\n`.repeat(300));
  const full = await search("gate");
  expect(pathsIn(full)).toEqual(["memory/gate.md"]);
  expect(degradedIn(full)).toMatch(/changes of notes cannot be taken in now: .*full/);
  const rebuilt = await memory.sync(place, true);
  expect(rebuilt).toMatchObject({ failed: expect.stringMatching(/full/) });
  expect(pathsIn(await search("gate"))).toEqual(["memory/gate.md"]);

  rmSync(join(stateDir, "filler"));
  const done = await memory.sync(place, false);
  expect(done).toMatchObject({ state: { files: 41, pending: 0 } });
  expect(new Set(pathsIn(await search("number7")))).toEqual(new Set(["memory/7.md"]));
});

test("an index that cannot be begun is a reason, and is made once there is space", async ({ skip }) => {
  const root = mkdtempSync(join(tmpdir(), "memory-full-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const stateDir = smallDisk(root);
  if (stateDir === undefined) return skip("a small disk cannot be mounted here");
  const workspace = join(root, "workspace");
  mkdirSync(workspace);
  writeFileSync(join(workspace, "MEMORY.md"), "The gate is green.\n");
  fill(stateDir);
  const memory = new Memory(stateDir);
  const place = memory.placeOf({ id: agentId("main"), workspace });
  const search = () => memory.search(place, { query: "gate", maxResults: 6, isPrivate: true });
  expect(await search()).toHaveProperty("failed");
  rmSync(join(stateDir, "filler"));
  expect(pathsIn(await search())).toEqual(["MEMORY.md"]);
});
