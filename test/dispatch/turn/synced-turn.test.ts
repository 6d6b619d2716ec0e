import { afterEach, beforeEach, expect, it } from "vitest";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";
import { countSyncs } from "../../kit/store/synced-files.ts";

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
