import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { afterChat, NO_REPLY_YET } from "../../extensions/webchat/page/model/exchanges.ts";
import { plainKey, sessionTitle, titleOf } from "../../extensions/webchat/page/model/format.ts";
import {
  principalText,
  readApproval,
  readPairings,
  readFrame,
  readSessions,
} from "../../extensions/webchat/page/model/protocol.ts";
import type { Answers } from "../../src/api/answers.ts";
import type { Hello } from "../../extensions/webchat/page/model/protocol.ts";
import { initialState, isOpen, reduce } from "../../extensions/webchat/page/model/state.ts";
import type { Action, PageState } from "../../extensions/webchat/page/model/state.ts";
import { readWaiting } from "../../extensions/webchat/page/model/waiting.ts";
import { NOTHING_READ, withNewest } from "../../extensions/webchat/page/model/transcript.ts";
import { shownTurns } from "../../extensions/webchat/page/model/view.ts";

const MAIN = "webchat:default:operator";

function play(...actions: readonly Action[]): PageState {
  return actions.reduce(reduce, initialState("main"));
}

const HELLO: Hello = {
  version: "1",
  methods: [],
  defaultAgent: "main",
  tickMs: 1000,
  limits: { payload: 1, attachment: 1, image: 1 },
};

function sent(runId: string, text: string): Action[] {
  const message = { text, files: [], state: "queued" as const };
  return [
    { type: "send", runId, sent: message, at: 1 },
    { type: "sent", runId, state: "accepted" },
  ];
}

function chat(runId: string, payload: object, sessionKey = MAIN): Action {
  return { type: "chat", payload: { runId, sessionKey, ...payload }, at: 2 };
}

function agent(runId: string, stream: string, data: object): Action {
  return { type: "agent", payload: { runId, sessionKey: MAIN, stream, data }, at: 2 };
}

type Message = Answers["chat.history"]["messages"][number];

function message(role: string, content: Message["content"], seq: number, more: object = {}): Message {
  return { role, content, __openclaw: { id: `m${seq}`, seq }, ...more };
}

const readTurns = (messages: readonly Message[]) =>
  withNewest(NOTHING_READ, { sessionKey: "main", sessionId: "s", messages: [...messages], totalMessages: 0 }).turns;

function history(...messages: readonly Message[]): Action {
  return { type: "history", sessionKey: "main", turns: readTurns(messages), hasMore: false };
}

type Row = Answers["sessions.list"]["sessions"][number];

function sessions(settleBefore: number | undefined, ...rows: readonly Omit<Row, "updatedAt">[]): Action {
  return {
    type: "sessions",
    rows: readSessions({ sessions: rows.map((row) => ({ ...row, updatedAt: 1 })) }),
    defaultModel: { id: "", provider: "" },
    settleBefore,
  };
}

/** What a person sees: each turn as its side and its words. */
function seen(state: PageState): string[] {
  return shownTurns(state.transcript.turns, state.exchanges, state.waiting).map((turn) => {
    const words = turn.parts.map((part) => {
      if (part.kind === "tool") return `<${part.name} ${part.state}>`;
      return part.kind === "text" ? part.text : part.kind;
    });
    const waits = turn.delivery === "waiting" ? ` (waits as ${turn.inboxId})` : "";
    return `${turn.role}: ${words.join(" | ")}${waits}`;
  });
}

