import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Acks } from "../../src/dispatch/notices/acks.ts";
import { startTyping } from "../../src/dispatch/notices/typing.ts";
import { RunLog } from "../../src/harness/log/run-log.ts";
import type { SendResult } from "../../src/types/chat/channel.ts";
import type { InboxRow } from "../../src/types/journal.ts";
import { textResult } from "../../src/tools/define.ts";
import { makeTool } from "../kit/tools.ts";
import { settingsFor } from "../kit/settings.ts";
import { manualClock } from "../kit/clock.ts";
import { recordLog } from "../kit/log.ts";
import { runFacts } from "../kit/run-facts.ts";
import { ChatPlatform } from "../fakes/chat-platform.ts";
import { untilIdle } from "../kit/idle.ts";
import { until } from "../kit/until.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../kit/dispatch.ts";
import { nextMessage } from "../kit/inbound.ts";

const SENT: SendResult = { kind: "sent", messageId: "" };

/** What stands below each message, and every call in its order. */
class Reactions {
  readonly below = new Map<string, string>();
  readonly calls: string[] = [];
  /** What the next calls give instead of success. */
  readonly script: SendResult[] = [];
  /** Calls wait for it. */
  gate: Promise<void> | undefined;

  async react(_to: unknown, id: string, emoji: string | undefined): Promise<SendResult> {
    this.calls.push(emoji ?? "none");
    await this.gate;
    const next = this.script.shift() ?? SENT;
    if (next.kind !== "sent") return next;
    if (emoji === undefined) this.below.delete(id);
    else this.below.set(id, emoji);
    return next;
  }
}

describe("the ack reaction", () => {
  const clock = manualClock();
  const eyes = { emoji: "👀", removeAfter: true };
  const open = (shown: Reactions, reaction: typeof eyes | undefined = eyes) =>
    new Acks({
      clock,
      log: recordLog(),
      chats: {
        isConnecting: () => false,
        link: () => Object.assign(new ChatPlatform(), { react: shown.react.bind(shown) }),
      },
      settings: () => ({ reaction: () => reaction }),
    });
  const rowOf = (id: number): InboxRow => ({ id, message: nextMessage("hi"), state: "accepted", attempts: 0 });

  it("is removed after a slow request that set it", async () => {
    const shown = new Reactions();
    const slow = Promise.withResolvers<void>();
    shown.gate = slow.promise;
    const acks = open(shown);
    const row = rowOf(1);
    acks.put([row]);
    acks.end([row]);
    await untilIdle();
    expect(shown.calls).toEqual(["👀"]);
    slow.resolve();
    await untilIdle();
    expect(shown.calls).toEqual(["👀", "none"]);
    expect(shown.below.size).toBe(0);
  });

  it("is waited for by who settles, until it is gone", async () => {
    const shown = new Reactions();
    const slow = Promise.withResolvers<void>();
    shown.gate = slow.promise;
    const acks = open(shown);
    const row = rowOf(1);
    acks.put([row]);
    acks.end([row]);
    let isSettled = false;
    const settled = acks.settle(2000).then(() => (isSettled = true));
    await untilIdle();
    expect(isSettled).toBe(false);
    slow.resolve();
    await settled;
    expect(shown.calls).toEqual(["👀", "none"]);
    await acks.settle(2000);
    expect(clock.waits).toEqual([]);
  });

  it("is waited for no longer than who settles can wait", async () => {
    const shown = new Reactions();
    shown.gate = Promise.withResolvers<void>().promise;
    const acks = open(shown);
    acks.put([rowOf(1)]);
    const settled = acks.settle(2000);
    clock.pass(2000);
    await settled;
    expect(shown.calls).toEqual(["👀"]);
  });

  it("is tried again after the time that the platform names, twice at most", async () => {
    const shown = new Reactions();
    const busy: SendResult = { kind: "retry", reason: "busy", afterMs: 3000 };
    shown.script.push(busy, SENT, busy, busy, busy);
    const acks = open(shown);
    const row = rowOf(1);
    acks.put([row]);
    await untilIdle();
    clock.pass(2999);
    await untilIdle();
    expect(shown.calls).toHaveLength(1);
    clock.pass(1);
    await untilIdle();
    expect(shown.below.size).toBe(1);
    acks.end([row]);
    for (let time = 0; time < 5; time += 1) {
      await untilIdle();
      clock.pass(3000);
    }
    expect(shown.calls).toEqual(["👀", "👀", "none", "none", "none"]);
  });

  it("is put once, not taken off where it stays, and not at all where it was never put", async () => {
    const shown = new Reactions();
    const stays = open(shown, { ...eyes, removeAfter: false });
    const row = rowOf(1);
    stays.put([row]);
    stays.put([row]);
    stays.end([row]);
    open(shown).end([rowOf(2)]);
    await untilIdle();
    expect(shown.calls).toEqual(["👀"]);
  });
});

