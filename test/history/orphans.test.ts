import { describe, expect, it } from "vitest";
import { type EndedHow, orphanPlan, trailingUserTurns } from "../../src/history/orphans.ts";
import type { AssistantMessage, ChatMessage } from "../../src/types/run/model.ts";
import type { EntryBody, TranscriptEntry } from "../../src/types/session.ts";
import { answered, asked, given } from "../kit/transcript-messages.ts";

const user = asked("hello");
const answer = (stopReason: AssistantMessage["stopReason"], ...texts: string[]) =>
  answered(
    texts.map((text) => ({ type: "text", text })),
    { stopReason },
  );
const result = given("a", "x");
const CHANGE: EntryBody = { type: "model_change", provider: "p", modelId: "m" };

const branch = (...bodies: (ChatMessage | EntryBody)[]): TranscriptEntry[] =>
  bodies.map((body, at) => ({
    id: String(at),
    parentId: at === 0 ? null : String(at - 1),
    timestamp: "2026-01-01T00:00:00.000Z",
    ...("role" in body ? { type: "message" as const, message: body } : body),
  }));

describe("user turns that nobody answered", () => {
  it.each([
    ["after an answer", [user, answer("stop", "hi"), user], ["2"]],
    ["one behind the other", [user, user], ["0", "1"]],
    ["before an answer that broke off", [user, answer("error", "ha")], ["0"]],
    ["before other entries", [answer("stop", "hi"), user, CHANGE], ["1"]],
  ] as const)("are those %s", (_name, bodies, ids) =>
    expect(trailingUserTurns(branch(...bodies)).map(({ id }) => id)).toEqual(ids),
  );

  it("are none after an answer, after a result, or in an empty transcript", () => {
    for (const bodies of [[], [CHANGE], [user, answer("stop", "hi")], [user, answer("toolUse"), result]]) {
      expect(trailingUserTurns(branch(...bodies))).toEqual([]);
      expect(orphanPlan(branch(...bodies), "aborted")).toBeUndefined();
    }
  });

  it.each(["failed", "unknown", "none"] satisfies EndedHow[])("are kept when the run ended: %s", (how) => {
    expect(orphanPlan(branch(answer("stop", "hi"), user, CHANGE, user), how)).toEqual({
      kind: "merge",
      entryIds: ["1", "3"],
    });
  });

  it("are taken back when their sender stopped the run before a word was said", () => {
    const stopped = branch(answer("stop", "hi"), user, answer("aborted"));
    expect(orphanPlan(stopped, "aborted")).toEqual({ kind: "branch", entryIds: ["1"], parentId: "0" });
    expect(orphanPlan(branch(user), "aborted")).toEqual({ kind: "branch", entryIds: ["0"], parentId: null });
    expect(orphanPlan(branch(user, user), "aborted")).toEqual({ kind: "branch", entryIds: ["1"], parentId: "0" });
    expect(orphanPlan(branch(user, answer("aborted", "Well")), "aborted")).toMatchObject({ kind: "merge" });
  });
});
