import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { renderText } from "../../../src/outbox/render.ts";
import { turnIdOf } from "../../../src/dispatch/turn-facts.ts";
import { runNow } from "../../../src/dispatch/clients/operator.ts";
import { recover } from "../../../src/dispatch/recover.ts";
import { openJournal } from "../../../src/store/journal/journal.ts";
import { systemClock } from "../../../src/types/clock.ts";
import { runId, sessionKey } from "../../../src/types/ids.ts";
import type { InboxRow } from "../../../src/types/journal.ts";
import type { InboundMessage } from "../../../src/types/chat/message.ts";
import { manualClock } from "../../kit/clock.ts";
import { LIMITS } from "../../fakes/chat-platform.ts";
import { peer, nextMessage } from "../../kit/inbound.ts";
import { untilIdle } from "../../kit/idle.ts";
import { until } from "../../kit/until.ts";
import { type Boot, heard, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";
import { answered, called, given } from "../../kit/transcript-messages.ts";

let fixture: DispatchFixture;
/** The boot that is to crash: the test uses its stores, but not its dispatch. */
let before: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  before = await fixture.boot();
});
afterEach(() => fixture.close());

const accept = async (said: InboundMessage): Promise<InboxRow> => {
  const [accepted] = await before.journal.inbox.accept([said]);
  return accepted!.row;
};
const claim = async (rows: readonly InboxRow[], host = rows[0]!) =>
  before.journal.inbox.claim(
    rows.map(({ id }) => id),
    { sessionKey: before.keyOf("1"), runId: runId(turnIdOf(host)), turnId: turnIdOf(host) },
  );
/** On its way into the run of the host. */
const claimSteered = async (row: InboxRow, host: InboxRow) =>
  before.journal.inbox.claim([row.id], {
    sessionKey: before.keyOf("1"),
    runId: runId(turnIdOf(host)),
    turnId: turnIdOf(row),
  });

const writeUser = (text: string, row: InboxRow) =>
  before.use("1", (session) =>
    session.append(
      { type: "message", message: { role: "user", content: [{ type: "text", text }], timestamp: 1 } },
      { id: turnIdOf(row), durable: true },
    ),
  );
const writeAnswer = (text: string) =>
  before.use("1", (session) => session.append({ type: "message", message: answered(text) }, { durable: true }));
const plan = async (text: string, row: InboxRow) =>
  (
    await before.journal.outbox.plan({
      replyKey: `in:${row.id}:reply`,
      inboxId: row.id,
      to: row.message.from,
      parts: await renderText(text, LIMITS),
    })
  )[0]!;

/** The first boot dies, the next one takes up what is there. */
async function crash(): Promise<Boot> {
  await before.stop();
  before = await fixture.boot();
  await before.recover();
  return before;
}

const allDone = async (boot: Boot) => {
  await until(async () => {
    const stats = await boot.journal.stats();
    return stats.openInbox === 0 && stats.openOutbox === 0;
  }, "every row's outcome");
  await untilIdle();
};

