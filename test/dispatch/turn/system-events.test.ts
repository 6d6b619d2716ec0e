import { afterEach, beforeEach, expect, it } from "vitest";
import { until } from "../../kit/until.ts";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const add = (text: string) => boot.journal.events.add(boot.keyOf("1"), text);
const said = () => fixture.model.calls.at(-1)?.said ?? "";

/** How often the words are in what users said, as the transcript has it. */
const timesTold = (words: string) =>
  boot.use("1", async (session) => {
    const entries = await session.newest(100);
    const texts = entries.flatMap((entry) =>
      entry.type === "message" && entry.message.role === "user" ? [JSON.stringify(entry.message.content)] : [],
    );
    return texts.join("\n").split(words).length - 1;
  });

it("gives an event to the next turn of its session, once", async () => {
  await add("the node came back");
  await boot.ask("hello", "2");
  expect(said()).not.toContain("came back");
  await boot.ask("hello", "1");
  expect(said()).toMatch(/System: \[.*\] the node came back/);
  await boot.ask("and now?", "1");
  expect(said()).not.toContain("came back");
  expect(await timesTold("came back")).toBe(1);
});

it("gives the events of a turn that failed before the transcript had it to the next turn", async () => {
  await boot.stop();
  let isBroken = true;
  fixture.chatTools = () => () => {
    if (isBroken) throw new Error("no tools");
    return [];
  };
  boot = await fixture.boot();
  await add("the node came back");
  expect(await boot.ask("hello", "1")).toMatchObject({ kind: "failed" });
  await add("the disk is full");
  isBroken = false;
  await boot.ask("hello again", "1");
  expect(said()).toMatch(/the node came back[^]*the disk is full[^]*hello again/);
  expect([await timesTold("came back"), await timesTold("disk is full")]).toEqual([1, 1]);
});

it("keeps events through a restart", async () => {
  await add("the node came back");
  await boot.stop();
  boot = await fixture.boot();
  await boot.ask("hello", "1");
  expect(said()).toContain("the node came back");
});

it("gives an event to one turn when the process ends between the transcript's line and the journal's", async () => {
  const gate = Promise.withResolvers<void>();
  fixture.model.answer(async () => {
    await gate.promise;
    return { text: "ok" };
  });
  await add("the node came back");
  const row = await boot.tell("hello", "1");
  await until(() => fixture.model.calls.length === 1);
  await boot.stop();
  gate.resolve();
  boot = await fixture.boot();
  await add("the disk is full");
  await boot.recover();
  await boot.outcome(row);
  // The turn was written before the second event: that one waits for a turn that can tell it.
  expect(said()).toContain("came back");
  expect(said()).not.toContain("disk is full");
  await boot.ask("and now?", "1");
  expect(said()).toContain("disk is full");
  expect([await timesTold("came back"), await timesTold("disk is full")]).toEqual([1, 1]);
});

it("does not repeat the events of a turn that nobody resumed after a restart", async () => {
  const gate = Promise.withResolvers<void>();
  fixture.model.answer(async () => {
    await gate.promise;
    return { text: "ok" };
  });
  await add("the node came back");
  const row = await boot.tell("hello", "1");
  await until(() => fixture.model.calls.length === 1);
  await boot.stop();
  gate.resolve();
  boot = await fixture.boot();
  await boot.journal.inbox.finish([row.id], { kind: "dropped", why: "by the operator" });
  await boot.ask("and now?", "1");
  expect(await timesTold("came back")).toBe(1);
});
