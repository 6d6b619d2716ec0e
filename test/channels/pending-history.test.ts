import { expect, test } from "vitest";
import { PendingHistory } from "../../src/channels/pending-history.ts";
import { message } from "../kit/inbound.ts";

let last = 0;
const line = (text: string, thread?: string) => ({
  id: ++last,
  message: message({
    chat: { kind: "group", id: "-1" },
    sender: { id: "7", name: "Ada" },
    text,
    ...(thread !== undefined && { thread }),
  }),
});
/** The texts of the lines that an event of the chat takes. */
const taken = (history: PendingHistory, thread?: string, at = line("", thread)) =>
  history.take(at.message.from, at.id).map(({ text }) => text);

test("the newest lines of a chat are taken once, oldest first", () => {
  const history = new PendingHistory();
  for (const text of ["a", "b", "c"]) history.add(line(text), 2);
  const { message: asked, id } = line("");
  expect(history.take(asked.from, id)).toEqual([
    { sender: "Ada", at: 1, text: "b" },
    { sender: "Ada", at: 1, text: "c" },
  ]);
  expect(taken(history)).toEqual([]);
});

test("later lines wait for the next event, and a repeated line is kept once", () => {
  const history = new PendingHistory();
  const early = line("early");
  const asked = line("asked");
  for (const one of [early, early, line("late")]) history.add(one, 5);
  expect(taken(history, undefined, asked)).toEqual(["early"]);
  expect(taken(history)).toEqual(["late"]);
});

test("threads are separate, and a limit of 0 keeps nothing", () => {
  const history = new PendingHistory();
  history.add(line("main"), 5);
  history.add(line("topic", "3"), 5);
  history.add(line("none", "4"), 0);
  expect(taken(history, "3")).toEqual(["topic"]);
  expect(taken(history)).toEqual(["main"]);
  expect(taken(history, "4")).toEqual([]);
});