describe("after a crash there is exactly one answer", () => {
  const STEPS: readonly (readonly [string, (row: InboxRow) => Promise<unknown>, string, number])[] = [
    ["accepted", async () => undefined, "echo: hello", 1],
    ["claimed", (row) => claim([row]), "echo: hello", 1],
    ["its turn written", async (row) => [await claim([row]), await writeUser("hello", row)], "echo: hello", 1],
    [
      "its answer written",
      async (row) => [await claim([row]), await writeUser("hello", row), await writeAnswer("old answer")],
      "old answer",
      0,
    ],
    [
      "its reply planned",
      async (row) => [
        await claim([row]),
        await writeUser("hello", row),
        await writeAnswer("old answer"),
        await plan("old answer", row),
      ],
      "old answer",
      0,
    ],
    [
      "its reply under way",
      async (row) => {
        await claim([row]);
        await writeUser("hello", row);
        await writeAnswer("old answer");
        await before.journal.outbox.mark((await plan("old answer", row)).id, { state: "sending" });
      },
      "(possible repeat) old answer",
      0,
    ],
  ];

  it.each(STEPS)("when it was killed with the message %s", async (_, build, text, calls) => {
    const row = await accept(nextMessage("hello"));
    await build(row);
    const boot = await crash();
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    await allDone(boot);
    expect(fixture.platform.texts).toEqual([text]);
    expect(fixture.model.calls).toHaveLength(calls);
  });

  it("when it was killed with the reply sent and no outcome written", async () => {
    const row = await accept(nextMessage("hello"));
    await claim([row]);
    await writeUser("hello", row);
    await writeAnswer("old answer");
    await fixture.platform.send(
      peer("1"),
      { kind: "text", body: "old answer", format: "plain", plain: "" },
      { idempotencyKey: "x" },
    );
    await before.journal.outbox.mark((await plan("old answer", row)).id, { state: "sent", messageId: "m1" });
    await allDone(await crash());
    expect(fixture.platform.texts).toEqual(["old answer"]);
  });

  it.each(["partial", "block"] as const)("in the place of the preview that was there (%s)", async (streaming) => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming }) };
    const row = await accept(nextMessage("hello"));
    await claim([row]);
    await writeUser("hello", row);
    await fixture.platform.send(
      peer("1"),
      { kind: "text", body: "half an ans", format: "plain", plain: "" },
      { idempotencyKey: "p" },
    );
    await before.journal.outbox.notePreview(row.id, row.message.from, "m1");
    await allDone(await crash());
    expect(fixture.platform.messages).toMatchObject([{ text: "echo: hello", edits: ["half an ans"] }]);
  });

  it("in blocks, labelled when the chat may show a preview that nobody can edit", async () => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming: "block" }) };
    const row = await accept(nextMessage("hello"));
    await claim([row]);
    await writeUser("hello", row);
    await before.journal.outbox.notePreview(row.id, row.message.from, "");
    await allDone(await crash());
    expect(fixture.platform.texts).toEqual(["(possible repeat) echo: hello"]);
  });

  it("in blocks of which some were sent", async () => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming: "block" }) };
    const parts = ["alpha ", "beta ", "gamma "].map((word) => word.repeat(12).trim());
    const row = await accept(nextMessage("hello"));
    await claim([row]);
    await writeUser("hello", row);
    await writeAnswer(parts.join("\n\n"));
    const first = await before.journal.outbox.plan({
      replyKey: `in:${row.id}:block:0`,
      inboxId: row.id,
      to: row.message.from,
      parts: await renderText(parts[0]!, LIMITS),
    });
    await before.journal.outbox.mark(first[0]!.id, { state: "sent", messageId: "m0" });
    const boot = await crash();
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    expect(fixture.platform.texts).toEqual(parts.slice(1));
  });

  it("in blocks, continuing after those that were already in the chat", async () => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming: "block", responsePrefix: "Bot:" }) };
    const row = await accept(nextMessage("hello"));
    await claim([row]);
    await writeUser("hello", row);
    for (const [at, text] of ["Bot: what was said", "before it broke off"].entries())
      await before.journal.outbox.plan({
        replyKey: `in:${row.id}:block:${at}`,
        inboxId: row.id,
        to: row.message.from,
        parts: await renderText(text, LIMITS),
      });
    fixture.model.answer(() => ({ text: "and the rest of it" }));
    const boot = await crash();
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    expect(fixture.platform.texts).toEqual(["Bot: what was said", "before it broke off", "and the rest of it"]);
    const shown = JSON.stringify(fixture.model.calls[0]!.messages);
    expect(shown).toContain("what was said\\n\\nbefore it broke off");
    expect(shown).toContain("Go on exactly");
    expect(fixture.model.calls).toHaveLength(1);
  });

  it("in blocks, where each part of a cut table repeats its header", async () => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming: "block" }) };
    const row = await accept(nextMessage("hello"));
    await claim([row]);
    await writeUser("hello", row);
    const head = "| name | age |\n|---|---|";
    const rows = ["| ann | 1 |\n| bob | 2 |", "| cid | 3 |"];
    const said = [{ type: "text" as const, text: [head, ...rows].join("\n") }, called("c1")];
    await before.use("1", async (session) => {
      await session.append({ type: "message", message: answered(said, { stopReason: "toolUse" }) });
      await session.append({ type: "message", message: given("c1", "seen") }, { durable: true });
    });
    for (const [at, part] of rows.entries())
      await before.journal.outbox.plan({
        replyKey: `in:${row.id}:block:${at}`,
        inboxId: row.id,
        to: row.message.from,
        parts: await renderText(`${head}\n${part}`, LIMITS),
      });
    const chunk = { minChars: 10, maxChars: 55, breakPreference: "paragraph" } as const;
    fixture.rules = { ...fixture.rules, agent: { streaming: { blocks: true, breakAt: "text_end", chunk } } };
    fixture.model.answer(() => ({ text: "and that is all" }));
    await (await crash()).outcome(row);
    expect(fixture.platform.texts).toHaveLength(3);
    expect(fixture.platform.texts[2]).toBe("and that is all");
    expect(JSON.stringify(fixture.model.calls[0]!.messages)).not.toContain("Go on exactly");
  });

  it("in blocks that came out otherwise, with a label", async () => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming: "block" }) };
    const row = await accept(nextMessage("hello"));
    await claim([row]);
    await writeUser("hello", row);
    await writeAnswer("an answer that says it otherwise");
    const parts = await renderText("what was said before it broke off", LIMITS);
    await before.journal.outbox.plan({
      replyKey: `in:${row.id}:block:0`,
      inboxId: row.id,
      to: row.message.from,
      parts,
    });
    const boot = await crash();
    await boot.outcome(row);
    expect(fixture.platform.texts).toEqual([
      "what was said before it broke off",
      "(possible repeat) an answer that says it otherwise",
    ]);
  });

  it("for messages that were one turn", async () => {
    const rows = [await accept(nextMessage("one")), await accept(nextMessage("two"))];
    await claim(rows);
    const boot = await crash();
    expect(await boot.outcome(rows[0]!)).toEqual({ kind: "replied" });
    expect(await boot.outcome(rows[1]!)).toEqual({ kind: "merged", into: rows[0]!.id });
    expect(fixture.platform.texts).toHaveLength(1);
    expect(heard(fixture.model.calls[0]!.said)).toContain("---\nQueued #1\none\n---\nQueued #2\ntwo");
  });

  it.each(["interrupt", "steer", "collect"] as const)(
    "for each of several turns, whatever the mode is (%s)",
    async (mode) => {
      fixture.rules = { queueMode: () => mode };
      const rows = [await accept(nextMessage("one")), await accept(nextMessage("two"))];
      for (const row of rows) await claim([row]);
      const boot = await crash();
      for (const row of rows) expect(await boot.outcome(row)).toEqual({ kind: "replied" });
      expect(fixture.platform.texts).toEqual(["echo: one", "echo: two"]);
    },
  );

  it("to the words of /new, not to the command", async () => {
    const row = await accept(nextMessage("/new what is up?"));
    await claim([row]);
    await (await crash()).outcome(row);
    expect(fixture.platform.texts).toEqual(["echo: what is up?"]);
  });

  it("across several kills, until the third start says that it gives up", async () => {
    const row = await accept(nextMessage("hello"));
    fixture.model.answer(() => "hang");
    for (let start = 1; start <= 3; start += 1) {
      await crash();
      await fixture.model.called(start);
    }
    const last = await crash();
    expect(await last.outcome(row)).toMatchObject({ kind: "failed" });
    expect(fixture.model.calls).toHaveLength(3);
    expect(fixture.platform.texts).toEqual([expect.stringContaining("several times")]);
  });
});

