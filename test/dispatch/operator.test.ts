import { afterEach, beforeEach, expect, it } from "vitest";
import { retryInbox } from "../../src/app/messages/act.ts";
import { dropNow, runNow } from "../../src/dispatch/clients/operator.ts";
import type { InboxRow } from "../../src/types/journal.ts";
import { untilIdle } from "../kit/idle.ts";
import { until } from "../kit/until.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../kit/dispatch.ts";
import { nextMessage } from "../kit/inbound.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const drop = async (id: number) => {
  const row = await boot.journal.messages.inboxRow(id);
  return row && dropNow(row, boot.dispatch, boot.ports);
};

it("runs a message that nobody works on, once", async () => {
  const [accepted] = await boot.journal.inbox.accept([nextMessage("hello")]);
  const row = accepted!.row;
  expect(await runNow(row, boot.dispatch, boot.ports)).toBe("begun");
  expect(await boot.outcome(row)).toEqual({ kind: "replied" });
  expect(fixture.platform.texts).toEqual(["echo: hello"]);
});

it("leaves a message alone that is in work or waits", async () => {
  fixture.rules = { queueMode: () => "followup" };
  fixture.model.answer(() => "hang");
  const first = await boot.tell("first");
  await fixture.model.called(1);
  const second = await boot.tell("second");
  await until(() => boot.dispatch.stateOf(second));
  expect(await runNow(first, boot.dispatch, boot.ports)).toBe("running");
  expect(await runNow(second, boot.dispatch, boot.ports)).toBe("waiting");
});

it("runs a failed turn again with the words of all its messages", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isRefused = true;
  fixture.model.answer((_call, n) => {
    if (n === 1) return { text: "one", until: promise };
    return isRefused ? { status: 401, message: "bad key" } : { text: "two" };
  });
  await boot.tell("first");
  await fixture.model.called(1);
  const [asked, more] = [await boot.tell("asked"), await boot.tell("more words")];
  resolve();
  expect(await boot.outcome(asked)).toMatchObject({ kind: "failed" });
  expect(await boot.outcome(more)).toEqual({ kind: "merged", into: asked.id });
  isRefused = false;
  const gateway = {
    run: (row: InboxRow) => runNow(row, boot.dispatch, boot.ports),
    drop: (row: InboxRow) => dropNow(row, boot.dispatch, boot.ports),
    isUnderway: () => false,
    send: () => undefined,
    unsend: async () => undefined,
  };
  const { id } = await retryInbox({ journal: boot.journal, gateway }, asked.id);
  for (const row of await boot.journal.messages.againOf(asked.id)) await boot.outcome(row);
  const [words] = await boot.journal.messages.againOf(more.id);
  await boot.outcome(words!);
  expect(id).toBe(4);
  expect(JSON.stringify(fixture.model.calls.at(-1)?.messages)).toContain("more words");
});

it("runs a failed message again, as a turn of its own", async () => {
  fixture.gate = async () => ({ kind: "drop", why: "the sender is not in allowFrom" });
  const row = await boot.tell("hello");
  expect(await boot.outcome(row)).toMatchObject({ kind: "dropped" });
  expect(await boot.journal.messages.inboxRow(row.id)).toMatchObject({ refused: "drop" });
  fixture.gate = async () => ({ kind: "pass" });
  const again = await boot.journal.messages.runAgain(row.id);
  const copy = again?.kind === "copied" ? again.row : row;
  await runNow(copy, boot.dispatch, boot.ports);
  expect(await boot.outcome(copy)).toEqual({ kind: "replied" });
  expect(fixture.platform.texts).toEqual(["echo: hello"]);
});

it("drops what runs, what waits, and what nobody works on", async () => {
  fixture.rules = { queueMode: () => "followup" };
  fixture.model.answer((call) => (call.said.includes("last") ? { text: "done" } : "hang"));
  const first = await boot.tell("first");
  await fixture.model.called(1);
  const second = await boot.tell("second");
  const last = await boot.tell("last");
  await until(() => boot.dispatch.stateOf(second));
  const [idle] = await boot.journal.inbox.accept([nextMessage("idle")]);
  expect(await drop(idle!.row.id)).toBe("idle");
  expect(await drop(second.id)).toBe("waiting");
  expect(await drop(first.id)).toBe("stopped");
  expect(await boot.outcome(last)).toEqual({ kind: "replied" });
  const dropped = { kind: "dropped", why: "by the operator" };
  for (const row of [first, second, idle!.row]) expect(await boot.outcome(row)).toEqual(dropped);
  await untilIdle();
  expect(fixture.platform.texts).toEqual(["done"]);
});
