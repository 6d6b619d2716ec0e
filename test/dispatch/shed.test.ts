import { expect, it } from "vitest";
import { Lane, type LaneTask } from "../../src/dispatch/lane.ts";
import type { InboxRow } from "../../src/types/journal.ts";
import { message } from "./stage.ts";

const beat = { heartbeat: { ackMaxChars: 300 } };

function laneOf(...texts: readonly string[]): Lane {
  const lane = new Lane();
  for (const [id, text] of texts.entries()) {
    const said = message(text, "1", text === "beat" ? { options: beat } : {});
    const row: InboxRow = { id, message: said, state: "accepted", attempts: 0 };
    lane.push({ kind: "turn", waiting: { rows: [row], pending: [] }, merge: true });
  }
  return lane;
}

const textsOf = (tasks: readonly LaneTask[]) =>
  tasks.flatMap((task) => (task.kind === "turn" ? task.waiting.rows.map((row) => row.message.text) : []));

it.each([
  ["old", ["one", "two", "beat"], ["beat"]],
  ["new", ["beat", "one", "two"], ["beat"]],
  ["old", ["one", "beat", "two", "three"], ["beat", "one"]],
  ["new", ["one", "beat", "two", "three"], ["beat", "three"]],
  ["old", ["one", "beat"], []],
  ["new", ["beat", "beat", "beat", "one"], ["beat", "beat"]],
  ["summarize", ["one", "beat", "two"], []],
] as const)(
  "a heartbeat pushes nobody's message out of a full lane, and goes first (drop %s of %j)",
  (drop, waiting, gone) => {
    const lane = laneOf(...waiting);
    expect(textsOf(lane.shed({ cap: 2, debounceMs: 0, drop }))).toEqual(gone);
    expect(lane.waiting).toBe(waiting.length - gone.length);
  },
);