describe("a steered message after a crash", () => {
  /** A second message was on its way into the run of the first, whose turn is written. */
  async function steer(): Promise<{ host: InboxRow; steered: InboxRow }> {
    const host = await accept(nextMessage("first"));
    const steered = await accept(nextMessage("and this"));
    await claim([host]);
    await claimSteered(steered, host);
    await writeUser("first", host);
    return { host, steered };
  }

  it("is not answered again when it was in the running turn", async () => {
    const { host, steered } = await steer();
    await writeUser("and this", steered);
    const boot = await crash();
    expect(await boot.outcome(steered)).toEqual({ kind: "steered" });
    expect(await boot.outcome(host)).toEqual({ kind: "replied" });
    await allDone(boot);
    expect(fixture.model.calls).toHaveLength(1);
    expect(heard(fixture.model.calls[0]!.said)).toContain("and this");
    expect(fixture.platform.messages).toHaveLength(1);
  });

  it("is not answered again when the turn was answered and delivered", async () => {
    const { host, steered } = await steer();
    await writeUser("and this", steered);
    await writeAnswer("to both");
    await before.journal.inbox.finish([host.id], { kind: "replied" });
    const boot = await crash();
    expect(await boot.outcome(steered)).toEqual({ kind: "steered" });
    await allDone(boot);
    expect(fixture.platform.messages).toEqual([]);
  });

  it("gets a turn of its own when it did not reach the running one", async () => {
    const { host, steered } = await steer();
    const boot = await crash();
    expect(await boot.outcome(host)).toEqual({ kind: "replied" });
    expect(await boot.outcome(steered)).toEqual({ kind: "replied" });
    expect(fixture.platform.texts).toEqual(["echo: first", "echo: and this"]);
  });
});