describe("a run as its events show it", () => {
  test("grows by deltas, and events that come twice or late change nothing", () => {
    const first = chat("r1", { seq: 1, state: "delta", deltaText: "Hel", message: { content: "Hel" } });
    const state = play(...sent("r1", "hi"), first, first, chat("r1", { seq: 2, state: "delta", deltaText: "lo" }));
    expect(seen(state)).toEqual(["user: hi", "assistant: Hello"]);
    const over = reduce(state, chat("r1", { seq: 3, state: "final", message: { content: "Hello!" } }));
    expect(seen(reduce(over, first))).toEqual(["user: hi", "assistant: Hello!"]);
  });

  test("keeps words and tool calls in the order in which they came", () => {
    const state = play(
      ...sent("r1", "list"),
      chat("r1", { seq: 1, state: "delta", deltaText: "Looking.", message: { content: "Looking." } }),
      agent("r1", "tool", { phase: "start", name: "ls", toolCallId: "t", args: {} }),
      agent("r1", "tool", { phase: "result", name: "ls", toolCallId: "t", isError: true, result: "denied" }),
      chat("r1", { seq: 2, state: "delta", deltaText: "Sorry.", message: { content: "Looking.\n\nSorry." } }),
    );
    expect(seen(state)).toEqual(["user: list", "assistant: Looking. | <ls failed> | Sorry."]);
  });

  test("continues after a restart of the gateway, whose events count from one again, and leaves nothing of before", () => {
    const words = "drop drop drop";
    const state = play(
      ...sent("r1", "tell me"),
      ...[1, 2, 3, 4, 5].map((seq) => chat("r1", { seq, state: "delta", deltaText: "drop " })),
      { type: "hello", hello: HELLO },
      sessions(9, { key: MAIN, activeRunIds: ["r1"] }),
      history(message("user", "tell me", 1)),
      chat("r1", { seq: 2, state: "delta", deltaText: words, message: { content: words } }),
    );
    expect(seen(state)).toEqual(["user: tell me", `assistant: ${words}`]);
    const over = [
      chat("r1", { seq: 3, state: "final", message: { content: words } }),
      history(message("user", "tell me", 1), message("assistant", words, 2)),
    ].reduce(reduce, state);
    expect(over.exchanges).toEqual([]);
    expect(seen(over)).toEqual(["user: tell me", `assistant: ${words}`]);
  });

  test("of another session stays out of this one", () => {
    const state = play(chat("r9", { seq: 1, state: "delta", deltaText: "psst" }, "telegram:default:42"));
    expect(seen(state)).toEqual([]);
  });

  test("that failed says why", () => {
    const state = play(...sent("r1", "hi"), chat("r1", { seq: 1, state: "error", errorMessage: "no key" }));
    expect(state.exchanges[0]?.reply).toMatchObject({ state: "error", error: "no key" });
  });

  test("whose end was missed is settled by the session list, unless it still continues or began later", () => {
    const running = [...sent("r1", "hi"), chat("r1", { seq: 1, state: "delta", deltaText: "a" })];
    const reply = (...more: Action[]): unknown => play(...running, ...more).exchanges[0]?.reply.state;
    expect(reply(sessions(5, { key: MAIN }))).toBe("final");
    expect(reply(sessions(5, { key: MAIN, activeRunIds: ["r1"] }))).toBe("running");
    expect(reply(sessions(5, { key: MAIN, hasActiveRun: true }))).toBe("running");
    expect(reply(sessions(1, { key: MAIN }))).toBe("running");
    expect(reply(sessions(undefined, { key: MAIN }))).toBe("running");
  });
});

