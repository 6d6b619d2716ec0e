import { expect, test } from "vitest";
import { PendingHistory } from "../../src/channels/pending-history.ts";
import { message } from "./messages.ts";

const line = (text: string, thread?: string) =>
  message({
    chat: { kind: "group", id: "-1" },
    sender: { id: "7", name: "Ada" },
    text,
    ...(thread !== undefined && { thread }),
  });

test("the newest lines of a chat are given once, oldest first", () => {
  const history = new PendingHistory();
  for (const text of ["a", "b", "c"]) history.add(line(text), 2);
  expect(history.take(line("").from)).toEqual([
    { sender: "Ada", at: 1, text: "b" },
    { sender: "Ada", at: 1, text: "c" },
  ]);
  expect(history.take(line("").from)).toEqual([]);
});

test("threads are apart, and a limit of 0 keeps nothing", () => {
  const history = new PendingHistory();
  history.add(line("main"), 5);
  history.add(line("topic", "3"), 5);
  history.add(line("none", "4"), 0);
  expect(history.take(line("", "3").from).map((it) => it.text)).toEqual(["topic"]);
  expect(history.take(line("").from).map((it) => it.text)).toEqual(["main"]);
  expect(history.take(line("", "4").from)).toEqual([]);
});

test("a reaction is told as a line", () => {
  const history = new PendingHistory();
  const thumb = { ...message(), text: "", event: "reaction" } as const;
  history.add({ ...thumb, reaction: { emoji: "👍", messageId: "3", toBot: true } }, 10);
  history.add({ ...thumb, reaction: { emoji: "👍", messageId: "3", removed: true } }, 10);
  expect(history.take(thumb.from).map((line) => line.text)).toEqual([
    "[reacted with 👍 on your message 3]",
    "[took back 👍 on message 3]",
  ]);
});