it("messages that did not reach a running turn before a crash wait as their mode says, in one turn", async () => {
  const [host, ...others] = [
    await accept(nextMessage("first")),
    await accept(nextMessage("second")),
    await accept(nextMessage("third")),
  ];
  await claim([host!]);
  for (const row of others) await claimSteered(row, host!);
  const boot = await crash();
  expect(await boot.outcome(others[0]!)).toEqual({ kind: "replied" });
  expect(await boot.outcome(others[1]!)).toEqual({ kind: "merged", into: others[0]!.id });
  expect(fixture.platform.texts).toHaveLength(2);
});

it("messages that did not reach a running turn before a crash join it when it continues, in their order", async () => {
  fixture.rules = { queueMode: () => "steer" };
  const held = Promise.withResolvers<void>();
  fixture.model.answer(async (_call, number) => {
    if (number === 1) await held.promise;
    return { text: `answer ${number}` };
  });
  const [host, ...others] = [
    await accept(nextMessage("first")),
    await accept(nextMessage("second")),
    await accept(nextMessage("third")),
  ];
  await claim([host!]);
  await writeUser("first", host!);
  for (const row of others) await claimSteered(row, host!);
  const boot = await crash();
  await fixture.model.called(1);
  const later = await boot.tell("fourth");
  held.resolve();
  for (const row of [...others, later]) expect(await boot.outcome(row)).toEqual({ kind: "steered" });
  const lastTold = () => JSON.stringify(fixture.model.calls.at(-1)?.messages);
  await until(() => lastTold().includes("fourth"), "the last message at the model");
  const said = lastTold();
  const at = ["first", "second", "third", "fourth"].map((word) => said.indexOf(word));
  expect(at).toEqual(at.toSorted((one, other) => one - other));
});

describe("a client's message after a crash", () => {
  it("is run under its own key again", async () => {
    const key = before.keyOf("1");
    const said = nextMessage("hello", "1", {
      id: "k1",
      eventKey: "k:k1",
      options: { operator: true, sessionKey: key },
    });
    const row = await accept(said);
    const boot = await crash();
    expect((await boot.chat.stream(runId("k1"))?.done)?.kind).toBe("replied");
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    expect(fixture.platform.messages).toEqual([]);
  });
});

