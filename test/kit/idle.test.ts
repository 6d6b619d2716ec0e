import { mkdtemp, open, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { untilIdle, watchedClock } from "./idle.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

it.each<[string, (step: () => void) => Promise<void>]>([
  [
    "code that takes many turns of the event loop",
    async (step) => {
      for (let at = 0; at < 200; at += 1) await turn();
      step();
    },
  ],
  [
    "a file that is written and synced, again and again",
    async (step) => {
      const dir = await mkdtemp(join(tmpdir(), "quiet-"));
      const file = await open(join(dir, "file"), "w");
      for (let at = 0; at < 20; at += 1) {
        await file.write("x".repeat(100_000));
        await file.sync();
      }
      await file.close();
      await rm(dir, { recursive: true });
      step();
    },
  ],
  [
    "requests over the network of the machine",
    async (step) => {
      const server = createServer((_request, response) => response.end("ok".repeat(50_000)));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      for (let at = 0; at < 5; at += 1) await (await fetch(`http://127.0.0.1:${port}/`)).text();
      step();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  ],
  ["a short timer of the stage's clock", async (step) => void watchedClock.after(20, step)],
])("quiet waits for %s", async (_what, work) => {
  let isDone = false;
  const ended = work(() => (isDone = true));
  await untilIdle();
  expect(isDone).toBe(true);
  await ended;
});

it("quiet does not wait for what the test holds, nor for a long timer", async () => {
  const held = Promise.withResolvers<void>();
  let isOver = false;
  void held.promise.then(() => (isOver = true));
  const cancel = watchedClock.after(60_000, () => (isOver = true));
  await untilIdle();
  expect(isOver).toBe(false);
  cancel();
});