describe("the transcript", () => {
  test("replaces what the events showed", () => {
    const state = play(
      history(message("user", "before", 1), message("assistant", "yes", 2)),
      ...sent("r1", "hi"),
      chat("r1", { seq: 1, state: "final", message: { content: "Hello" } }),
      history(
        message("user", "before", 1),
        message("assistant", "yes", 2),
        message("user", "hi", 3),
        message("assistant", "Hello", 4),
      ),
    );
    expect(state.exchanges).toEqual([]);
    expect(seen(state)).toEqual(["user: before", "assistant: yes", "user: hi", "assistant: Hello"]);
  });

  test("read in mid-run doubles neither the message nor the tools that it holds already", () => {
    const call = { type: "toolCall", id: "t", name: "ls", arguments: {} };
    const state = play(
      ...sent("r1", "list"),
      agent("r1", "tool", { phase: "start", name: "ls", toolCallId: "t", args: {} }),
      chat("r1", { seq: 1, state: "delta", deltaText: "Two", message: { content: "Two" } }),
      history(
        message("user", "[now] list", 1),
        message("assistant", [call], 2),
        message("toolResult", "a b", 3, { toolCallId: "t" }),
      ),
    );
    expect(seen(state)).toEqual(["user: [now] list", "assistant: <ls done>", "assistant: Two"]);
  });

  test("without a command's answer leaves the answer where it was said", () => {
    const state = play(
      ...sent("r1", "/status"),
      chat("r1", { seq: 1, state: "final", message: { content: "All well" } }),
      history(),
      ...sent("r2", "hi"),
      chat("r2", { seq: 1, state: "final", message: { content: "Hello" } }),
      history(message("user", "hi", 1), message("assistant", "Hello", 2)),
    );
    expect(seen(state)).toEqual(["user: /status", "assistant: All well", "user: hi", "assistant: Hello"]);
  });

  test("that is read only after the next command keeps the command after the earlier messages", () => {
    const final = (runId: string, text: string) =>
      chat(runId, { state: "final", seq: 1, message: { role: "assistant", content: text } });
    const said = [...sent("r1", "hello"), final("r1", "hi"), ...sent("r2", "/status"), final("r2", "Model: demo")];
    const state = play(history(), ...said, history(message("user", "hello", 1), message("assistant", "hi", 2)));
    expect(seen(state)).toEqual(["user: hello", "assistant: hi", "user: /status", "assistant: Model: demo"]);
  });

  test("with the answers to two messages of another tab, read between the ends of their runs, shows each answer once", () => {
    const said = (text: string, seq: number, runId: string) =>
      message("user", text, seq, { __openclaw: { id: `m${seq}`, seq, runId } });
    const both = [
      said("first", 1, "r1"),
      message("assistant", "word end", 2),
      said("but this", 3, "r2"),
      message("assistant", "re: but this", 4),
    ];
    const state = play(
      history(said("first", 1, "r1")),
      chat("r1", { seq: 5, state: "delta", deltaText: "word", message: { content: "word" } }),
      chat("r1", { seq: 6, state: "final", message: { content: "word end" } }),
      chat("r2", { seq: 1, state: "status" }),
      chat("r2", { seq: 2, state: "delta", deltaText: "re: but this", message: { content: "re: but this" } }),
      history(...both),
      chat("r2", { seq: 3, state: "final", message: { content: "re: but this" } }),
      history(...both),
    );
    expect(state.exchanges).toEqual([]);
    expect(seen(state)).toEqual(["user: first", "assistant: word end", "user: but this", "assistant: re: but this"]);
  });

  test("keeps a message in the queue until it was accepted", () => {
    const queued: Action = { type: "send", runId: "r1", sent: { text: "hi", files: [], state: "queued" }, at: 1 };
    const state = play(queued, sessions(9, { key: MAIN }), history(message("user", "old", 1)));
    expect(state.exchanges[0]?.sent?.state).toBe("queued");
    expect(seen(state)).toEqual(["user: old", "user: hi"]);
  });

  test("has what a client added under a label apart from the answers around it", () => {
    const notice = { model: "gateway-injected" };
    const turns = readTurns([
      message("user", "hi", 1),
      message("assistant", "hello", 2),
      message("assistant", "[To the person]\n\nI call you.\n\n[1]\n\nAda", 3, notice),
      message("assistant", "[Plan]\n\nin the model's own words", 4),
      message("assistant", "No model answers just now.", 5, notice),
    ]);
    const text = (part: (typeof turns)[number]["parts"][number]) => (part.kind === "text" ? part.text : part.kind);
    expect(turns.map(({ sender, parts }) => [sender, ...parts.map(text)])).toEqual([
      [undefined, "hi"],
      [undefined, "hello"],
      ["To the person", "I call you.\n\n[1]\n\nAda"],
      [undefined, "[Plan]\n\nin the model's own words", "No model answers just now."],
    ]);
  });

  test("is read as turns with results, usage and failures", () => {
    const call = { type: "toolCall", id: "t", name: "ls", arguments: { path: "." } };
    const turns = readTurns([
      message(
        "user",
        [
          { type: "image", data: "AA", mimeType: "image/png" },
          { type: "text", text: "see" },
        ],
        1,
      ),
      message("assistant", [{ type: "thinking", thinking: "hm" }, call], 2, {
        usage: { input: 5, output: 1, cacheRead: 2, cost: { total: 0.25 } },
      }),
      message("toolResult", [{ type: "text", text: "a" }], 3, { toolCallId: "t", isError: false }),
      message("assistant", [], 4, {
        stopReason: "error",
        errorMessage: "overloaded",
        usage: { input: 7, output: 0, cost: { total: 0.5 } },
      }),
    ]);
    expect(turns.map((turn) => turn.parts.map((part) => part.kind))).toEqual([
      ["image", "text"],
      ["thinking", "tool"],
    ]);
    expect(turns[1]).toMatchObject({
      error: { text: "overloaded" },
      usage: { input: 12, output: 1, cached: 2, cost: 0.75 },
      last: 4,
    });
  });
});

test("approvals come and go, each once", () => {
  const payload = { id: "a", request: { sessionKey: MAIN, command: "ls", runId: "r1" } };
  const approval = readApproval(payload);
  if (approval === undefined) throw new Error("it was not read");
  const state = play({ type: "approval", approval }, { type: "approval", approval });
  expect(state.approvals).toEqual([payload]);
  expect(reduce(state, { type: "resolved", id: "a" }).approvals).toEqual([]);
  expect(readApproval({ request: payload.request })).toBeUndefined();
});

