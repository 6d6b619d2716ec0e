import { describe, expect, test } from "vitest";
import type { Answers } from "../../src/api/answers.ts";
import { initialState, reduce } from "../../extensions/webchat/page/model/state.ts";
import type { PageState, TurnVersions } from "../../extensions/webchat/page/model/state.ts";
import { NOTHING_READ, withNewest, withOlder } from "../../extensions/webchat/page/model/transcript.ts";
import type { ReadTranscript } from "../../extensions/webchat/page/model/transcript.ts";
import { TurnRows } from "../../extensions/webchat/page/model/turn-rows.ts";
import { shownTurns } from "../../extensions/webchat/page/model/view.ts";

type Message = Answers["chat.history"]["messages"][number];
type History = Answers["chat.history"];

/** Messages that the gateway gives at once. */
const PAGE = 200;
const METHODS = ["sessions.rewind", "sessions.fork", "sessions.create", "runs.get", "runs.prompt"];
const NO_VERSIONS: ReadonlyMap<string, TurnVersions> = new Map();

const message = (at: number): Message => ({
  role: at % 2 === 0 ? "user" : "assistant",
  content: [{ type: "text", text: `Message ${at}` }],
  __openclaw: { id: `m${at}`, seq: at + 1 },
});

/** The messages from `from` to before `to`, each a new object, as each answer of the gateway has them. */
const answer = (from: number, to: number): History => ({
  sessionKey: "main",
  sessionId: "s",
  messages: Array.from({ length: to - from }, (_, index) => message(from + index)),
  hasMore: from > 0,
  totalMessages: to,
});

/** A page on which the last messages of a conversation, or all, were read and are shown. */
class ShownChat {
  read: ReadTranscript = NOTHING_READ;
  state: PageState = initialState("main");
  readonly rows = new TurnRows();

  constructor(count: number) {
    this.read = withNewest(this.read, answer(Math.max(0, count - PAGE), count));
    if (this.read.hasMore) this.read = withOlder(this.read, answer(0, count - PAGE));
    this.show();
  }

  show() {
    const { turns, hasMore } = this.read;
    this.state = reduce(this.state, { type: "history", sessionKey: "main", turns, hasMore });
    const shown = shownTurns(this.state.transcript.turns, this.state.exchanges);
    const blocks = this.rows.blocksOf(shown, { methods: METHODS, versions: NO_VERSIONS });
    return { turns: shown, blocks };
  }

  /** Reads the newest messages, of which `count` is the last. */
  arrive(count: number) {
    this.read = withNewest(this.read, answer(Math.max(0, count - PAGE), count));
    return this.show();
  }
}

/** Counts how often a field of one of the objects is read. */
function counted<One extends object>(objects: readonly One[]): { watched: readonly One[]; reads: () => number } {
  let reads = 0;
  const get = (one: One, name: string | symbol): unknown => {
    reads += 1;
    return Reflect.get(one, name);
  };
  return { watched: objects.map((one) => new Proxy(one, { get })), reads: () => reads };
}

/** How often the turns and messages before are read for one message that arrives. */
function readsFor(count: number): { turns: number; messages: number } {
  const chat = new ShownChat(count);
  const messages = counted(chat.read.messages);
  const turns = counted(chat.read.turns);
  chat.read = { ...chat.read, messages: messages.watched, turns: turns.watched };
  chat.show();
  const before = { turns: turns.reads(), messages: messages.reads() };
  chat.arrive(count + 1);
  return { turns: turns.reads() - before.turns, messages: messages.reads() - before.messages };
}

describe("a message that arrives in a long conversation", () => {
  test("costs the same, however many messages were read before", () => {
    expect(readsFor(10_000)).toEqual(readsFor(1000));
  });

  test("leaves the turns and the blocks before it as they were", () => {
    const chat = new ShownChat(10_000);
    const before = chat.show();
    const { turns, blocks } = chat.arrive(10_001);
    expect(turns).toHaveLength(10_001);
    expect(turns.filter((turn, at) => turn !== before.turns[at]).map(({ id }) => id)).toEqual(["m10000"]);
    expect(blocks.filter((block, at) => block !== before.blocks[at])).toHaveLength(1);
    expect(blocks.flat().map(({ turn }) => turn)).toEqual(turns);
  });

  test("makes the answer before it one that is not given again", () => {
    const chat = new ShownChat(100);
    const offered = (blocks: ReturnType<ShownChat["arrive"]>["blocks"]) =>
      blocks.flat().filter(({ acts }) => acts.includes("retry"));
    expect(offered(chat.show().blocks).map(({ turn }) => turn.id)).toEqual(["m99"]);
    expect(offered(chat.arrive(101).blocks)).toEqual([]);
    expect(offered(chat.arrive(102).blocks).map(({ turn }) => turn.id)).toEqual(["m101"]);
  });
});

test("a conversation that was taken back to an earlier message is read from there", () => {
  const chat = new ShownChat(1000);
  const { turns, blocks } = chat.arrive(990);
  expect(turns.map(({ id }) => id)).toEqual(answer(0, 990).messages.map(({ __openclaw }) => __openclaw?.id));
  expect(blocks.flat().map(({ turn }) => turn)).toEqual(turns);
});

test("earlier messages come before the blocks that are there", () => {
  const chat = new ShownChat(PAGE);
  const before = chat.show();
  chat.read = withOlder(chat.read, {
    ...answer(0, 1),
    messages: [{ ...message(0), __openclaw: { id: "older", seq: 0 } }],
  });
  const { turns, blocks } = chat.show();
  expect(turns.map(({ id }) => id)).toEqual(["older", ...before.turns.map(({ id }) => id)]);
  const starts = before.blocks.map(([first]) => first?.key);
  expect(blocks.map(([first]) => first?.key)).toEqual(["older", ...starts]);
});
