import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HEARTBEAT_TURN } from "../../../src/automation/heartbeat-turn.ts";
import { TURN_KINDS, turnKinds } from "../../../src/dispatch/turn-kinds.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";
import { untilIdle } from "../../kit/idle.ts";
import { textResult } from "../../../src/tools/define.ts";
import { nextMessage } from "../../kit/inbound.ts";
import { countSyncs } from "../../kit/store/synced-files.ts";
import { makeTool } from "../../kit/tools.ts";
import { until } from "../../kit/until.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

it.runIf(process.platform === "linux")("a turn syncs its transcript once, also when no model answered", async () => {
  await boot.ask("first");
  const syncs = await countSyncs();
  await boot.ask("hello");
  expect(syncs?.of(".jsonl")).toBe(1);
  fixture.model.answer(() => ({ status: 400, message: "bad request" }));
  expect(await boot.ask("hello again")).toMatchObject({ kind: "failed" });
  expect(syncs?.of(".jsonl")).toBe(2);
  syncs?.stop();
});

it("a tool waits until the claim of its message is on the disk", async () => {
  const disk = Promise.withResolvers<void>();
  let runs = 0;
  const count = makeTool("count", async () => {
    runs += 1;
    return textResult("counted");
  });
  fixture.tools.push(count);
  fixture.model.answer(({ isAfterTool }) => {
    if (isAfterTool) return { text: "done" };
    Object.assign(boot.journal.inbox, { synced: () => disk.promise });
    return { tool: "count", args: {} };
  });
  const row = await boot.tell("count");
  await until(() => fixture.model.calls.length === 1);
  await untilIdle();
  expect(runs).toBe(0);
  disk.resolve();
  expect(await boot.outcome(row)).toEqual({ kind: "replied" });
  expect(runs).toBe(1);
});

describe("a message whose acceptance is not on the disk yet", () => {
  let disk: PromiseWithResolvers<void>;
  const heardBy: string[] = [];
  beforeEach(async () => {
    heardBy.length = 0;
    disk = Promise.withResolvers<void>();
    await boot.ask("before");
  });

  const isSettled = async (promise: Promise<unknown>): Promise<boolean> => {
    let settled = false;
    const settle = () => (settled = true);
    promise.then(settle, settle);
    await untilIdle();
    return settled;
  };
  const texts = () => boot.use("1", (session) => session.newest(10)).then((entries) => JSON.stringify(entries));

  it("is in the journal, but neither acknowledged nor in the transcript, and no model is asked", async () => {
    const { inbox } = boot.journal;
    Object.assign(inbox, { synced: () => disk.promise });
    const said = nextMessage("hello");
    const received = boot.dispatch.receive([said]);
    expect(await isSettled(received)).toBe(false);
    const row = await inbox.find(said.from.channel, said.from.account, said.eventKey);
    expect(row).toMatchObject({ state: "claimed" });
    expect(fixture.model.calls).toHaveLength(1);
    expect(boot.dispatch.stateOf(row!)).toBe("running");
    disk.resolve();
    await received;
    expect(await boot.outcome(row!)).toEqual({ kind: "replied" });
    expect(await texts()).toContain("hello");
  });

  it("is kept from plugins", async () => {
    await boot.stop();
    fixture.hooks = (on) => on("message_received", async (event) => void heardBy.push(JSON.stringify(event)));
    boot = await fixture.boot();
    Object.assign(boot.journal.inbox, { synced: () => disk.promise });
    const received = boot.dispatch.receive([nextMessage("for plugins")]);
    expect(await isSettled(received)).toBe(false);
    expect(heardBy).toEqual([]);
    disk.resolve();
    await received;
    await until(() => heardBy.length === 1);
  });

  it("fails, and changes nothing in the transcript, when it cannot be written", async () => {
    Object.assign(boot.journal.inbox, { synced: () => disk.promise });
    const received = boot.dispatch.receive([nextMessage("lost to the disk")]);
    expect(await isSettled(received)).toBe(false);
    disk.reject(new Error("EIO"));
    await expect(received).rejects.toThrow("EIO");
    await untilIdle();
    expect(fixture.model.calls).toHaveLength(1);
    expect(await texts()).not.toContain("lost to the disk");
  });
});

