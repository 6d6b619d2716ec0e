import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { RunLog } from "../../src/harness/log/run-log.ts";
import { START, advance, toGatewayEvents } from "../../src/server/events/chat-events.ts";
import { ChatView } from "../../src/server/events/chat-view.ts";
import { encodeEvent, frameOf, mergeDeltas } from "../../src/server/deltas.ts";
import { deltaEveryMs } from "../../src/server/events/pace.ts";
import type { RunEvent, RunEventBody } from "../../src/types/run/events.ts";
import type { GatewayEvent } from "../../src/types/method.ts";
import { assistant, ends, facts, says, USAGE } from "../kit/server/scripted-chat.ts";
import { expectShape } from "./shapes.ts";

const FACTS = facts("run-1");
const numbered = (bodies: readonly RunEventBody[]): RunEvent[] =>
  bodies.map((body, index) => ({ ...body, seq: index + 1, ts: 100 + index }));

const begin: RunEventBody = { type: "run_start", facts: FACTS, startedAt: 50 };
const attempt: RunEventBody = {
  type: "attempt_start",
  window: 200_000,
  number: 1,
  model: { provider: "demo", id: "echo" },
  thinking: "off",
  messages: 1,
  estimatedTokens: 5,
};

function show(bodies: readonly RunEventBody[]): GatewayEvent[] {
  const view = new ChatView(FACTS);
  return numbered(bodies).flatMap((event) => [...view.show(event)]);
}
const payloads = (events: readonly GatewayEvent[], name: string) =>
  events.filter((event) => event.event === name).map((event) => z.looseObject({}).parse(event.payload));
const chat = (bodies: readonly RunEventBody[]) => payloads(show(bodies), "chat");

test("a run becomes status, deltas and a final in the protocol's format", () => {
  const told = chat([begin, attempt, ...says("Hello there."), ends()]);
  for (const payload of told) expectShape("ChatEvent", payload);
  expect(told).toMatchObject([
    { state: "status", phase: "preparing_context", runId: "run-1", seq: 1 },
    { state: "status", phase: "starting_model" },
    {
      state: "delta",
      deltaText: "Hello ",
      message: { role: "assistant", content: [{ type: "text", text: "Hello " }] },
    },
    { state: "delta", deltaText: "there.", message: { content: [{ text: "Hello there." }] } },
    { state: "final", stopReason: "stop", message: { content: [{ text: "Hello there." }] }, usage: USAGE },
  ]);
});

test("the text after a tool replaces the text before it", () => {
  const told = chat([begin, ...says("Let me look."), ...says("Found it."), ends()]);
  expect(told.filter((payload) => payload["replace"] === true)).toMatchObject([{ deltaText: "Found " }]);
  expect(told.at(-1)).toMatchObject({ message: { content: [{ text: "Found it." }] } });
});

test("text that turns out to be a thought is replaced", () => {
  const deltas: RunEventBody[] = [
    { type: "text_delta", delta: "A plan.", text: "A plan." },
    { type: "text_delta", delta: "Hello", text: "Hello", anew: true },
    { type: "text_delta", delta: " there.", text: "Hello there." },
  ];
  const told = chat([begin, { type: "message_start" }, ...deltas, ends()]);
  expect(told.filter((payload) => payload["replace"] === true)).toMatchObject([{ deltaText: "Hello" }]);
  expect(told.at(-1)).toMatchObject({ message: { content: [{ text: "Hello there." }] } });
});

test.each([
  [{ kind: "aborted", by: "user" } as const, { state: "aborted", stopReason: "user" }],
  [
    { kind: "failed", failure: { kind: "context_overflow", message: "too long" } } as const,
    {
      state: "error",
      errorMessage: "too long",
      errorKind: "context_length",
      errorDetail: { failoverReason: "context_overflow", provider: "demo", model: "echo" },
    },
  ],
])("the end %o comes with the text before it", (result, expected) => {
  const last = chat([begin, ...says("Half"), ends(result)]).at(-1);
  expect(last).toMatchObject({ ...expected, message: { content: [{ text: "Half" }] } });
  expectShape("ChatEvent", last);
});

