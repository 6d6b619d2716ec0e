import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { listFolders, openFolder, pruneFolders } from "../../../src/tools/sandbox/folders.ts";

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 27, 12);

function ground() {
  const root = mkdtempSync(join(tmpdir(), "folders-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const workspaceRoot = join(root, "sandboxes");
  /** A session's folder, made and last used so many hours ago. */
  const make = async (session: string, madeHours: number, usedHours = madeHours): Promise<string> => {
    const owner = { agentId: "main", sessionKey: session };
    const place = { scope: "session", workspaceRoot } as const;
    const folder = await openFolder(place, owner, NOW - madeHours * HOUR);
    utimesSync(`${folder}.json`, (NOW - usedHours * HOUR) / 1000, (NOW - usedHours * HOUR) / 1000);
    writeFileSync(join(folder, "made"), session);
    return folder;
  };
  const left = async (prune: { idleHours: number; maxAgeDays: number }) => {
    await pruneFolders(workspaceRoot, prune, NOW);
    return (await listFolders(workspaceRoot)).map(({ session = "" }) => session).toSorted((a, b) => a.localeCompare(b));
  };
  return { root, workspaceRoot, make, left };
}

it("a folder is removed that nobody has used for the hours, or that is older than the days and not in use", async () => {
  const { make, left } = ground();
  const unused = await make("unused", 30);
  const old = await make("old", 200, 5);
  await make("old and in use", 200, 0.5);
  await make("used", 30, 5);
  expect(await left({ idleHours: 24, maxAgeDays: 7 })).toEqual(["old and in use", "used"]);
  for (const folder of [unused, old])
    expect([existsSync(folder), existsSync(`${folder}.json`)]).toEqual([false, false]);
});

it("0 removes none for that reason", async () => {
  const { make, left } = ground();
  await make("unused", 1000);
  expect(await left({ idleHours: 0, maxAgeDays: 0 })).toEqual(["unused"]);
  expect(await left({ idleHours: 0, maxAgeDays: 40 })).toEqual([]);
});

it("a folder is removed whatever a command made in it", async () => {
  const { root, workspaceRoot, make, left } = ground();
  const folder = await make("odd", 1000);
  mkdirSync(join(root, "outside"));
  writeFileSync(join(root, "outside/kept"), "");
  const script = `
    for dir in deep "$(printf '\\377')"; do
      (mkdir "$dir"; cd "$dir"; for i in $(seq 60); do mkdir ${"d".repeat(200)}; cd -P ${"d".repeat(200)}; echo x > file; done 2>/dev/null)
    done
    printf x > "$(printf 'file\\377')"; ln -s ${join(root, "outside")} deep/away
    mkdir -p closed/in/it; touch closed/in/file; chmod 0 closed/in/it closed/in closed; mkdir 1 2; touch 3`;
  execFileSync("/bin/bash", ["-c", script], { cwd: folder });
  expect(await left({ idleHours: 24, maxAgeDays: 7 })).toEqual([]);
  expect(readdirSync(workspaceRoot)).toEqual([]);
  expect(existsSync(join(root, "outside/kept"))).toBe(true);
});

it("nothing is removed but what a record names, and nothing behind a link", async () => {
  const { root, workspaceRoot, make, left } = ground();
  const folder = await make("unused", 1000);
  mkdirSync(join(root, "outside"));
  writeFileSync(join(root, "outside/kept"), "");
  symlinkSync(join(root, "outside"), join(folder, "away"));
  mkdirSync(join(workspaceRoot, "of-the-user"));
  writeFileSync(join(workspaceRoot, "of-the-user.json"), "{}");
  expect(await left({ idleHours: 24, maxAgeDays: 7 })).toEqual([]);
  for (const name of ["outside/kept", "sandboxes/of-the-user"]) expect(existsSync(join(root, name))).toBe(true);
});
