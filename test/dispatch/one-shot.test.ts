import { afterEach, beforeEach, expect, it } from "vitest";
import { eventsOf } from "../kit/run.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const ask = (key: string, signal = new AbortController().signal) =>
  boot.chat.oneShot({
    agentId: boot.ports.settings().defaultAgent,
    messages: [{ role: "user", content: `question ${key}`, timestamp: 1 }],
    media: [],
    client: {},
    idempotencyKey: key,
    signal,
  });

it("answers out of the history that it is given, and leaves its receipt and no session", async () => {
  const events = await eventsOf(await ask("one"));
  expect(events.at(-1)).toMatchObject({ type: "run_end", result: { kind: "replied" } });
  await expect.poll(() => boot.journal.runs.find("one")).toMatchObject({ result: "replied", receipt: { calls: 1 } });
  expect(boot.sessions.list()).toEqual([]);
});

it("is one of the runs that continue at once", async () => {
  fixture.rules = { maxConcurrent: 1 };
  const held = Promise.withResolvers<void>();
  fixture.model.answer(async () => {
    await held.promise;
    return { text: "yes" };
  });
  const first = await ask("first");
  const queued = ask("second");
  await fixture.model.called(1);
  expect(await Promise.race([queued, Promise.resolve("waits")])).toBe("waits");
  held.resolve();
  expect(await first.done).toMatchObject({ kind: "replied" });
  expect(await (await queued).done).toMatchObject({ kind: "replied" });
});

it("ends when its client goes, also while it waits", async () => {
  fixture.rules = { maxConcurrent: 1 };
  fixture.model.answer(() => "hang");
  const gone = new AbortController();
  const first = await ask("first", gone.signal);
  const second = ask("second", gone.signal);
  await fixture.model.called(1);
  gone.abort();
  expect(await first.done).toMatchObject({ kind: "aborted", by: "user" });
  expect(await (await second).done).toMatchObject({ kind: "aborted", by: "user" });
  await expect.poll(() => boot.journal.runs.find("second")).toMatchObject({ result: "aborted" });
});
