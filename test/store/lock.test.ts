import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { acquireStateLock, lockPath, readStateLock } from "../../src/store/lock/lock.ts";
import { processStart } from "../../src/store/lock/process-start.ts";

let dir: string;
let other: ChildProcess;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "lock-"));
  await mkdir(join(dir, "state"));
  other = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  await once(other, "spawn");
});
afterEach(async () => {
  const gone = once(other, "exit");
  if (other.exitCode === null && other.signalCode === null) {
    other.kill("SIGKILL");
    await gone;
  }
  await rm(dir, { recursive: true });
});

async function leaveLock(facts: object): Promise<void> {
  await writeFile(lockPath(dir), JSON.stringify(facts));
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(5);
}

describe("the state lock", () => {
  it("names its holder, and is gone after release", async () => {
    const lock = await acquireStateLock(dir);
    await lock.note({ port: 18789 });
    expect(await readStateLock(dir)).toMatchObject({ pid: process.pid, port: 18789, alive: true });
    await lock.release();
    expect(await readStateLock(dir)).toBeUndefined();
    expect(await readdir(join(dir, "state"))).toEqual(["instance.json", "places.json"]);
  });

  it("is refused while another process holds it", async () => {
    const pid = other.pid ?? 0;
    await leaveLock({ pid, startedAt: await processStart(pid), command: "openclaw gateway" });
    await expect(acquireStateLock(dir)).rejects.toMatchObject({
      code: "STATE_LOCKED",
      message: expect.stringContaining(String(pid)),
      fix: expect.stringContaining("openclaw gateway stop"),
    });
  });

  it("is taken over from a dead process", async () => {
    const pid = other.pid ?? 0;
    await leaveLock({ pid, startedAt: await processStart(pid), command: "openclaw gateway" });
    const gone = once(other, "exit");
    other.kill("SIGKILL");
    await gone;
    expect(await readStateLock(dir)).toMatchObject({ alive: false });
    const lock = await acquireStateLock(dir);
    expect(await readStateLock(dir)).toMatchObject({ pid: process.pid });
    await lock.release();
  });

  it.runIf(process.platform === "linux")("is taken over from a dead process that nobody has reaped", async () => {
    // `sleep` replaces the shell and never waits for the child that the shell had started.
    const parent = spawn("sh", ["-c", "sleep 1000 & echo $!; exec sleep 1000"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    try {
      const [printed]: string[] = await once(parent.stdout.setEncoding("utf8"), "data");
      const pid = Number(printed);
      await until(async () => (await readFile(`/proc/${parent.pid}/comm`, "utf8")) === "sleep\n");
      await leaveLock({ pid, startedAt: await processStart(pid), command: "openclaw gateway" });
      await expect(acquireStateLock(dir)).rejects.toMatchObject({ code: "STATE_LOCKED" });
      process.kill(pid, "SIGKILL");
      await until(async () => (await readFile(`/proc/${pid}/stat`, "utf8")).includes(") Z "));
      expect(await readStateLock(dir)).toMatchObject({ pid, alive: false });
      await (await acquireStateLock(dir)).release();
    } finally {
      parent.kill("SIGKILL");
    }
  });

  it("is taken over when another program has got the process id since, or when it is unreadable", async () => {
    await leaveLock({ pid: other.pid, startedAt: "boot/1", command: "openclaw gateway" });
    const first = await acquireStateLock(dir);
    expect(await readStateLock(dir)).toMatchObject({ pid: process.pid, alive: true });
    await first.release();
    await writeFile(lockPath(dir), "");
    const second = await acquireStateLock(dir);
    expect(await readStateLock(dir)).toMatchObject({ pid: process.pid, alive: true });
    await second.release();
  });
});

describe("the start of a process", () => {
  it("is not made up for one that ends while it is looked for", async () => {
    for (let turn = 0; turn < 4; turn += 1) {
      const child = spawn("true");
      await once(child, "spawn");
      const pid = child.pid ?? 0;
      const starts: (string | undefined)[] = [];
      // Many looks at once, so that the process ends in the midst of some of them.
      while (starts.at(-1) !== undefined || starts.length === 0) {
        starts.push(...(await Promise.all(Array.from({ length: 20 }, async () => processStart(pid)))));
      }
      expect(starts).not.toContain("unknown");
    }
  });
});