test("a compaction appears in the agent event's compaction stream", () => {
  const costs = [{ what: "compaction" as const, model: { provider: "fake", id: "fake-1" }, calls: 1, usage: USAGE }];
  const told = show([
    begin,
    { type: "compaction", phase: "start", tokensBefore: 900 },
    { type: "compaction", phase: "end", ok: true, tokensBefore: 900, tokensAfter: 90, willRetry: true, costs },
  ]);
  expect(payloads(told, "agent").filter((payload) => payload["stream"] === "compaction")).toMatchObject([
    { data: { phase: "start" } },
    { data: { phase: "end", willRetry: true } },
  ]);
});

test("a command's answer is the final, a silent run has one without text", () => {
  const answer: RunEventBody = { type: "answer", text: "Status: fine", because: "command" };
  expect(chat([begin, answer, ends()]).at(-1)).toMatchObject({
    state: "final",
    message: { content: [{ text: "Status: fine" }] },
  });
  expect(chat([begin, ends()]).at(-1)).not.toHaveProperty("message");
});

test("the client shows the friendly error text", () => {
  const told = chat([
    begin,
    { type: "answer", text: "The model is busy.", because: "error" },
    ends({ kind: "failed", failure: { kind: "overloaded", message: "529" } }),
  ]);
  expect(told.at(-1)).toMatchObject({ state: "error", errorMessage: "The model is busy.", errorKind: "unknown" });
});

test("the agent stream names the files of an answer", () => {
  const media = ["./a.png", "https://example.org/b.pdf"];
  const text = "See [[media:./a.png]] and [[media:https://example.org/b.pdf]]";
  const end: RunEventBody = { type: "message_end", message: assistant(text), text, entryId: "e1", media };
  const told = payloads(show([begin, { type: "text_delta", delta: text, text }, end, ends()]), "agent");
  for (const { sessionKey: _key, sessionId: _id, agentId: _agent, ...payload } of told)
    expectShape("AgentEvent", payload);
  expect(told.filter(({ stream }) => stream === "assistant").map(({ data }) => data)).toEqual([
    { text, delta: text },
    { text, delta: "", mediaUrls: media },
  ]);
});

test("the agent stream has exactly its data, and its numbers increase strictly", () => {
  const told = payloads(
    show([
      begin,
      attempt,
      { type: "tool_start", callId: "c1", name: "ls", args: { path: "." } },
      { type: "tool_update", callId: "c1", name: "ls", partial: "a" },
      { type: "tool_end", callId: "c1", name: "ls", isError: false, text: "a\nb", meta: ".", durationMs: 3 },
      {
        type: "tool_end",
        callId: "c2",
        name: "look",
        isError: true,
        text: "blurred\n[image]",
        content: [
          { type: "text", text: "blurred" },
          { type: "image", mimeType: "image/png", bytes: 12, omitted: true },
        ],
        durationMs: 3,
      },
      ...says("Two files."),
      { type: "usage", usage: USAGE, model: { provider: "demo", id: "echo" } },
      ends(),
    ]),
    "agent",
  );
  expect(told.map((payload) => [payload["stream"], payload["data"]])).toMatchObject([
    ["lifecycle", { phase: "start", startedAt: 50 }],
    ["tool", { phase: "start", name: "ls", toolCallId: "c1", args: { path: "." } }],
    ["tool", { phase: "update", name: "ls", toolCallId: "c1", partialResult: "a" }],
    [
      "tool",
      {
        phase: "result",
        name: "ls",
        toolCallId: "c1",
        meta: ".",
        isError: false,
        result: { content: [{ type: "text", text: "a\nb" }] },
      },
    ],
    [
      "tool",
      {
        isError: true,
        result: {
          content: [
            { type: "text", text: "blurred" },
            { type: "image", mimeType: "image/png", bytes: 12, omitted: true },
          ],
        },
      },
    ],
    ["assistant", { text: "Two ", delta: "Two " }],
    ["assistant", { text: "Two files.", delta: "files." }],
    ["usage", { usage: USAGE }],
    ["lifecycle", { phase: "end", endedAt: 2_000 }],
  ]);
  const seqs = told.map((payload) => Number(payload["seq"]));
  expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
  for (const { runId, seq, stream, ts, data, isHeartbeat } of told) {
    expectShape("AgentEvent", { runId, seq, stream, ts, data, isHeartbeat });
  }
});

test("a failed run's lifecycle says when it began", () => {
  const told = payloads(show([begin, ends({ kind: "failed", failure: { kind: "auth", message: "no key" } })]), "agent");
  expect(told.at(-1)).toMatchObject({ data: { phase: "error", startedAt: 50, endedAt: 2_000, error: "no key" } });
});

