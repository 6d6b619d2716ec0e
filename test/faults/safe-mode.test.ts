import { expect, test } from "vitest";
import { type FaultFixture, useFaultFixture } from "./fixture.ts";

const fixture = useFaultFixture();
/** Gateways of other tests have no safe mode. */
const SAFE = { OPENCLAW_SAFE_MODE: "" };

async function killed(times: number, { home }: FaultFixture): Promise<void> {
  for (let at = 0; at < times; at += 1) {
    const gateway = await home.start({ env: SAFE });
    await gateway.kill("SIGKILL");
  }
}

test("the start after three that were killed leaves the channels off, says so, and ends it by one command", async () => {
  const { home, telegram } = fixture();
  await killed(3, fixture());
  const careful = await home.start({ env: SAFE });
  const held = await careful.logged("channels stay off");
  expect(held["why"]).toMatch(/safe mode, because 3 starts.*gateway restart --normal/);
  telegram.say("anybody there?");

  const ready = await fetch(`http://127.0.0.1:${careful.port}/readyz`);
  expect(JSON.stringify(await ready.json())).toContain("safe mode");
  expect((await home.run(["status"], SAFE)).stdout).toContain("safe mode");
  expect((await home.run(["doctor"], SAFE)).stdout).toContain("The gateway is in safe mode");
  expect((await fetch(`http://127.0.0.1:${careful.port}/healthz`)).status).toBe(200);
  expect(telegram.pending.length).toBe(1);

  // It is no unclean start itself, but the three still count.
  expect(await careful.kill()).toBe(0);
  const again = await home.start({ env: SAFE });
  await again.logged("channels stay off");
  expect(await again.kill()).toBe(0);

  fixture().model.answer((call) => ({ text: `echo: ${call.said}` }));
  const normal = await home.start({ env: SAFE, args: ["--normal"] });
  await telegram.waitFor((call) => call.ok && call.text.includes("anybody there?"));
  expect(JSON.stringify(normal.lines)).not.toContain("safe mode");
  expect((await home.run(["doctor"], SAFE)).stdout).not.toContain("is in safe mode");
});

test("two starts that were killed, and any number that ended in order, change nothing", async () => {
  const { home } = fixture();
  for (let at = 0; at < 3; at += 1) {
    const gateway = await home.start({ env: SAFE });
    expect(await gateway.kill()).toBe(0);
  }
  await killed(2, fixture());
  await home.start({ env: SAFE });
  await fixture().goesOn();
});