describe("while a turn continues", () => {
  let fixture: DispatchFixture;
  let boot: Boot;
  let shown: Reactions;
  beforeEach(async () => {
    fixture = await openDispatchFixture();
    shown = new Reactions();
    Object.assign(fixture.platform, { react: shown.react.bind(shown) });
    fixture.rules = { reaction: () => ({ emoji: "👀", removeAfter: true }) };
    boot = await fixture.boot();
  });
  afterEach(() => fixture.close());

  const broken = (): never => {
    throw new Error("bug");
  };
  const gone = () => until(() => shown.below.size === 0, "no reaction");

  it("each message has its reaction from when it is accepted, also one that waits or joins, until its turn is over", async () => {
    const gate = Promise.withResolvers<void>();
    fixture.model.answer(async () => {
      await gate.promise;
      return { text: "ok" };
    });
    const rows = [await boot.tell("one"), await boot.tell("two"), await boot.tell("three")];
    await until(() => shown.below.size === 3, "three reactions");
    gate.resolve();
    for (const row of rows) await boot.outcome(row);
    await gone();
    expect(shown.calls.filter((call) => call === "👀")).toHaveLength(3);
  });

  it("a steered message has it until it has reached the turn", async () => {
    const gate = Promise.withResolvers<void>();
    fixture.rules = { ...fixture.rules, queueMode: () => "steer" };
    const look = makeTool("look", async () => {
      await gate.promise;
      return textResult("seen");
    });
    fixture.tools.push(look);
    fixture.model.answer((call) => (call.isAfterTool ? { text: "ok" } : { tool: "look", args: {} }));
    const first = await boot.tell("one");
    await fixture.model.called(1);
    const second = await boot.tell("two");
    gate.resolve();
    expect([await boot.outcome(first), await boot.outcome(second)]).toEqual([{ kind: "replied" }, { kind: "steered" }]);
    await gone();
    expect(shown.calls.filter((call) => call === "👀")).toHaveLength(2);
  });

  it.each([
    ["that failed", () => fixture.model.answer(() => ({ status: 401, message: "Incorrect API key provided" }))],
    ["left in silence", () => fixture.model.answer(() => ({ text: "NO_REPLY" }))],
    ["that broke", () => (fixture.rules = { ...fixture.rules, chat: broken })],
  ])("it is taken off a message %s", async (_, set) => {
    set();
    await boot.ask("hello");
    await until(() => shown.calls.includes("none"), "its removal");
    await gone();
  });

  it("it is taken off messages that were stopped while they waited", async () => {
    fixture.model.answer(() => "hang");
    const rows = [await boot.tell("one"), await boot.tell("two")];
    await until(() => shown.below.size === 2);
    await boot.tell("/stop");
    for (const row of rows) expect(await boot.outcome(row)).toEqual({ kind: "aborted" });
    await gone();
  });
});

