import { expect, test } from "vitest";
import { activityOf } from "../../src/sessions/shown/activity.ts";
import type { ShownMessage } from "../../src/types/session.ts";

const at = (id: string, runId = "run-1") => ({ __openclaw: { id, seq: 1, runId } });
const user = (id: string): ShownMessage => ({ role: "user", content: "go", ...at(id) });
const call = (callId: string, name: string, args: unknown = {}) => ({
  type: "toolCall",
  id: callId,
  name,
  arguments: args,
});
const asks = (id: string, ...calls: ReturnType<typeof call>[]): ShownMessage => ({
  role: "assistant",
  content: calls,
  ...at(id),
});
const result = (id: string, toolCallId: string, toolName: string, isError = false): ShownMessage => ({
  role: "toolResult",
  toolCallId,
  toolName,
  content: [{ type: "text", text: "the result" }],
  isError,
  ...at(id),
});

const titles = (messages: readonly ShownMessage[]) =>
  activityOf(messages).map(({ messageId, items }) => [
    messageId,
    ...items.map(({ title, status = "unknown" }) => `${title}: ${status}`),
  ]);

test("a call and its result show the same item, in the form of the protocol", () => {
  const item = {
    itemId: "tool:c1",
    toolCallId: "c1",
    name: "exec",
    kind: "tool",
    phase: "end",
    title: "Exec",
    status: "failed",
    commandBearing: true,
  };
  expect(activityOf([user("u"), asks("a", call("c1", "exec")), result("r", "c1", "exec", true)])).toEqual([
    { messageId: "a", items: [item] },
    { messageId: "r", items: [item] },
  ]);
});

test("a message with several calls has an item for each, and messages without tools have no entry", () => {
  expect(
    titles([
      user("u"),
      asks("a", call("c1", "read"), call("c2", "web_fetch")),
      result("r1", "c1", "read"),
      result("r2", "c2", "web_fetch", true),
      { role: "assistant", content: [{ type: "text", text: "done" }], ...at("b") },
    ]),
  ).toEqual([
    ["a", "Read: completed", "Web Fetch: failed"],
    ["r1", "Read: completed"],
    ["r2", "Web Fetch: failed"],
  ]);
});

test("an id that comes again in a later turn is another call", () => {
  expect(
    titles([
      user("u1"),
      asks("a1", call("c1", "read")),
      result("r1", "c1", "read", true),
      user("u2"),
      asks("a2", call("c1", "write")),
      result("r2", "c1", "write"),
    ]),
  ).toEqual([
    ["a1", "Read: failed"],
    ["r1", "Read: failed"],
    ["a2", "Write: completed"],
    ["r2", "Write: completed"],
  ]);
});

test("nothing is said of a call whose result is not there, or cannot be told from another", () => {
  expect(
    titles([
      user("u"),
      asks("a", call("c1", "read")),
      asks("b", call("same", "ls")),
      asks("c", call("same", "find")),
      result("r1", "same", "ls"),
      result("r2", "same", "find", true),
    ]),
  ).toEqual([
    ["a", "Read — outcome unknown: unknown"],
    ["b", "Ls — outcome unknown: unknown"],
    ["c", "Find — outcome unknown: unknown"],
    ["r1", "Ls: completed"],
    ["r2", "Find: failed"],
  ]);
});

test("a result whose call is on another page shows how it ended", () => {
  expect(titles([result("r", "c1", "sessions_spawn")])).toEqual([["r", "Sub-agent: completed"]]);
});

test("steps that only wait or report have no item unless they failed", () => {
  const poll = { action: "poll", sessionId: "s" };
  const turn = (isError: boolean) => [
    user("u"),
    asks("a", call("c1", "process", poll), call("c2", "update_plan")),
    result("r1", "c1", "process", isError),
    result("r2", "c2", "update_plan", isError),
  ];
  expect(titles(turn(false))).toEqual([["a"], ["r1"], ["r2"]]);
  expect(titles(turn(true))).toEqual([
    ["a", "Process: failed", "Update Plan: failed"],
    ["r1", "Process: failed"],
    ["r2", "Update Plan: failed"],
  ]);
});
