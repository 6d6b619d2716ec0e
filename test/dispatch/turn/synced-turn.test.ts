import { afterEach, beforeEach, expect, it } from "vitest";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";
import { untilIdle } from "../../kit/idle.ts";
import { textResult } from "../../../src/tools/define.ts";
import { countSyncs } from "../../kit/store/synced-files.ts";
import { makeTool } from "../../kit/tools.ts";
import { until } from "../../kit/until.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

it.runIf(process.platform === "linux")("a turn syncs its transcript once, also when no model answered", async () => {
  await boot.ask("first");
  const syncs = await countSyncs();
  await boot.ask("hello");
  expect(syncs?.of(".jsonl")).toBe(1);
  fixture.model.answer(() => ({ status: 400, message: "bad request" }));
  expect(await boot.ask("hello again")).toMatchObject({ kind: "failed" });
  expect(syncs?.of(".jsonl")).toBe(2);
  syncs?.stop();
});

it("a tool waits until the claim of its message is on the disk", async () => {
  const disk = Promise.withResolvers<void>();
  let runs = 0;
  const count = makeTool("count", async () => {
    runs += 1;
    return textResult("counted");
  });
  fixture.tools.push(count);
  fixture.model.answer(({ isAfterTool }) => {
    if (isAfterTool) return { text: "done" };
    Object.assign(boot.journal.inbox, { synced: () => disk.promise });
    return { tool: "count", args: {} };
  });
  const row = await boot.tell("count");
  await until(() => fixture.model.calls.length === 1);
  await untilIdle();
  expect(runs).toBe(0);
  disk.resolve();
  expect(await boot.outcome(row)).toEqual({ kind: "replied" });
  expect(runs).toBe(1);
});
