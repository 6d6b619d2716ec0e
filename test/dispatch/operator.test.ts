import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { dropInbox, retryInbox } from "../../src/app/messages/act.ts";
import { dropNow, runNow, type Dropped } from "../../src/dispatch/clients/operator.ts";
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

describe("a waiting message that is dropped while its turn begins", () => {
  type Write = "claimAhead" | "begin" | "recordTurn";
  const WHEN = ["before", "at once after", "after the end of"] as const;
  const DROPPED = { kind: "dropped", why: "by the operator" };
  const isAsked = (words: string) => fixture.model.calls.some(({ said }) => said.includes(words));
  const isShown = (words: string) => fixture.platform.texts.some((text) => text.includes(words));

  /** Drops the message just before a write of the journal, or after that is queued or done; gives what the drop resulted in. */
  async function dropAt(when: (typeof WHEN)[number], write: Write, { row, go }: { row: InboxRow; go: () => void }) {
    const { inbox } = boot.journal;
    const drops: Promise<Dropped>[] = [];
    const drop = () => drops.push(dropNow(row, boot.dispatch, boot.ports));
    // The journal's own write; only the moment of the drop is the test's.
    const real = inbox[write].bind(inbox) as (...args: unknown[]) => Promise<unknown>;
    const spy = vi.spyOn(inbox, write).mockImplementationOnce(async (...args: unknown[]) => {
      if (when === "before") drop();
      const written = real(...args);
      if (when === "at once after") drop();
      const result = await written;
      if (when === "after the end of") drop();
      return result as never;
    });
    go();
    await until(() => drops.length > 0, `the ${write}`);
    spy.mockRestore();
    const how = await drops[0];
    const outcome = await boot.outcome(row);
    await until(() => !boot.dispatch.lanes.isBusy(boot.keyOf("1")));
    return { how, outcome };
  }

  /** A turn runs, and these messages wait for its end. */
  async function waiting(...texts: readonly string[]) {
    const gate = Promise.withResolvers<void>();
    fixture.model.answer(({ said }, number) =>
      number === 1 ? { text: "first answer", until: gate.promise } : { text: `re: ${said}` },
    );
    await boot.tell("first");
    await fixture.model.called(1);
    const rows: InboxRow[] = [];
    for (const text of texts) rows.push(await boot.tell(text));
    await until(() => rows.every((row) => boot.dispatch.stateOf(row) === "waiting"));
    return { row: rows.at(-1)!, go: () => gate.resolve() };
  }

  it.each(WHEN)("is not run, or its run is stopped: %s the claim", async (when) => {
    const { how, outcome } = await dropAt(when, "claimAhead", await waiting("tangerine"));
    expect(how).toBe(when === "before" ? "waiting" : "stopped");
    expect(outcome).toEqual(DROPPED);
    expect(isShown("tangerine")).toBe(false);
    if (when === "before") expect(isAsked("tangerine")).toBe(false);
  });

  it.each(WHEN)("is left out of a turn with others, or its words are part of it: %s the claim", async (when) => {
    const { how, outcome } = await dropAt(when, "claimAhead", await waiting("apple", "tangerine"));
    expect(how).toBe(when === "before" ? "waiting" : "continues");
    expect(outcome).toEqual(DROPPED);
    await until(() => isShown("apple"));
    expect(isAsked("tangerine")).toBe(when !== "before");
  });

  it.each(WHEN)("does not run as a command, or has run: %s its begin", async (when) => {
    const { how, outcome } = await dropAt(when, "begin", await waiting("/think high"));
    expect(how).toBe(when === "before" ? "waiting" : "stopped");
    expect(outcome).toEqual(DROPPED);
    const level = boot.sessions.peek(boot.keyOf("1"))?.thinkingLevel;
    expect(level).toBe(when === "before" ? undefined : "high");
  });

  it.each(WHEN)("keeps the answer that it got: %s the record of its outcome", async (when) => {
    fixture.model.answer(() => ({ text: "here you are" }));
    const [accepted] = await boot.journal.inbox.accept([nextMessage("tangerine")]);
    const { row } = accepted!;
    const go = () => void runNow(row, boot.dispatch, boot.ports);
    const { how, outcome } = await dropAt(when, "recordTurn", { row, go });
    expect(how).toBe("ended");
    expect(outcome).toEqual({ kind: "replied" });
    expect(fixture.platform.texts).toEqual(["here you are"]);
  });
});

it("a dropped message that has its answer already stays answered, and the refusal says so", async () => {
  const row = await boot.tell("hello");
  const gateway = {
    run: (one: InboxRow) => runNow(one, boot.dispatch, boot.ports),
    // It ends between the look at the journal and the drop.
    drop: async (one: InboxRow) => {
      await boot.outcome(one);
      return dropNow(one, boot.dispatch, boot.ports);
    },
    isUnderway: () => false,
    send: () => undefined,
    unsend: async () => undefined,
  };
  await expect(dropInbox({ journal: boot.journal, gateway }, row.id)).rejects.toMatchObject({
    code: "USAGE",
    message: expect.stringContaining("it was answered"),
  });
  expect(await boot.outcome(row)).toEqual({ kind: "replied" });
});
