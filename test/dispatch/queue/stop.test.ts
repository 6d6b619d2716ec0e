import { afterEach, beforeEach, expect, it } from "vitest";
import { manualClock } from "../../kit/clock.ts";
import { until } from "../../kit/until.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  // Nobody moves it on: what ends here waits for no time limit.
  boot = await fixture.boot({ clock: manualClock() });
});
afterEach(() => fixture.close());

const never = () => new Promise<never>(() => undefined);
const photo = { kind: "image", source: { at: "platform", ref: "x" } } as const;

it("a turn whose files never come ends when it is stopped, without any wait, and the next one is answered", async () => {
  let isFetching = false;
  Object.assign(fixture.platform, { download: () => ((isFetching = true), never()) });
  const row = await boot.tell("look at this", "1", { media: [photo] });
  await until(() => isFetching);
  await boot.tell("/stop", "1");
  expect(await boot.outcome(row)).toEqual({ kind: "aborted" });
  expect(fixture.model.calls).toEqual([]);
  expect(await boot.ask("still there?")).toEqual({ kind: "replied" });
});

it("so does one whose key is being renewed", async () => {
  const { models } = boot.ports;
  const { find } = models;
  let isAsked = false;
  Object.assign(models, { find: () => ((isAsked = true), never()) });
  const row = await boot.tell("hello", "1");
  await until(() => isAsked);
  await boot.tell("/stop", "1");
  expect(await boot.outcome(row)).toEqual({ kind: "aborted" });
  Object.assign(models, { find });
  expect(await boot.ask("still there?")).toEqual({ kind: "replied" });
});

it("so does a compaction that waits for a model", async () => {
  for (const turn of [1, 2, 3]) await boot.ask(`turn-${turn} ${"word ".repeat(500)}`);
  let isAsked = false;
  Object.assign(boot.ports.models, { find: () => ((isAsked = true), never()) });
  const done = boot.chat.compact(boot.keyOf("1"));
  await until(() => isAsked);
  await boot.chat.abort(boot.keyOf("1"));
  expect(await done).toMatchObject({ compacted: false, reason: expect.stringContaining("stopped") });
});
