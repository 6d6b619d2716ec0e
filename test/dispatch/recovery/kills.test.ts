import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { dropNow, runNow } from "../../../src/dispatch/clients/operator.ts";
import { recover } from "../../../src/dispatch/recover.ts";
import { turnIdOf } from "../../../src/dispatch/turn-facts.ts";
import { renderText } from "../../../src/outbox/render.ts";
import { runId } from "../../../src/types/ids.ts";
import type { InboxRow } from "../../../src/types/journal.ts";
import { textResult } from "../../../src/tools/define.ts";
import { makeTool } from "../../kit/tools.ts";
import { LIMITS } from "../../fakes/chat-platform.ts";
import { untilIdle } from "../../kit/idle.ts";
import { until } from "../../kit/until.ts";
import { nextMessage } from "../../kit/inbound.ts";
import { diskOfDatabases } from "../../kit/store/full-disk.ts";
import { shortenedClock } from "../../kit/clock.ts";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const shown = () => fixture.platform.messages.map(({ text }) => text);

async function accept(text: string): Promise<InboxRow> {
  const [accepted] = await boot.journal.inbox.accept([nextMessage(text)]);
  if (!accepted) throw new Error("not accepted");
  return accepted.row;
}

/** As a boot leaves rows that it had made one turn of. */
async function claim(...rows: readonly InboxRow[]): Promise<void> {
  const [first] = rows;
  const id = first && turnIdOf(first);
  if (id === undefined) return;
  await boot.journal.inbox.claim(
    rows.map((row) => row.id),
    { sessionKey: boot.keyOf("1"), runId: runId(id), turnId: id },
  );
}

function claimOf(first: InboxRow) {
  const id = turnIdOf(first);
  return { sessionKey: boot.keyOf("1"), runId: runId(id), turnId: id, state: "claimed" as const };
}

async function restart(): Promise<void> {
  await boot.stop();
  boot = await fixture.boot();
  await boot.recover();
}

const outcomeNow = async ({ id }: InboxRow) => (await boot.journal.messages.inboxRow(id))?.outcome;