describe("an outcome that is not on the disk yet", () => {
  const LONG = "word ".repeat(350);
  const isSummary = (system: string) => system.startsWith("You write the memory");
  const summaries = () => fixture.model.calls.filter(({ system }) => isSummary(system)).length;

  it("holds back the compaction of its turn, which would make the turn unknown to the next start", async () => {
    const disk = Promise.withResolvers<void>();
    fixture.rules = { agent: { contextTokens: 4000 } };
    fixture.model.answer(({ system, said }) => {
      if (said.includes("turn-5")) Object.assign(boot.journal.inbox, { synced: () => disk.promise });
      return { text: isSummary(system) ? "SUMMARY" : "fine" };
    });
    for (const turn of [1, 2, 3, 4, 5]) await boot.ask(`turn-${turn} ${LONG}`);
    const before = summaries();
    const asked = boot.chat.compact(boot.keyOf("1"));
    await untilIdle();
    expect(summaries()).toBe(before);
    disk.resolve();
    await asked;
    expect(summaries()).toBeGreaterThan(before);
  });

  it("holds back the memory flush after its turn", async () => {
    const isFlush = ({ said }: { readonly said: string }) => said.includes("NO_REPLY");
    const flushes = () => fixture.model.calls.filter(isFlush).length;
    const memoryFlush = { softThresholdTokens: 4000 };
    const compaction = { reserveTokens: 20_000, keepRecentTokens: 600, timeoutMs: 10_000, memoryFlush };
    fixture.rules = { isOwner: () => true, agent: { contextTokens: 6000, compaction } };
    fixture.tools.push(makeTool("write", async () => textResult("written"), true));
    for (let turn = 1; turn <= 12 && flushes() === 0; turn += 1) {
      const disk = Promise.withResolvers<void>();
      fixture.model.answer((call) => {
        if (isFlush(call)) return { text: "NO_REPLY" };
        Object.assign(boot.journal.inbox, { synced: () => disk.promise });
        return { text: isSummary(call.system) ? "SUMMARY" : "fine" };
      });
      const row = await boot.tell(`turn-${turn} ${LONG}`);
      expect(await boot.outcome(row)).toEqual({ kind: "replied" });
      await untilIdle();
      expect(flushes()).toBe(0);
      disk.resolve();
      await until(() => !boot.dispatch.lanes.isBusy(boot.keyOf("1")));
    }
    expect(flushes()).toBe(1);
  });

  it("holds back the removal of its turn from the conversation", async () => {
    const disk = Promise.withResolvers<void>();
    await boot.stop();
    fixture.kinds = turnKinds([...TURN_KINDS, HEARTBEAT_TURN]);
    boot = await fixture.boot();
    await boot.ask("hello");
    const key = boot.keyOf("1");
    const file = await boot.use("1", async (session) => session.file);
    fixture.model.answer(() => {
      Object.assign(boot.journal.inbox, { synced: () => disk.promise });
      return { text: "HEARTBEAT_OK" };
    });
    const options = { operator: true, sessionKey: key, kind: "heartbeat", heartbeat: { ackMaxChars: 300 } };
    const row = await boot.tell("This is a heartbeat.", "1", { options });
    expect((await boot.outcome(row)).kind).toBe("silent");
    await untilIdle();
    expect(await readFile(file, "utf8")).not.toContain("openclaw.left_turn");
    disk.resolve();
    const left = await boot.use("1", (session) => session.window(10_000));
    expect(JSON.stringify(left.messages)).not.toContain("heartbeat");
    expect(await readFile(file, "utf8")).toContain("openclaw.left_turn");
  });
});
