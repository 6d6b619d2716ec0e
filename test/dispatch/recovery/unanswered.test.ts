import { afterEach, beforeEach, expect, it } from "vitest";
import type { ChannelLink } from "../../../src/types/chat/channel.ts";
import type { InboundMessage } from "../../../src/types/chat/message.ts";
import { peer } from "../../kit/inbound.ts";
import { untilIdle } from "../../kit/idle.ts";
import { makeTool } from "../../kit/tools.ts";
import { textResult } from "../../../src/tools/define.ts";
import { until } from "../../kit/until.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;
let told: string[];
/** What the senders of those commands are told. */
let reasons: (string | undefined)[];

const hear = (clearPending: NonNullable<ChannelLink["clearPending"]>) =>
  Object.assign(fixture.platform, { clearPending });

beforeEach(async () => {
  fixture = await openDispatchFixture();
  told = [];
  reasons = [];
  hear(async ({ text }, reason) => {
    told.push(text);
    reasons.push(reason);
  });
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
  expect(new Set(reasons)).toEqual(new Set(["I take no commands from you here."]));
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
  expect(reasons).toEqual([expect.stringContaining("let you in first")]);
});

it("says nothing of a command whose refusal is its answer", async () => {
  fixture.gate = async () => ({ kind: "drop", why: "not allowed", notice: "Not here." });
  await ask("/status", { event: "command" });
  expect(told).toEqual([]);
  expect(fixture.platform.texts).toEqual(["Not here."]);
});

it("reports the commands that another message's turn has taken in: their answer is that one's", async () => {
  fixture.rules = { queueMode: () => "collect" };
  const gate = Promise.withResolvers<void>();
  fixture.model.answer(() => ({ text: "ok", until: gate.promise }));
  const first = await boot.tell("first", "1");
  await until(() => fixture.model.calls.length === 1, "the first call");
  const rows = [await boot.tell("second", "1"), await boot.tell("/unknown", "1", { event: "command" })];
  await untilIdle();
  gate.resolve();
  await boot.outcome(first);
  expect(await Promise.all(rows.map((row) => boot.outcome(row)))).toMatchObject([
    { kind: "replied" },
    { kind: "merged" },
  ]);
  await until(() => told.length > 0, "the report");
  expect([told, reasons]).toEqual([["/unknown"], [undefined]]);
});

it("reports a command that joins a running turn", async () => {
  fixture.rules = { queueMode: () => "steer" };
  const gate = Promise.withResolvers<void>();
  let isLooking = false;
  fixture.tools.push(
    makeTool("look", async () => {
      isLooking = true;
      await gate.promise;
      return textResult("seen");
    }),
  );
  fixture.model.answer((_, number) => (number === 1 ? { tool: "look", args: {} } : { text: "ok" }));
  const first = await boot.tell("first", "1");
  await until(() => isLooking);
  const second = await boot.tell("/unknown", "1", { event: "command" });
  await untilIdle();
  gate.resolve();
  expect([await boot.outcome(first), await boot.outcome(second)]).toEqual([{ kind: "replied" }, { kind: "steered" }]);
  expect([told, reasons]).toEqual([["/unknown"], [undefined]]);
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