describe("what waited too long over an outage", () => {
  const HOUR = 3_600_000;
  /** Taken that many hours ago. */
  async function acceptEarlier(hours: number, ...said: InboundMessage[]): Promise<InboxRow[]> {
    const clock = { ...systemClock, now: () => Date.now() - hours * HOUR };
    const journal = await openJournal({ path: join(fixture.dir, "journal.sqlite"), bootId: "earlier", clock });
    const accepted = await journal.inbox.accept(said);
    await journal.close();
    return accepted.map(({ row }) => row);
  }
  const outcomeOf = async (boot: Boot, { message: said }: InboxRow) =>
    (await boot.journal.inbox.find(said.from.channel, said.from.account, said.eventKey))?.outcome;

  it("is reported to its chat in one line, and ended", async () => {
    const rows = await acceptEarlier(
      7,
      nextMessage("one", "1", { sentAt: Date.now() - 8 * HOUR }),
      nextMessage("two"),
      nextMessage("other", "2"),
    );
    await claim([rows[0]!]);
    const boot = await crash();
    await allDone(boot);
    for (const row of rows)
      expect(await outcomeOf(boot, row)).toMatchObject({
        kind: "dropped",
        why: expect.stringMatching(/^stale: waited for [78] h/),
      });
    expect(fixture.model.calls).toHaveLength(0);
    expect(fixture.platform.messages).toHaveLength(2);
    expect(fixture.platform.texts[0]).toMatch(/away.*2 messages from .* were not answered/);
    expect(fixture.platform.texts[1]).toMatch(/away.*One message of .* was not answered/);
    expect(fixture.log.lines).toContain("warn messages too old to be answered");
    expect(boot.journal.counts().staleLastDay).toBe(3);
  });

  it("is answered when it is younger", async () => {
    const [row] = await acceptEarlier(5, nextMessage("hello"));
    const boot = await crash();
    expect(await boot.outcome(row!)).toEqual({ kind: "replied" });
  });

  it("gets the answer that was planned already", async () => {
    const [row] = await acceptEarlier(7, nextMessage("hello"));
    if (!row) throw new Error("not taken");
    await claim([row]);
    await writeUser("hello", row);
    await writeAnswer("old answer");
    const planned = await plan("old answer", row);
    await before.journal.outbox.mark(planned.id, { state: "sent", messageId: "m1" });
    const boot = await crash();
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    expect(fixture.platform.texts).toEqual([]);
  });

  it("says nothing to strangers", async () => {
    const [row] = await acceptEarlier(7, nextMessage("hello"));
    fixture.gate = async () => ({ kind: "pair" });
    const boot = await crash();
    await allDone(boot);
    expect(await outcomeOf(boot, row!)).toMatchObject({ kind: "dropped" });
    expect(fixture.platform.texts).toEqual([]);
  });

  it("is the oldest, where too many wait", async () => {
    const rows = [
      await accept(nextMessage("one")),
      await accept(nextMessage("two", "2")),
      await accept(nextMessage("three", "3")),
    ];
    await before.stop();
    before = await fixture.boot();
    await recover(before.dispatch, before.ports, undefined, { maxAgeMs: HOUR, maxRows: 2 });
    await allDone(before);
    expect(await outcomeOf(before, rows[0]!)).toMatchObject({ kind: "dropped", why: expect.stringMatching(/^stale/) });
    expect(fixture.platform.texts.toSorted()).toEqual([
      "echo: three",
      "echo: two",
      expect.stringContaining("One message of"),
    ]);
  });

  it("is reported once when the gateway ended between the line and the outcome", async () => {
    const rows = await acceptEarlier(7, nextMessage("one"), nextMessage("two"));
    const parts = await renderText("already reported", LIMITS);
    await before.journal.outbox.plan({ replyKey: "in:1:stale", inboxId: 1, to: peer("1"), parts });
    const boot = await crash();
    await allDone(boot);
    for (const row of rows) expect(await outcomeOf(boot, row)).toMatchObject({ kind: "dropped" });
    expect(fixture.platform.texts).toEqual(["already reported"]);
    expect(fixture.model.calls).toHaveLength(0);
  });

  it("is kept in the transcript for who wrote on the page", async () => {
    const key = before.keyOf("1");
    const options = { operator: true, sessionKey: key };
    const [row] = await acceptEarlier(7, nextMessage("hello", "1", { id: "k1", options }));
    const boot = await crash();
    await allDone(boot);
    expect(await outcomeOf(boot, row!)).toMatchObject({ kind: "dropped" });
    expect(fixture.platform.texts).toEqual([]);
    await boot.dispatch.replies.notes.settle();
    const entries = await boot.use("1", (session) => session.newest(9));
    expect(JSON.stringify(entries)).toContain("One message of");
  });

  it("is reported once, also when the gateway is killed again", async () => {
    const [row] = await acceptEarlier(7, nextMessage("hello"));
    await allDone(await crash());
    await allDone(await crash());
    expect(fixture.platform.texts).toHaveLength(1);
    expect(await outcomeOf(before, row!)).toMatchObject({ kind: "dropped" });
  });
});

