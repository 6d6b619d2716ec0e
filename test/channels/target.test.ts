import { expect, test } from "vitest";
import { channelIn, parseTarget } from "../../src/channels/target.ts";

test.each([
  ["telegram", "42", { chat: { kind: "direct", id: "42" } }],
  ["telegram", "telegram:-1001:topic:5", { chat: { kind: "group", id: "-1001" }, thread: "5" }],
  ["telegram", "@news", { chat: { kind: "group", id: "@news" } }],
  ["slack", "C123", { chat: { kind: "group", id: "C123" } }],
  ["slack", "user:U9", { chat: { kind: "direct", id: "U9" } }],
  ["slack", "D7", { chat: { kind: "direct", id: "D7" } }],
  ["discord", "99", { chat: { kind: "group", id: "99" } }],
  ["discord", "user:99", { chat: { kind: "direct", id: "99" } }],
  ["signal", "+4930123", { chat: { kind: "direct", id: "+4930123" } }],
  ["signal", "a3f9b0de-0000-4000-8000-000000000000", { chat: { kind: "direct" } }],
  ["signal", "group:QUJD=", { chat: { kind: "group", id: "QUJD=" } }],
  ["whatsapp", "1203@g.us", { chat: { kind: "group", id: "1203@g.us" } }],
  ["whatsapp", "+4930123", { chat: { kind: "direct", id: "+4930123" } }],
  ["other", "x:y", { chat: { kind: "direct", id: "x:y" } }],
])("%s %s", (channel, text, target) => {
  expect(parseTarget(text, channel)).toMatchObject(target);
});

test("a target may name its channel", () => {
  expect(channelIn("slack:C1", ["slack", "telegram"])).toBe("slack");
  expect(channelIn("user:U1", ["slack", "telegram"])).toBeUndefined();
});

test.each(["", "  ", "telegram:"])("%j names no chat", (text) => {
  expect(parseTarget(text, "telegram")).toBeUndefined();
});