test("a stranger's name neither reverses the text around it nor pushes it out of view", () => {
  const name = `Ada (the owner)\u202e\u2067\n\u200b${"x".repeat(200)}`;
  const principal = { kind: "sender", id: "telegram:5\u202e", name };
  expect(principalText(principal)).toBe(`Ada (the owner) ${"x".repeat(43)}…, telegram:5`);
  const from = { channel: "telegram", account: "default", createdAt: 1, expiresAt: 2 };
  const [pairing, unnamed] = readPairings({
    requests: [
      { ...from, code: "C", name, senderId: "5" },
      { ...from, code: "D", name: "\u2066\u200b", senderId: "6" },
    ],
  });
  expect(pairing).toMatchObject({ name: `Ada (the owner) ${"x".repeat(43)}…`, senderId: "5" });
  expect(unnamed).toMatchObject({ name: "6", senderId: "6" });
});

test("one session has one name, however its key is written", () => {
  expect(isOpen(play(), "agent:main:main")).toBe(true);
  expect(isOpen(play(), MAIN)).toBe(true);
  expect(isOpen(play(), "agent:other:main")).toBe(false);
  expect(plainKey("agent:main:telegram:default:1")).toBe("telegram:default:1");
  expect(sessionTitle("telegram:default:42")).toBe("Telegram · 42");
  expect(titleOf("word ".repeat(40)).length).toBeLessThanOrEqual(48);
});

test("frames of any shape are read without a throw", () => {
  expect(readFrame("{")).toBeUndefined();
  fc.assert(fc.property(fc.json(), (raw) => void readFrame(raw)));
  fc.assert(fc.property(fc.array(fc.jsonValue()), (messages) => void readTurns(messages as Message[])));
  fc.assert(fc.property(fc.jsonValue(), (value) => void readSessions({ sessions: [value as Row] })));
});

test("pieces of a text add up to it, with or without the whole text in the event", () => {
  const pieces = fc.array(fc.string({ minLength: 1 }), { minLength: 1 }).filter((all) => all.join("").trim() !== "");
  fc.assert(
    fc.property(pieces, fc.boolean(), (all, hasWhole) => {
      let whole = "";
      let reply = NO_REPLY_YET;
      for (const piece of all) {
        whole += piece;
        reply = afterChat(reply, {
          state: "delta",
          deltaText: piece,
          ...(hasWhole && { message: { content: whole } }),
        });
      }
      // Without the whole text, blanks before the first word are lost.
      expect(reply.parts).toEqual([
        { kind: "text", text: hasWhole ? whole : expect.stringContaining(whole.trimStart()) },
      ]);
    }),
  );
});

describe("messages that wait", () => {
  const waits = (...messages: Answers["sessions.queue"]["messages"]): Action => {
    return { type: "waiting", sessionKey: MAIN, messages: readWaiting({ key: MAIN, messages }) };
  };
  const row = { channel: "webchat", files: 0, receivedAt: 3 };
  const own = { ...row, id: 7, runId: "r2", text: "later", isOperator: true, sender: { id: "operator" } };
  const running = [
    ...sent("r1", "now"),
    chat("r1", { seq: 1, state: "delta", deltaText: "I am" }),
    ...sent("r2", "later"),
  ];

  test("a message of this page waits until its run begins", () => {
    const state = play(...running, waits(own));
    expect(seen(state)).toEqual(["user: now", "assistant: I am", "user: later (waits as 7)"]);
    const begun = reduce(state, chat("r2", { seq: 1, state: "status" }));
    expect(seen(begun)).toEqual(["user: now", "assistant: I am", "user: later", "assistant: "]);
  });

  test("messages of others come last, with their writers and files", () => {
    const other = {
      ...row,
      channel: "telegram",
      id: 8,
      runId: "t1",
      text: "from a phone",
      files: 2,
      sender: { id: "5", name: "Ada" },
    };
    const state = play(...running, waits(own, other));
    expect(seen(state).at(-1)).toBe("user: [2 files] | from a phone (waits as 8)");
    expect(state.waiting.map(({ sender }) => sender)).toEqual([undefined, "Ada"]);
  });

  test("a message that was withdrawn is gone, and the end of its run shows nothing", () => {
    const state = play(...running, waits(own), { type: "dropped", runId: "r2" });
    const after = reduce(state, chat("r2", { seq: 1, state: "aborted", stopReason: "user" }));
    expect(seen(after)).toEqual(["user: now", "assistant: I am"]);
  });

  test("another session has its own", () => {
    const state = play(...running, waits(own), { type: "open", sessionKey: "webchat:default:2" });
    expect(state.waiting).toEqual([]);
    expect(reduce(state, waits(own)).waiting).toEqual([]);
  });
});
