import { expect, test } from "vitest";
import { openTasks } from "../../src/app/tasks/desk.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import type { InboxRow } from "../../src/types/journal.ts";
import type { ChatMessage } from "../../src/types/run/model.ts";
import { message } from "../kit/inbound.ts";
import { answered, asked } from "../kit/transcript-messages.ts";

/** The desk over one conversation, in which two tasks and a person's turn followed each other. */
function deskOver(turns: Readonly<Record<string, readonly ChatMessage[]>>) {
  const entries = Object.entries(turns).flatMap(([turnId, messages]) =>
    messages.map((one, at) => ({
      id: at === 0 ? turnId : `${turnId}-${at}`,
      parentId: null,
      timestamp: "2026-11-26T08:00:00Z",
      type: "message" as const,
      message: one,
    })),
  );
  const rowOf = (id: number): InboxRow => ({
    id,
    message: message(),
    state: "done",
    turnId: Object.keys(turns)[id] ?? "gone",
    sessionKey: sessionKey("main"),
    attempts: 1,
    outcome: { kind: "replied" },
  });
  return openTasks({
    journal: {
      tasks: { rows: async () => [], row: async (id) => ({ row: rowOf(id), status: "completed", sent: [] }) },
    },
    names: { defaultAgent: agentId("main"), entryOf: () => undefined },
    sessions: { history: async () => ({ entries, hasMore: false }) },
    end: async () => false,
    processes: () => [],
  });
}

test("the result of a task is the last answer of its own turn, whatever was said in the conversation later", async () => {
  const desk = deskOver({
    one: [asked("count"), answered("I count."), answered("42 sheep")],
    two: [asked("count again"), answered("43 sheep")],
    three: [asked("thanks"), answered("You are welcome.")],
  });
  const results = await Promise.all(["task-0", "task-1", "task-9"].map(async (id) => (await desk.get(id))?.result));
  expect(results).toEqual(["42 sheep", "43 sheep", undefined]);
});
