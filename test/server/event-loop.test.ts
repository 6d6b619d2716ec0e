import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { watchEventLoop } from "../../src/server/event-loop.ts";

function watched() {
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  return watchEventLoop(stopping.signal);
}

/** Keeps the event loop busy: nothing else runs meanwhile. */
function block(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

test("a loop that is blocked again and again is reported with its delay", async () => {
  const health = watched();
  await vi.waitFor(
    async () => {
      block(600);
      await wait(1);
      expect(health()).toMatchObject({ degraded: true, delayMaxMs: expect.toSatisfy((ms: number) => ms > 250) });
    },
    { timeout: 20_000 },
  );
  expect(health().delayP99Ms).toBeGreaterThan(250);
});