describe("killed between two steps", () => {
  it("a stranger gets the code that was made for their message", async () => {
    fixture.gate = async () => ({ kind: "pair" });
    const row = await accept("let me in");
    const { from, sender } = row.message;
    await boot.journal.pairing.request({ channel: from.channel, account: from.account, senderId: sender.id });
    await restart();
    await boot.outcome(row);
    expect(shown()).toEqual([expect.stringMatching(/Your pairing code is \w{8}/)]);
    // Another message is none for which the code was made.
    await boot.ask("hello?");
    expect(shown()).toHaveLength(1);
  });

  it("a message whose chat got the notice that there is no answer gets none", async () => {
    const row = await accept("hello");
    await claim(row);
    const parts = await renderText("⚠️ The model cannot be reached right now.", LIMITS);
    await boot.journal.outbox.plan({ replyKey: `in:${row.id}:notice`, inboxId: row.id, to: row.message.from, parts });
    await restart();
    expect(await boot.outcome(row)).toEqual({ kind: "failed", why: "failed: its chat was informed before a restart" });
    expect(shown()).toEqual(["⚠️ The model cannot be reached right now."]);
    expect(fixture.model.calls).toHaveLength(0);
  });

  it("the notice of a failed run has a name of its own", async () => {
    fixture.model.answer(() => ({ status: 401, message: "bad key" }));
    const row = await boot.tell("hello");
    expect(await boot.outcome(row)).toMatchObject({ kind: "failed" });
    expect((await boot.journal.outbox.of(row.id)).map(({ replyKey }) => replyKey)).toEqual([`in:${row.id}:notice`]);
  });

  it("a reset trigger is cut off the text at a replay too", async () => {
    fixture.rules = { resetTriggers: ["fresh start"] };
    const row = await accept("fresh start what is up?");
    await claim(row);
    await restart();
    await boot.outcome(row);
    expect(shown()).toEqual(["echo: what is up?"]);
  });

  it("a text and the notice after it are one reply: the model is not asked for another", async () => {
    fixture.model.answer((_, number) =>
      number === 1 ? { text: "Let me look.", tool: "look" } : { status: 401, message: "no" },
    );
    fixture.tools.push(makeTool("look", async () => textResult("seen")));
    const row = await boot.tell("hello");
    expect(await boot.outcome(row)).toMatchObject({ kind: "failed" });
    const rows = await boot.journal.outbox.of(row.id);
    expect(new Set(rows.map(({ replyKey }) => replyKey))).toEqual(new Set([`in:${row.id}:notice`]));
    expect(shown()).toEqual(["Let me look.", expect.stringContaining("⚠️")]);
  });

  it("a message that was refused with a word gets no answer", async () => {
    const row = await accept("hello");
    await claim(row);
    const parts = await renderText("⚠️ Something went wrong", LIMITS);
    await boot.journal.outbox.plan({ replyKey: `in:${row.id}:error`, inboxId: row.id, to: row.message.from, parts });
    await restart();
    expect(await boot.outcome(row)).toMatchObject({ kind: "failed" });
    expect(shown()).toEqual(["⚠️ Something went wrong"]);
  });

  it("rows whose turn's first message was dropped are not answered once more", async () => {
    const [one, two] = [await accept("one"), await accept("two")];
    await claim(one, two);
    const parts = await renderText("answer to both", LIMITS);
    await boot.journal.outbox.plan({ replyKey: `in:${one.id}:reply`, inboxId: one.id, to: one.message.from, parts });
    await boot.journal.inbox.finish([one.id], { kind: "dropped", why: "by hand" });
    await boot.stop();
    boot = await fixture.boot();
    await boot.outbox.recover();
    await recover(
      boot.dispatch,
      boot.ports,
      [one, two].map((row) => ({ ...row, ...claimOf(one), attempts: 1 })),
    );
    expect(await boot.outcome(two)).toEqual({ kind: "merged", into: one.id });
    expect(shown()).toEqual(["answer to both"]);
  });

  it("rows that end together: the first that has no end gets the outcome", async () => {
    const rows = [await accept("one"), await accept("two"), await accept("three")];
    await boot.journal.inbox.finish([rows[0]!.id], { kind: "dropped", why: "by hand" });
    await boot.dispatch.replies.refuse(rows, undefined, "⚠️ gave up");
    const ends = await Promise.all(rows.map(outcomeNow));
    expect(ends).toMatchObject([{ kind: "dropped" }, { kind: "failed" }, { kind: "merged", into: rows[1]!.id }]);
  });
});

describe("a message that has ended", () => {
  it("is not resumed by a process that had read it before", async () => {
    const row = await accept("hello");
    await boot.stop();
    boot = await fixture.boot();
    const left = await boot.journal.inbox.open();
    expect(await dropNow(row, boot.dispatch, boot.ports)).toBe("idle");
    await recover(boot.dispatch, boot.ports, left);
    expect(await boot.ask("and this?")).toEqual({ kind: "replied" });
    expect(shown()).toEqual(["echo: and this?"]);
    expect(await outcomeNow(row)).toMatchObject({ kind: "dropped" });
  });

  it("is left out of the turn that it was to be part of", async () => {
    const gate = Promise.withResolvers<void>();
    fixture.model.answer(async ({ said }, number) => {
      if (number === 1) await gate.promise;
      return { text: `heard ${said.match(/\b(one|two|three)\b/g)?.join(" ")}` };
    });
    const first = await boot.tell("one");
    await until(() => fixture.model.calls.length === 1);
    const [two, three] = [await boot.tell("two"), await boot.tell("three")];
    await until(() => boot.dispatch.stateOf(three) === "waiting");
    expect(await dropNow(two, boot.dispatch, boot.ports)).toBe("waiting");
    gate.resolve();
    await Promise.all([boot.outcome(first), boot.outcome(three)]);
    expect(shown()).toEqual(["heard one", "heard three"]);
    expect(await outcomeNow(two)).toMatchObject({ kind: "dropped" });
  });
});

