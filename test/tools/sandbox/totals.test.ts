import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { SandboxConfig } from "../../../src/tools/sandbox/config.ts";
import { canListChildren } from "../../../src/tools/sandbox/totals/process-tree.ts";
import { openGround, whyNoBwrap, type Ground } from "./fixture.ts";

const why =
  whyNoBwrap ?? ((await canListChildren()) ? undefined : "the system does not list the children of processes");

describe.skipIf(why !== undefined)(`what a sandboxed command takes in all (${why ?? "is measured"})`, () => {
  let ground: Ground;
  beforeEach(() => {
    ground = openGround();
    vi.stubEnv("HOME", ground.home);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    ground.close();
  });

  const run = (command: string, bwrap: SandboxConfig["bwrap"]) => ground.run(command, { bwrap }, { timeoutMs: 30_000 });

  /** `tail` keeps all of it, since nobody reads what it writes. */
  const hold = "(head -c 60000000 /dev/zero | tail -c 60000000 | sleep 25) &";

  it("is no more memory than the limit, however many processes have it", async () => {
    const end = await run(`${hold} ${hold} ${hold} wait`, { totalMemoryMb: 100 });
    expect(end).toMatchObject({
      because: "limit",
      note: expect.stringContaining("more than 100 MiB of memory in all"),
    });
  });

  const SHARED: readonly (readonly [what: string, script: string])[] = [
    ["memory that they share", "m = mmap.mmap(-1, 200000000)\nfor i in range(200): m.write(bytes(1000000))"],
    ["files in memory that nothing maps", "for i in range(20): os.write(os.memfd_create('x'), bytes(10000000))"],
    ["files in the temporary directories", "for i in range(20): open(f'/tmp/{i}', 'wb').write(bytes(10000000))"],
    [
      "files without a name there",
      "f = open('/dev/shm/x', 'wb'); os.unlink('/dev/shm/x')\nfor i in range(200): f.write(bytes(1000000))",
    ],
  ];
  it.each(SHARED)("is no more than the limit in %s", async (_what, script) => {
    const end = await run(`python3 -c "import mmap, os, time\n${script}\ntime.sleep(25)"`, { totalMemoryMb: 100 });
    expect(end).toMatchObject({
      because: "limit",
      note: expect.stringContaining("more than 100 MiB of memory in all"),
    });
  });

  it("has no shared memory that nobody counts", async () => {
    const call = "import ctypes; print(ctypes.CDLL(None).shmget(0, 4096, 0o1600))";
    expect((await run(`python3 -c "${call}"`, {})).output.text).toContain("-1");
  });

  it("counts memory that forked processes share once", async () => {
    const script =
      "import os, time\nx = bytearray(80000000)\nfor i in range(3):\n  if os.fork() == 0: break\ntime.sleep(1.5)";
    const end = await run(`python3 -c '${script}'`, { totalMemoryMb: 150 });
    expect(end).toMatchObject({ because: "exit", code: 0 });
  });

  it("is no more on the disk than the limit, in however many files", async () => {
    const end = await run("for i in 1 2 3 4 5 6 7 8; do head -c 5000000 /dev/zero > f$i; done; sync; sleep 25", {
      totalWriteMb: 20,
    });
    expect(end).toMatchObject({ because: "limit", note: expect.stringContaining("wrote more than 20 MiB") });
  });

  it("is no more in files without a name", async () => {
    const end = await run("exec 3> gone; rm gone; head -c 40000000 /dev/zero >&3; sync; sleep 25", {
      totalWriteMb: 20,
    });
    expect(end).toMatchObject({ because: "limit", note: expect.stringContaining("wrote more than 20 MiB") });
  });

  it("is not what others write meanwhile", async () => {
    const other = join(ground.home, "outside", "large");
    const running = run("sleep 2", { totalWriteMb: 20 });
    writeFileSync(other, Buffer.alloc(60_000_000, 1));
    expect(await running).toMatchObject({ because: "exit", code: 0 });
    rmSync(other);
  });

  // The kernel counts the processes of everybody else but root.
  it.runIf(process.getuid?.() === 0)("is no more processes than the limit, for root too", async () => {
    const end = await run("for i in $(seq 1 200); do sleep 25 & done; wait", { processes: 50 });
    expect(end).toMatchObject({ because: "limit", note: expect.stringContaining("more than 50 processes") });
  });
});
