import { afterEach, beforeEach, expect, it } from "vitest";
import type { ChannelLink } from "../../../src/types/chat/channel.ts";
import type { InboundMessage } from "../../../src/types/chat/message.ts";
import { peer } from "../../kit/inbound.ts";
import { untilIdle } from "../../kit/idle.ts";
import { until } from "../../kit/until.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;
let told: string[];

const hear = (clearPending: NonNullable<ChannelLink["clearPending"]>) =>
  Object.assign(fixture.platform, { clearPending });

beforeEach(async () => {
  fixture = await openDispatchFixture();
  told = [];
  hear(async ({ text }) => void told.push(text));
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

async function ask(text: string, more: Partial<InboundMessage>, from = "1") {
  const outcome = await boot.outcome(await boot.tell(text, from, more));
  await untilIdle();
  return outcome;
}

it("tells the adapter of commands and buttons that are not let in, and of nothing else", async () => {
  fixture.gate = async ({ text }) =>
    text.includes("drop") ? { kind: "drop", why: "not allowed" } : { kind: "history" };
  await ask("/drop", { event: "command" });
  await ask("/heard", { event: "command" });
  await ask("/drop it", { event: "button" });
  await ask("drop", {});
  expect(told).toEqual(["/drop", "/heard", "/drop it"]);
});

it("says nothing of what is answered", async () => {
  expect(await ask("/status", { event: "command" })).toMatchObject({ kind: "command" });
  const buttons = [{ label: "On", command: "go on" }];
  const blocks = [{ kind: "text", markdown: "And now?" }] as const;
  await boot.outbox.deliver({ replyKey: "question", to: peer("1"), blocks, buttons });
  const question = () => fixture.platform.messages.find(({ text }) => text === "And now?");
  await until(question, "the question");
  expect(await ask("go on", { event: "button", id: question()!.id })).toEqual({ kind: "replied" });
  expect(told).toEqual([]);
});

it("reports a stranger's command once the stranger has the pairing code", async () => {
  fixture.gate = async () => ({ kind: "pair" });
  await ask("/first", { event: "command" });
  await ask("/second", { event: "command" });
  expect(told).toEqual(["/second"]);
});

it("reports a command that the model answers with silence", async () => {
  fixture.model.answer(() => ({ text: "NO_REPLY" }));
  expect(await ask("/unknown", { event: "command" })).toEqual({ kind: "silent" });
  expect(told).toEqual(["/unknown"]);
});

it("is not held up by an adapter that fails", async () => {
  hear(() => Promise.reject(new Error("bug")));
  fixture.gate = async () => ({ kind: "drop", why: "not allowed" });
  expect(await ask("/drop", { event: "command" })).toMatchObject({ kind: "dropped" });
  await until(() => fixture.log.lines.some((line) => line.includes("still shows a message as queued")));
});