describe("dropping a message", () => {
  /** Two messages in one running turn. */
  async function merged() {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    fixture.model.answer(async (_, number) => {
      await gates[number - 1]?.promise;
      return { text: `answer ${number}` };
    });
    const rows = [await boot.tell("one")];
    await until(() => fixture.model.calls.length === 1);
    rows.push(await boot.tell("two"), await boot.tell("three"));
    gates[0]?.resolve();
    await until(() => fixture.model.calls.length === 2);
    return { rows, go: () => gates[1]?.resolve() };
  }

  it.each([1, 2])("leaves the others of its turn their answer (row %i)", async (which) => {
    const { rows, go } = await merged();
    const [dropped, other] = [rows[which], rows[3 - which]];
    if (!dropped || !other) throw new Error("two rows are merged");
    expect(await dropNow(dropped, boot.dispatch, boot.ports)).toBe("continues");
    go();
    await boot.outcome(other);
    await until(() => shown().length === 2, "both answers");
    expect(shown()).toEqual(["answer 1", "answer 2"]);
    expect(await outcomeNow(dropped)).toMatchObject({ kind: "dropped" });
  });

  it("on its way into a running turn it counts as running, for a retry too", async () => {
    fixture.rules = { queueMode: () => "steer" };
    const gate = Promise.withResolvers<void>();
    fixture.model.answer(async (_, number) => {
      if (number === 1) await gate.promise;
      return { text: `answer ${number}` };
    });
    await boot.tell("one");
    await until(() => fixture.model.calls.length === 1);
    const row = await boot.tell("two");
    await until(() => boot.dispatch.stateOf(row) === "running");
    expect(await runNow(row, boot.dispatch, boot.ports)).toBe("running");
    expect(await dropNow(row, boot.dispatch, boot.ports)).toBe("continues");
    gate.resolve();
    await until(() => !boot.dispatch.lanes.isBusy(boot.keyOf("1")));
  });

  it("ends a command that waits", async () => {
    const gate = Promise.withResolvers<void>();
    fixture.model.answer(async () => {
      await gate.promise;
      return { text: "answer" };
    });
    const first = await boot.tell("one");
    await until(() => fixture.model.calls.length === 1);
    const row = await boot.tell("/think high");
    await until(() => boot.dispatch.stateOf(row) === "waiting");
    expect(await dropNow(row, boot.dispatch, boot.ports)).toBe("waiting");
    gate.resolve();
    await boot.outcome(first);
    await untilIdle();
    expect(boot.sessions.peek(boot.keyOf("1"))?.thinkingLevel).toBeUndefined();
  });
});

describe("a disk that is full when a turn ends", () => {
  it("delays the receipt, with the outcome, until the disk has space, without a restart", async () => {
    await boot.stop();
    boot = await fixture.boot({ clock: shortenedClock() });
    const disk = diskOfDatabases();
    const taken = Promise.withResolvers<void>();
    fixture.platform.gate = taken.promise;
    const isWaiting = () => fixture.log.lines.join().includes("receipt and outcome waits for the disk");
    disk.isFull = () => fixture.platform.calls.length > 0 && !isWaiting();
    const row = await boot.tell("hello");
    await until(isWaiting);
    expect(await boot.journal.runs.last(boot.keyOf("1"))).toBeUndefined();
    taken.resolve();
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    expect(await boot.journal.runs.last(boot.keyOf("1"))).toMatchObject({ result: "replied" });
    expect(shown()).toEqual(["echo: hello"]);
    expect(fixture.model.calls).toHaveLength(1);
  });
});

describe("a disk that is full when a message joins a turn", () => {
  it("does not make a turn of its own out of it", async () => {
    fixture.rules = { queueMode: () => "steer" };
    const gate = Promise.withResolvers<void>();
    fixture.model.answer(async (_, number) => {
      if (number === 1) await gate.promise;
      return { text: `answer ${number}` };
    });
    await boot.stop();
    boot = await fixture.boot({ clock: shortenedClock() });
    const disk = diskOfDatabases();
    const rows = [await boot.tell("one")];
    await until(() => fixture.model.calls.length === 1);
    rows.push(await boot.tell("two"));
    await until(async () => (await boot.journal.messages.inboxRow(rows[1]!.id))?.state === "claimed");
    disk.isFull = () => true;
    gate.resolve();
    await until(() => fixture.log.lines.join().includes("outcome waits for the disk"));
    disk.isFull = () => false;
    for (const row of rows) await boot.outcome(row);
    expect(await outcomeNow(rows[1]!)).toEqual({ kind: "steered" });
    expect(fixture.model.calls).toHaveLength(2);
  });
});
