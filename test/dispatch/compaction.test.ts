import { afterEach, beforeEach, expect, it } from "vitest";
import { heard, type Hall, openHall } from "./stage.ts";

let hall: Hall;
beforeEach(async () => {
  hall = await openHall();
});
afterEach(() => hall.close());

const LONG = "word ".repeat(500);
const isSummary = (system: string) => system.startsWith("You write the memory");

it("waits for its turn in the lane, and counts in the session's row", async () => {
  hall.model.answer((call) => ({ text: isSummary(call.system) ? "SUMMARY" : `echo: ${heard(call.said).slice(0, 9)}` }));
  const boot = await hall.boot();
  const key = boot.keyOf("1");
  await boot.ask("hello");
  expect(await boot.chat.compact(key)).toEqual({ compacted: false, reason: "There is nothing to compact yet." });
  for (const turn of [1, 2, 3]) await boot.ask(`turn-${turn} ${LONG}`);
  const last = await boot.tell(`turn-4 ${LONG}`);
  const [done] = await Promise.all([boot.chat.compact(key), boot.outcome(last)]);
  expect(done).toMatchObject({ compacted: true });
  expect(done.tokensAfter).toBeLessThan(done.tokensBefore ?? 0);
  expect(await boot.chat.compact(key)).toMatchObject({ compacted: false });
  await boot.use("1", async (session) => {
    expect(session.entry).toMatchObject({ compactionCount: 1, totalTokensFresh: false });
    expect((await session.window(100_000)).summary).toBe("SUMMARY");
  });
});

it("ends when the session is stopped, begun or waiting", async () => {
  const boot = await hall.boot();
  const key = boot.keyOf("1");
  for (const turn of [1, 2, 3]) await boot.ask(`turn-${turn} ${LONG}`);
  hall.model.answer(() => "hang");
  const begun = boot.chat.compact(key);
  const waits = boot.chat.compact(key);
  await hall.model.called(4);
  await boot.chat.abort(key);
  const stopped = { compacted: false, reason: expect.stringContaining("stopped") };
  expect(await Promise.all([begun, waits])).toEqual([stopped, stopped]);
});

it("after a turn ends when the session is stopped, and the next message is answered", async () => {
  hall.rules = { agent: { contextTokens: 4000 } };
  hall.model.answer((call) => (isSummary(call.system) ? "hang" : { text: "fine" }));
  const boot = await hall.boot();
  for (const turn of [1, 2, 3, 4, 5]) await boot.ask(`turn-${turn} ${LONG}`);
  await hall.model.called(6);
  await boot.chat.abort(boot.keyOf("1"));
  expect(await boot.ask("still there?")).toMatchObject({ kind: "replied" });
});
