import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ADA, linesOf, readTranscript, textOf, useStage } from "./stage.ts";

const SIZE = "8m";

/** Mounting needs root: elsewhere these tests are left out, and say so. */
const mountRefusal = ((): string | undefined => {
  const dir = mkdtempSync(join(tmpdir(), "openclaw-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "tmpfs", dir], { stdio: "pipe" });
    execFileSync("umount", [dir]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message.trim() : String(error);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
})();
if (mountRefusal !== undefined)
  console.log(`full disk not tested: a small disk cannot be mounted here (${mountRefusal})`);

describe.skipIf(mountRefusal !== undefined)("a full disk", () => {
  const stage = useStage();
  const filler = (): string => join(stage().home.stateDir, "filler");

  beforeEach(async () => {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE},mode=0700`, "tmpfs", stage().home.stateDir]);
    await stage().config({ tools: { exec: { security: "full", ask: "off" } } });
  });
  afterEach(() => {
    // Lazily: the gateway that the stage ends after this may still stand on it.
    execFileSync("umount", ["-l", stage().home.stateDir]);
  });

  /** Takes every byte that is left. */
  async function fill(): Promise<void> {
    const { bavail, bsize } = statfsSync(stage().home.stateDir);
    await writeFile(filler(), Buffer.alloc(bavail * bsize));
    expect(statfsSync(stage().home.stateDir).bavail).toBe(0);
  }

  const free = (): Promise<void> => rm(filler());

  test("told once, not acknowledged, alive; with room again the very message is answered", async () => {
    const gateway = await stage().start();
    await stage().goesOn("before");
    await gateway.logged("delivered");
    await fill();
    stage().telegram.say("good morning");
    const notice = await stage().telegram.waitFor((call) => call.text.includes("disk"));
    expect(notice.text).toContain("⚠️");
    expect(await gateway.logged("messages wait for the disk")).toMatchObject({ code: "DISK_FULL" });
    // Two more tries of the same update.
    for (let polls = 0; polls < 3; polls += 1) {
      await stage().moment(({ method }) => method === "getUpdates");
    }
    expect(stage().telegram.pending).toHaveLength(1);
    expect((await fetch(`http://127.0.0.1:${gateway.port}/healthz`)).status).toBe(200);
    expect(stage().shown("disk")).toHaveLength(1);

    await free();
    await stage().telegram.waitFor((call) => call.text.includes("good morning"));
    await stage().goesOn();
    expect(stage().shown("good morning")).toHaveLength(1);
    expect(stage().telegram.pending).toEqual([]);
    expect(await gateway.kill()).toBe(0);
  });

  test("filled while the model thinks: told, and answered when there is room", async () => {
    const gateway = await stage().start();
    await stage().goesOn("before");
    const thinking = Promise.withResolvers<void>();
    stage().model.answer(async (call) => {
      await thinking.promise;
      return { text: `answer to ${call.said}` };
    });
    stage().telegram.say("good morning");
    await stage().model.called(2);
    await fill();
    thinking.resolve();
    const notice = await stage().telegram.waitFor((call) => call.text.includes("⚠️"));
    expect(notice.text).toContain("disk");
    expect((await fetch(`http://127.0.0.1:${gateway.port}/healthz`)).status).toBe(200);

    await free();
    await stage().telegram.waitFor((call) => call.text.includes("answer to"));
    await stage().goesOn();
    expect(stage().shown("answer to")).toHaveLength(1);
    const messages = await readTranscript((await stage().transcripts())[0] ?? "");
    expect(messages.filter((it) => it.role === "user" && textOf(it).includes("good morning"))).toHaveLength(1);
    expect(await gateway.kill()).toBe(0);
  });

  test("filled before the model asks for a tool: the tool runs once, when its call can be written down", async () => {
    const gateway = await stage().start();
    await stage().goesOn("before");
    await gateway.logged("delivered");
    const ran = join(stage().home.dir, "ran.txt");
    const full = Promise.withResolvers<void>();
    stage().model.answer(async (call) => {
      await full.promise;
      if (call.isAfterTool) return { text: "tool done" };
      // So long that it does not fit into what is left of the transcript's last block.
      return { tool: "exec", args: { command: `echo x >> '${ran}' # ${"so long ".repeat(2000)}` } };
    });
    stage().telegram.say("run it");
    await stage().model.called(2);
    await fill();
    full.resolve();
    await stage().telegram.waitFor((call) => call.text.includes("disk"));
    expect(existsSync(ran)).toBe(false);
    await free();
    await stage().telegram.waitFor((call) => call.text.includes("tool done"));
    expect(await readFile(ran, "utf8")).toBe("x\n");
  });

  test("filled while the reply waits for Telegram: it leaves once, when there is room", async () => {
    const gateway = await stage().start();
    await stage().goesOn("before");
    stage().telegram.fail("sendMessage", "429", 1, 1);
    stage().telegram.say("good morning");
    await gateway.logged("send again");
    await fill();
    expect(await gateway.logged("reply waits for the disk")).toMatchObject({ code: "DISK_FULL" });
    await free();
    await stage().telegram.waitFor((call) => call.ok && call.text.includes("good morning"));
    await stage().goesOn();
    expect(stage().shown("good morning")).toHaveLength(1);
    expect(linesOf(gateway, "stopped")).toEqual([]);
  });

  test("full from the start: a clear end, or a gateway that says so", async () => {
    mkdirSync(join(stage().home.stateDir, "state"), { recursive: true });
    await fill();
    await expect(stage().start()).rejects.toThrow(/No room left on the disk/);
    expect(stage().telegram.shown(ADA)).toEqual([]);
  });
});
