import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { journalRows, linesOf, useFaultFixture } from "../fixture.ts";

const SYNC_MS = 1000;

const dir = mkdtempSync(join(tmpdir(), "openclaw-slow-disk-"));
const library = join(dir, "slow-sync.so");
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Needs a C compiler, and a system whose programs can be given other syncs: elsewhere these tests are left out, and say so. */
const refusal = ((): string | undefined => {
  if (process.platform !== "linux") return "this is not Linux";
  try {
    const source = join(import.meta.dirname, "slow-sync.c");
    execFileSync("cc", ["-shared", "-fPIC", "-o", library, source, "-ldl"], { stdio: "pipe" });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message.trim() : String(error);
  }
})();
if (refusal !== undefined) console.log(`slow disk not tested: ${refusal}`);

// A CI run without these tests would show nothing of what they promise.
test.runIf(refusal !== undefined && process.env["CI"] !== undefined)("a slow disk can be made in CI", () => {
  expect.fail(`the slow disk is not tested: ${refusal}`);
});

describe.skipIf(refusal !== undefined)("a slow disk", () => {
  const fixture = useFaultFixture();

  /** Milliseconds of all but the slowest tenth of the answers of `/healthz` until the work is done. */
  async function healthTime(port: number, work: Promise<unknown>): Promise<number> {
    // The first request is about this process: it loads the client.
    await (await fetch(`http://127.0.0.1:${port}/healthz`)).text();
    let isDone = false;
    const done = work.finally(() => (isDone = true));
    const times: number[] = [];
    while (!isDone) {
      const begun = performance.now();
      await (await fetch(`http://127.0.0.1:${port}/healthz`)).text();
      times.push(performance.now() - begun);
      await new Promise((next) => setTimeout(next, 20));
    }
    await done;
    // A busy machine delays one of them; syncing on the event loop delays each that comes meanwhile.
    return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.9)] ?? Number.POSITIVE_INFINITY;
  }

  test("delays messages, and nothing else: the gateway answers while its journal waits for the disk", async () => {
    const gateway = await fixture().start({ LD_PRELOAD: library, SYNC_MS: String(SYNC_MS) });
    await fixture().goesOn("before");
    await gateway.logged("delivered");
    fixture().model.answer((call) => ({ text: `answer to ${call.said}` }));
    const chats = [2001, 2002, 2003];
    const answered = Promise.all(
      chats.map((id) => {
        fixture().telegram.say(`question of ${id}`, { from: { id } });
        return fixture().telegram.waitFor((call) => call.ok && call.text.includes(`question of ${id}`), 60_000);
      }),
    );
    expect(await healthTime(gateway.port, answered)).toBeLessThan(SYNC_MS * 0.8);
    expect(await gateway.kill()).toBe(0);
    expect(journalRows(fixture().home, "SELECT id FROM inbox WHERE state <> 'done'")).toEqual([]);
  }, 120_000);

  test("that fails to sync ends the gateway, with the reason; the next start answers what was not acknowledged", async () => {
    const failing = join(fixture().home.dir, "failing");
    const gateway = await fixture().start({ LD_PRELOAD: library, SYNC_FAILS_WITH: failing });
    await fixture().goesOn("before");
    await gateway.logged("delivered");
    await writeFile(failing, "");
    fixture().telegram.say("good morning");
    expect(await gateway.ended).toBe(75);
    expect(gateway.output).toContain("journal.sqlite");
    expect(linesOf(gateway, "stopped")).toHaveLength(1);
    expect(fixture().telegram.pending).toHaveLength(1);

    fixture().model.answer((call) => ({ text: `echo: ${call.said}` }));
    await fixture().start();
    await fixture().telegram.waitFor((call) => call.ok && call.text.includes("good morning"));
    await fixture().goesOn();
    expect(fixture().shown("good morning")).toHaveLength(1);
  }, 60_000);
});
