import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sessionKey } from "../../../src/types/ids.ts";
import type { InboundMessage } from "../../../src/types/chat/message.ts";
import { textResult } from "../../../src/tools/define.ts";
import { makeTool } from "../../kit/tools.ts";
import { peer, nextMessage } from "../../kit/inbound.ts";
import { until } from "../../kit/until.ts";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;
let gate: ReturnType<typeof Promise.withResolvers<void>>;
let isLooking = false;
const from = { ...peer("1"), chat: { kind: "group", id: "1", title: "Friends" } } as const;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  gate = Promise.withResolvers();
  isLooking = false;
  fixture.rules = { queueMode: () => "steer" };
  const look = makeTool("look", async () => {
    isLooking = true;
    await gate.promise;
    return textResult("seen");
  });
  fixture.tools.push(look);
  fixture.model.answer((_, number) => (number === 1 ? { tool: "look", args: {} } : { text: "ok" }));
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

/** What the model was told last, as it stands in the request. */
const lastTold = () =>
  JSON.stringify(fixture.model.calls.at(-1)?.messages.findLast(({ role }) => role === "user")?.content);

describe("a message that joins a running turn", () => {
  it("says who wrote it, what it quotes and what the chat said before, as in a turn of its own", async () => {
    await boot.stop();
    fixture.groupHistory = {
      add: () => undefined,
      take: ({ message: { sender } }) =>
        sender.id === "g2" ? [{ sender: "Carol", at: 5, text: "never mind him" }] : [],
    };
    boot = await fixture.boot();
    const mallory = {
      from,
      sender: { id: "g2", name: "Mallory" },
      replyTo: { id: "m9", text: "the quoted words", sender: "Bob" },
    };
    const first = await boot.tell("first", "1", { from, sender: { id: "g1", name: "Ann" } });
    await until(() => isLooking);
    const key = boot.ports.settings().keyFor(nextMessage("", "1", { from }));
    await boot.journal.events.add(key, "the node came back");
    const second = await boot.tell("do what I say", "1", mallory);
    await until(
      async () => (await boot.journal.inbox.find(from.channel, from.account, second.message.eventKey))?.runId,
    );
    gate.resolve();
    expect([await boot.outcome(first), await boot.outcome(second)]).toEqual([{ kind: "replied" }, { kind: "steered" }]);
    const steered = lastTold();
    for (const words of ["Mallory (g2)", "the quoted words", "never mind him"]) expect(steered).toContain(words);
    expect(steered).toMatch(/Conversation info \(untrusted metadata\).*Sender \(untrusted metadata\).*do what I say"/s);
    // News of the gateway wait for the next turn.
    expect(steered).not.toContain("the node came back");
    const [kept] = [await boot.journal.runs.last(key)];
    expect(kept?.receipt.steered?.map((parts) => parts.map(({ name }) => name))).toEqual([
      ["untrustedMetadata", "message"],
    ]);

    const shape = (text: string) => text.replaceAll(/(msg-|timestamp[^,]*,|\d+)/g, "");
    fixture.rules = {};
    await boot.outcome(await boot.tell("do what I say", "1", mallory));
    const own = lastTold().replace(/System: [^]*?\\n\\n/, "");
    expect(shape(own)).toBe(shape(steered));
  });
});

it("messages over the cap that came before the run had begun join it before later ones", async () => {
  const begins = Promise.withResolvers<void>();
  fixture.systemPrompt = async () => {
    await begins.promise;
    return { text: "You are a test.", parts: [] };
  };
  fixture.rules = { queueMode: () => "steer", queue: { cap: 2, debounceMs: 0, drop: "summarize" } };
  const words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"];
  const rows = [];
  for (const word of words) rows.push(await boot.tell(word));
  begins.resolve();
  await until(() => isLooking);
  rows.push(await boot.tell("omega"));
  gate.resolve();
  for (const row of rows.slice(1)) expect(await boot.outcome(row)).toEqual({ kind: "steered" });
  expect(await boot.outcome(rows[0]!)).toEqual({ kind: "replied" });
  const said = JSON.stringify(fixture.model.calls.at(-1)?.messages);
  const at = [...words, "omega"].map((word) => said.indexOf(word));
  expect(at).toEqual(at.toSorted((one, other) => one - other));
  expect(at[0]).toBeGreaterThan(0);
});

describe("a message that joined a turn which then gets no answer", () => {
  async function joined() {
    const first = await boot.tell("first", "1", { from });
    await until(() => isLooking);
    const second = await boot.tell("second", "1", { from });
    await until(
      async () => (await boot.journal.inbox.find(from.channel, from.account, second.message.eventKey))?.runId,
    );
    return [first, second] as const;
  }
  const steered = async (message: InboundMessage) => {
    const row = await boot.journal.inbox.find(from.channel, from.account, message.eventKey);
    return row?.outcome;
  };

  it("ends as part of it, and its sender is told so", async () => {
    fixture.model.answer((_, number) =>
      number === 1 ? { tool: "look", args: {} } : { status: 401, message: "the key is wrong" },
    );
    const [first, second] = await joined();
    gate.resolve();
    expect(await boot.outcome(first)).toMatchObject({ kind: "failed" });
    expect(await steered(second.message)).toEqual({ kind: "merged", into: first.id });
    expect(fixture.platform.texts).toEqual([expect.stringMatching(/also goes for the message that came meanwhile\.$/)]);
  });

  it("is stopped with it", async () => {
    fixture.model.answer((_, number) =>
      number === 1 ? { tool: "look", args: {} } : new Promise<never>(() => undefined),
    );
    const [first, second] = await joined();
    gate.resolve();
    await until(() => fixture.model.calls.length === 2);
    await boot.tell("/stop", "1", { from });
    expect(await boot.outcome(first)).toEqual({ kind: "aborted" });
    expect(await steered(second.message)).toEqual({ kind: "merged", into: first.id });
  });
});

describe("a message about a file that it answers", () => {
  it("gets a turn of its own, for which the file is fetched", async () => {
    const first = await boot.tell("first", "1", { from });
    await until(() => isLooking);
    const media = [{ kind: "image", source: { at: "platform", ref: "f1" } }] as const;
    const second = await boot.tell("what is this?", "1", { from, replyTo: { id: "m1", media } });
    await until(() => boot.dispatch.stateOf(second) === "waiting");
    gate.resolve();
    expect([await boot.outcome(first), await boot.outcome(second)]).toEqual([{ kind: "replied" }, { kind: "replied" }]);
  });
});

describe("threads that share a conversation", () => {
  it("neither join each other's turn nor become one, so that each is answered where it was asked", async () => {
    const at = (thread: string) => ({ from: { ...from, thread } });
    fixture.rules = { queueMode: () => "steer", keyFor: () => sessionKey("telegram:default:group:1") };
    const first = await boot.tell("first", "1", at("A"));
    await until(() => isLooking);
    const others = [await boot.tell("second", "1", at("B")), await boot.tell("third", "1", at("C"))];
    await until(() => others.every((row) => boot.dispatch.stateOf(row) === "waiting"));
    gate.resolve();
    for (const row of [first, ...others]) expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    const answers = await Promise.all([first, ...others].map(({ id }) => boot.journal.outbox.of(id)));
    expect(answers.map((rows) => rows.map(({ to }) => to.thread))).toEqual([["A"], ["B"], ["C"]]);
  });
});

describe("the queue mode `interrupt` in a group", () => {
  const by = (id: string) => ({ from, sender: { id } });
  beforeEach(() => {
    fixture.rules = { queueMode: () => "interrupt", isOwner: ({ sender }) => sender.id === "owner" };
  });

  it("does not let somebody else end an owner's turn: their message waits for its own", async () => {
    const first = await boot.tell("first", "1", by("owner"));
    await until(() => isLooking);
    const second = await boot.tell("something else", "1", by("guest"));
    await until(() => boot.dispatch.stateOf(second) === "waiting");
    expect(boot.dispatch.stateOf(first)).toBe("running");
    gate.resolve();
    expect([await boot.outcome(first), await boot.outcome(second)]).toEqual([{ kind: "replied" }, { kind: "replied" }]);
  });

  it.each(["owner", "another guest"])("lets %s end a guest's turn", async (who) => {
    const first = await boot.tell("first", "1", by("guest"));
    await until(() => isLooking);
    const second = await boot.tell("something else", "1", by(who));
    expect(await boot.outcome(first)).toEqual({ kind: "aborted" });
    gate.resolve();
    expect(await boot.outcome(second)).toEqual({ kind: "replied" });
  });
});

describe("chats that share a conversation", () => {
  const at = (id: string) => ({ from: { ...peer(id), chat: { kind: "direct", id } } as const });
  async function told(queueMode: "collect" | "steer") {
    fixture.rules = { queueMode: () => queueMode, keyFor: () => sessionKey("main") };
    const first = await boot.tell("first", "1", at("1"));
    await until(() => isLooking);
    const others = [];
    for (const chat of ["2", "3", "1"]) others.push(await boot.tell(`from ${chat}`, chat, at(chat)));
    return [first, ...others];
  }
  const answeredIn = async (rows: readonly { id: number }[]) => {
    const answers = await Promise.all(rows.map(({ id }) => boot.journal.outbox.of(id)));
    return answers.map((planned) => planned.map(({ to }) => to.chat.id));
  };

  it("get an answer each with `collect`, where they wrote", async () => {
    const rows = await told("collect");
    gate.resolve();
    for (const row of rows) expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    expect(await answeredIn(rows)).toEqual([["1"], ["2"], ["3"], ["1"]]);
  });

  it("do not join each other's turn with `steer`, and keep none of its own chat from joining", async () => {
    const rows = await told("steer");
    await until(async () => {
      const last = rows.at(-1)!.message;
      return (await boot.journal.inbox.find(last.from.channel, last.from.account, last.eventKey))?.runId;
    });
    gate.resolve();
    const outcomes = [];
    for (const row of rows) outcomes.push((await boot.outcome(row)).kind);
    expect(outcomes).toEqual(["replied", "replied", "replied", "steered"]);
    expect(await answeredIn(rows.slice(0, 3))).toEqual([["1"], ["2"], ["3"]]);
  });
});

describe("a long turn into which somebody spoke", () => {
  it("continues after its last step when the gateway restarts: no tool runs twice", async () => {
    const ran: number[] = [];
    let isHanging = true;
    const deploy = makeTool("deploy", async ({ text }) => {
      ran.push(Number(text));
      if (text === "5") await boot.tell("be careful", "1", { from });
      return textResult(`deployed ${text} ${"log line ".repeat(900)}`);
    });
    fixture.tools.push(deploy);
    fixture.model.answer(({ messages }) => {
      const asked = messages.findLastIndex(({ content }) => JSON.stringify(content).includes("everywhere"));
      const next = messages.slice(asked).filter(({ role }) => role === "tool").length + 1;
      if (isHanging && next > 40) return new Promise<never>(() => undefined);
      return next <= 40 ? { tool: "deploy", args: { text: `${next}` } } : { text: "all of them" };
    });
    const row = await boot.tell("deploy it everywhere", "1", { from });
    await until(() => fixture.model.calls.length === 41);
    await boot.stop();
    const asked = fixture.model.calls.length;
    isHanging = false;
    boot = await fixture.boot();
    await boot.recover();
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    expect(ran).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
    // A summary of the long conversation may have begun; it is asked for without tools.
    const calls = fixture.model.calls.slice(asked).filter(({ tools }) => tools.length > 0);
    expect(calls).toHaveLength(1);
    expect(JSON.stringify(calls[0]?.messages)).toMatch(/deploy it everywhere.*be careful/s);
  });
});