describe("what the platform held too long", () => {
  const HOUR = 3_600_000;
  const gathered = () => until(() => time.waits.includes(3000), "the moment that gathers");
  let time: ReturnType<typeof manualClock>;
  beforeEach(async () => {
    time = manualClock(Date.now());
    fixture.rules = { staleAfterMs: 6 * HOUR };
    before = await fixture.boot({ clock: time });
  });
  const written = (hours: number) => ({ sentAt: time.now() - hours * HOUR });

  it("is reported in one line when the conversation ends there, and the other messages are answered", async () => {
    const rows = [await before.tell("one", "1", written(9)), await before.tell("two", "1", written(8))];
    const fresh = await before.tell("three", "2", written(5));
    expect(await before.outcome(fresh)).toEqual({ kind: "replied" });
    await gathered();
    expect(before.dispatch.stateOf(rows[0]!)).toBe("waiting");
    time.pass(3000);
    for (const row of rows)
      expect(await before.outcome(row)).toEqual({ kind: "dropped", why: "stale: waited for 9 h over an outage" });
    expect(fixture.platform.texts).toEqual(["echo: three", expect.stringMatching(/away.*2 messages from/)]);
  });

  it("is answered when an operator has it run again", async () => {
    const row = await before.tell("one", "1", written(9));
    await gathered();
    time.pass(3000);
    await before.outcome(row);
    const again = await before.journal.messages.runAgain(row.id);
    const copy = again?.kind === "copied" ? again.row : row;
    await runNow(copy, before.dispatch, before.ports);
    expect(await before.outcome(copy)).toEqual({ kind: "replied" });
    expect(fixture.platform.texts.at(-1)).toBe("echo: one");
  });

  it("waits for the next start when the gateway stops meanwhile", async () => {
    const row = await before.tell("one", "1", written(9));
    await gathered();
    await before.stop();
    before = await fixture.boot();
    await before.recover();
    expect(await before.outcome(row)).toMatchObject({ kind: "dropped" });
    expect(fixture.platform.texts).toHaveLength(1);
  });
});

describe("an agent that is gone", () => {
  it("is reported to the sender, and the message ends as failed", async () => {
    const row = await accept(nextMessage("hello"));
    const gone = sessionKey("agent:ops:telegram:default:1");
    await before.journal.inbox.claim([row.id], { sessionKey: gone, runId: runId("r"), turnId: turnIdOf(row) });
    const boot = await crash();
    expect(await boot.outcome(row)).toEqual({ kind: "failed", why: 'agent_gone: the agent "ops" no longer exists' });
    expect(fixture.platform.texts).toEqual([expect.stringContaining('The agent "ops"')]);
    expect(fixture.model.calls).toHaveLength(0);
  });

  it("that lost its binding does not answer what waited meanwhile", async () => {
    fixture.rules = { queueMode: () => "followup" };
    fixture.model.answer((call) => (call.said.includes("first") ? "hang" : { text: "from the other" }));
    await before.tell("first");
    await fixture.model.called(1);
    const waiting = await before.tell("second");
    await until(() => before.dispatch.stateOf(waiting) === "waiting");
    const moved = sessionKey("telegram:default:moved");
    fixture.rules = { ...fixture.rules, keyFor: () => moved };
    const { sessionKey: key, runId: first } = before.dispatch.lanes.runs()[0]!.stream.facts;
    await before.dispatch.stop(key, { only: first });
    expect(await before.outcome(waiting)).toEqual({ kind: "replied" });
    expect((await before.journal.inbox.open()).length).toBe(0);
    const row = await before.journal.messages.inboxRow(waiting.id);
    expect(row?.sessionKey).toBe(moved);
  });
});