describe("typing", () => {
  const settings = () => ({});

  it.each([
    ["says it at once", {}, "instant", 1],
    ["says it with the first word", {}, "message", 0],
    ["is asked about a command", { text: "/skill tides" }, "message", 1],
  ] as const)("begins as the config says for a message where the agent does not: it %s", (_, more, mode, typed) => {
    const clock = manualClock();
    const platform = new ChatPlatform();
    const row: InboxRow = { id: 1, message: { ...nextMessage("hi"), ...more }, state: "accepted", attempts: 0 };
    const ports = {
      clock,
      log: recordLog(),
      chats: { link: () => platform },
      settings: () => ({ typingMode: () => mode }),
    };
    const atWork = startTyping([row], settingsFor("/nowhere"), ports);
    clock.pass(100);
    expect(platform.typed).toBe(typed);
    atWork.stop();
  });

  it("continues until the end of the work, whatever the adapter throws", async () => {
    const clock = manualClock();
    const log = recordLog();
    const platform = new ChatPlatform();
    const typing = () => {
      platform.typed += 1;
      throw new Error("bug");
    };
    const row: InboxRow = { id: 1, message: nextMessage("hi"), state: "accepted", attempts: 0 };
    const link = () => Object.assign(platform, { typing });
    const atWork = startTyping([row], settingsFor("/nowhere"), { clock, log, chats: { link }, settings });
    clock.pass(100);
    clock.pass(4000);
    await untilIdle();
    expect(platform.typed).toBe(2);
    expect(log.lines.filter((line) => line.includes("typing signal not shown"))).toHaveLength(2);
    atWork.stop();
    clock.pass(60_000);
    expect(platform.typed).toBe(2);
    expect(clock.waits).toEqual([]);
    await untilIdle();
    expect(platform.typingEnds).toBe(1);
  });

  it("is ended once, after a signal that is still on its way, and not at all when it was never shown", async () => {
    const clock = manualClock();
    const platform = new ChatPlatform();
    const slow = Promise.withResolvers<void>();
    const about: unknown[] = [];
    const typing = async (_to: unknown, messageId?: string) => {
      about.push(messageId);
      await slow.promise;
    };
    const link = () => Object.assign(platform, { typing });
    const rowOf = (more: object): InboxRow => ({
      id: 1,
      message: { ...nextMessage("hi"), ...more },
      state: "accepted",
      attempts: 0,
    });
    const begin = (more: object = {}) =>
      startTyping([rowOf(more)], settingsFor("/nowhere"), { clock, log: recordLog(), chats: { link }, settings });
    const atWork = begin({ id: "m-7" });
    clock.pass(100);
    atWork.stop();
    atWork.stop();
    await untilIdle();
    expect(platform.typingEnds).toBe(0);
    slow.resolve();
    await untilIdle();
    expect(platform.typingEnds).toBe(1);
    begin().stop();
    await untilIdle();
    expect(platform.typingEnds).toBe(1);
    const pressed = begin({ id: "m-8", event: "button" });
    clock.pass(100);
    pressed.stop();
    await untilIdle();
    expect(about).toEqual(["m-7", undefined]);
  });

  it.each([
    ["never", [0, 0, 0]],
    ["message", [0, 0, 1]],
    ["thinking", [0, 1, 1]],
    ["instant", [1, 1, 1]],
  ] as const)("%s: begins in its time, and is shown as often as the agent's settings say", async (mode, wanted) => {
    const clock = manualClock();
    const platform = new ChatPlatform();
    const row: InboxRow = { id: 1, message: nextMessage("hi"), state: "accepted", attempts: 0 };
    const ports = { clock, log: recordLog(), chats: { link: () => platform }, settings };
    const agent = { ...settingsFor("/nowhere"), typing: { mode, everyMs: 9000 } };
    const atWork = startTyping([row], agent, ports);
    const run = new RunLog(runFacts("r"));
    atWork.follow(run);
    const typed = async () => {
      await untilIdle();
      clock.pass(100);
      return platform.typed;
    };
    const seen = [await typed()];
    run.emit({ type: "thinking_delta", delta: "hm" });
    run.emit({ type: "text_delta", delta: "NO_", text: "NO_" });
    seen.push(await typed());
    run.emit({ type: "text_delta", delta: "body", text: "NO_body" });
    seen.push(await typed());
    expect(seen).toEqual(wanted);
    clock.pass(9000);
    expect(platform.typed).toBe(wanted[2] * 2);
    atWork.stop();
    clock.pass(9000);
    expect(platform.typed).toBe(wanted[2] * 2);
  });

  it.each(["message", "thinking"] as const)("%s: begins with the first tool, before any word", async (mode) => {
    const clock = manualClock();
    const platform = new ChatPlatform();
    const row: InboxRow = { id: 1, message: nextMessage("hi"), state: "accepted", attempts: 0 };
    const agent = { ...settingsFor("/nowhere"), typing: { mode, everyMs: 9000 } };
    const atWork = startTyping([row], agent, { clock, log: recordLog(), chats: { link: () => platform }, settings });
    const run = new RunLog(runFacts("r"));
    atWork.follow(run);
    await untilIdle();
    expect(platform.typed).toBe(0);
    run.emit({ type: "tool_start", callId: "c", name: "exec", args: {} });
    await untilIdle();
    clock.pass(1);
    expect(platform.typed).toBe(1);
    atWork.stop();
  });

  const hallAt = async () => {
    const fixture = await openDispatchFixture();
    const clock = manualClock();
    return { fixture, clock, boot: await fixture.boot({ clock }) };
  };
  const passUntil = async (clock: ReturnType<typeof manualClock>, isSo: () => unknown) =>
    until(async () => {
      clock.pass(50);
      await untilIdle();
      return isSo();
    });

  it("is shown while a command works, and not for one that answers at once", async () => {
    const fixture = await openDispatchFixture();
    const clock = manualClock();
    const gate = Promise.withResolvers<string>();
    fixture.commands = [{ name: "tides", help: "Tides.", who: "anyone", run: () => gate.promise }];
    const boot = await fixture.boot({ clock });
    await boot.ask("/status");
    clock.pass(60_000);
    await untilIdle();
    expect(fixture.platform.typed).toBe(0);
    const row = await boot.tell("/tides");
    await passUntil(clock, () => fixture.platform.typed > 1);
    gate.resolve("high");
    await boot.outcome(row);
    await passUntil(clock, () => fixture.platform.typingEnds > 0);
    expect(fixture.platform.texts.at(-1)).toBe("high");
    await fixture.close();
  });

  it("is shown while files are on their way", async () => {
    const { fixture, clock, boot } = await hallAt();
    Object.assign(fixture.platform, { download: () => new Promise<never>(() => undefined) });
    const media = [{ kind: "image", source: { at: "platform", ref: "x" } }] as const;
    await boot.tell("look", "1", { media });
    await passUntil(clock, () => fixture.platform.typed > 0);
    expect(fixture.model.calls).toEqual([]);
    await boot.tell("/stop");
    await fixture.close();
  });

  it.each(["an answer", "a failure", "silence", "/stop"])("ends with %s", async (what) => {
    const { fixture, clock, boot } = await hallAt();
    const gate = Promise.withResolvers<void>();
    fixture.model.answer(async () => {
      await gate.promise;
      if (what === "/stop") return "hang";
      if (what === "a failure") return { status: 401, message: "Incorrect API key provided" };
      return { text: what === "silence" ? "NO_REPLY" : "ok" };
    });
    const row = await boot.tell("hello");
    await passUntil(clock, () => fixture.platform.typed > 0);
    gate.resolve();
    if (what === "/stop") await boot.tell("/stop");
    await passUntil(clock, () => fixture.platform.typingEnds > 0);
    await boot.outcome(row);
    const { typed } = fixture.platform;
    expect(fixture.platform.typingEnds).toBe(1);
    clock.pass(60_000);
    await untilIdle();
    expect(fixture.platform.typed).toBe(typed);
    await fixture.close();
  });
});