test("a queued run is reported with the session id at its start", () => {
  const view = new ChatView({ ...FACTS, sessionId: "" });
  const events = numbered([begin, ...says("Hi"), ends()]).flatMap((event) => [...view.show(event)]);
  const ids = payloads(events, "agent").map((payload) => payload["sessionId"]);
  expect(new Set(ids)).toEqual(new Set(["session-1"]));
});

test("approval questions go only to clients that may decide them", () => {
  const approval = {
    id: "a1",
    sessionKey: FACTS.sessionKey,
    runId: FACTS.runId,
    agentId: FACTS.agentId,
    command: "rm x",
    cwd: "/w",
    reason: "asks",
    createdAt: 1,
    expiresAt: 2,
  };
  const told = show([
    begin,
    { type: "approval_request", approval },
    { type: "approval_end", id: "a1", decision: "deny" },
  ]);
  expect(told.filter((event) => event.event.startsWith("exec."))).toMatchObject([
    {
      event: "exec.approval.requested",
      scope: "operator.approvals",
      payload: { id: "a1", request: { command: "rm x" } },
    },
    { event: "exec.approval.resolved", scope: "operator.approvals", payload: { id: "a1", decision: "deny" } },
  ]);
});

const messages = fc.array(fc.array(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 4,
});

function bodiesOf(texts: readonly (readonly string[])[]): RunEventBody[] {
  return texts.flatMap((parts): RunEventBody[] => [
    { type: "message_start" },
    ...parts.map((delta, index): RunEventBody => ({
      type: "text_delta",
      delta,
      text: parts.slice(0, index + 1).join(""),
    })),
    { type: "message_end", message: assistant(parts.join("")), text: parts.join(""), entryId: "e" },
  ]);
}

const addition = z.looseObject({ deltaText: z.string(), replace: z.boolean().optional() });
const textOf = z.object({ message: z.object({ content: z.tuple([z.object({ text: z.string() })]) }) });

test("the added deltas make the whole text, however they were paced and merged", async () => {
  await fc.assert(
    fc.asyncProperty(messages, fc.infiniteStream(fc.boolean()), async (texts, choices) => {
      const choose = () => choices.next().value === true;
      const shown: GatewayEvent[] = [];
      const view = new ChatView(FACTS);
      let due: (() => void) | undefined;
      const clock = {
        after: (_ms: number, call: () => void) => {
          due = call;
          return () => {
            due = undefined;
          };
        },
      };
      const log = new RunLog(FACTS);
      const read = async () => {
        for await (const event of log.watch(1, { clock, everyMs: deltaEveryMs })) shown.push(...view.show(event));
      };
      const reading = read();
      for (const body of [...bodiesOf(texts), ends()]) {
        log.emit(body);
        if (choose()) await setImmediate();
        if (choose()) due?.();
      }
      await reading;
      const deltas = shown.filter((event) => event.event === "chat" && event.delta === true).map(encodeEvent);
      const merged = deltas.reduce<typeof deltas>((kept, item) => {
        const last = kept.at(-1);
        return last !== undefined && choose() ? [...kept.slice(0, -1), mergeDeltas(last, item)] : [...kept, item];
      }, []);
      let added = "";
      for (const { event } of merged) {
        const { deltaText, replace } = addition.parse(event.payload);
        added = replace === true ? deltaText : added + deltaText;
        expect(added).toBe(textOf.parse(event.payload).message.content[0].text);
      }
      expect(added).toBe(texts.at(-1)?.join(""));
    }),
    { numRuns: 300 },
  );
});

test("the state after events does not need a view", () => {
  const [event] = numbered([begin]);
  if (event === undefined) throw new Error("no event");
  expect(toGatewayEvents(FACTS, event, START)).toHaveLength(2);
  expect(advance(START, event)).toMatchObject({ startedAt: 50 });
});

test("an event is numbered per connection", () => {
  const encoded = encodeEvent({ event: "tick", payload: { ts: 1 } });
  const frame: unknown = JSON.parse(frameOf(encoded, 7));
  expect(frame).toEqual({ type: "event", event: "tick", payload: { ts: 1 }, seq: 7 });
  expectShape("EventFrame", frame);
});

test("the pause between two deltas grows with the text, since each carries all of it", () => {
  expect([100, 10_000, 100_000].map(deltaEveryMs)).toEqual([50, 50, 500]);
});
