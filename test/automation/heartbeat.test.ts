import { execFileSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readChecklist } from "../../src/automation/checklist.ts";
import { Heartbeats, type BeatPlace, type HeartbeatPorts } from "../../src/automation/heartbeat.ts";
import { slotAt } from "../../src/automation/schedule.ts";
import { runIdOf, turnIdOf } from "../../src/dispatch/turn-facts.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import type { Outcome } from "../../src/types/journal.ts";
import type { HeartbeatSettings } from "../../src/types/settings.ts";
import { manualClock, type ManualClock } from "../kit/clock.ts";
import { peer, nextMessage } from "../kit/inbound.ts";
import { PATIENCE_MS } from "../kit/gateway/process.ts";
import { until } from "../kit/until.ts";
import { heard, openDispatchFixture, type Boot, type DispatchFixture } from "../kit/dispatch.ts";

const EVERY = 1_800_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MAIN = agentId("main");
const SOON = { timeout: PATIENCE_MS, interval: 5 };

const SETTINGS: HeartbeatSettings = {
  everyMs: EVERY,
  target: "last",
  intoDirect: true,
  inSystemPrompt: true,
  ackMaxChars: 300,
  light: true,
  isolated: true,
  skipWhenBusy: false,
};

let fixture: DispatchFixture;
let boot: Boot;
let clock: ManualClock;
let list: string | undefined;
let beats: Heartbeats;
/** What the model answers a heartbeat with. */
let found: string;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  clock = manualClock(slotAt("main", EVERY, Date.UTC(2026, 10, 21, 12)) + 1000);
  list = "- look into the mail";
  found = "HEARTBEAT_OK";
  fixture.model.answer((call) => ({ text: isBeat(call.said) ? found : `echo: ${heard(call.said)}` }));
  boot = await fixture.boot();
});
afterEach(async () => {
  await beats?.close();
  await fixture.close();
});

/** All that the clock has made due is begun and over. */
const quiet = async () => {
  await beats.close();
  await until(() => !boot.dispatch.lanes.isBusy(own));
  beats.start();
};

const isBeat = (said: string) => said.includes("This is a heartbeat");
const own = sessionKey("heartbeat");

/** A gateway with heartbeats; `settings` over the usual ones. */
function begin(settings: Partial<HeartbeatSettings> = {}, ports: Partial<HeartbeatPorts> = {}): Heartbeats {
  const heartbeat = { ...SETTINGS, ...settings };
  fixture.rules = { ...fixture.rules, agent: { ...fixture.rules.agent, heartbeat } };
  const place = async (): Promise<BeatPlace> => {
    const chat = boot.keyOf("1");
    return heartbeat.isolated ? { to: peer("1"), sessionKey: own, tell: chat } : { to: peer("1"), sessionKey: chat };
  };
  beats = new Heartbeats({
    clock,
    log: fixture.log,
    inbox: boot.journal.inbox,
    agents: () => [...boot.ports.settings().agents.values()],
    checklist: async () => list,
    place,
    mainOf: async () => boot.keyOf("1"),
    isBusy: (key) => boot.dispatch.lanes.isBusy(key),
    isAnyBusy: () => boot.dispatch.lanes.runs().length > 0,
    tell: (key, text) => boot.journal.events.add(key, text),
    receive: (messages) => boot.dispatch.receive(messages),
    ...ports,
  });
  beats.start();
  return beats;
}

/** Says it in chat 1, and waits until the lane is free again: its turn goes on for a moment after its answer. */
async function askToTheEnd(text: string): Promise<void> {
  await boot.ask(text, "1");
  await until(() => !boot.dispatch.lanes.isBusy(boot.keyOf("1")));
}

/** The next slot comes; what came of it. */
async function slot(): Promise<Outcome | string> {
  const before = (await beats.reports())[0];
  clock.pass(EVERY);
  let end: Outcome | string | undefined;
  await until(async () => {
    const [report] = await beats.reports();
    end = report?.skipped ?? report?.row?.outcome;
    return report?.at !== before?.at && end !== undefined;
  }, "the end of a heartbeat");
  await until(() => !boot.dispatch.lanes.isBusy(own) && !boot.dispatch.lanes.isBusy(boot.keyOf("1")));
  return end ?? "";
}

const shown = () => fixture.platform.messages.map(({ text }) => text);
const beatsAsked = () => fixture.model.calls.filter(({ said }) => isBeat(said)).length;

describe("a heartbeat with something to say", () => {
  it("says it in the chat, once, through the outbox, and the chat's conversation knows", async () => {
    await boot.ask("hello", "1");
    begin();
    found = "The mail server is full.";
    expect(await slot()).toEqual({ kind: "replied" });
    expect(shown()).toEqual(["echo: hello", "The mail server is full."]);
    const [report] = await beats.reports();
    expect(await boot.journal.outbox.of(report?.row?.id ?? 0)).toMatchObject([
      { state: "sent", replyKey: `in:${report?.row?.id}:reply`, sessionKey: own },
    ]);
    await boot.ask("why?", "1");
    const told = JSON.stringify(fixture.model.calls.at(-1)?.messages);
    expect(told).toContain("[Heartbeat] Unasked, you have said in this chat:\\n\\nThe mail server is full.");
    expect(told).not.toContain("This is a heartbeat");
  });

  it("is in the transcript as a turn that no person wrote, so that context engines can distinguish it", async () => {
    begin({ isolated: false });
    await askToTheEnd("hello");
    found = "News.";
    expect(await slot()).toEqual({ kind: "replied" });
    const origins = await boot.use("1", async (session) => {
      const entries = await session.newest(100);
      return entries.flatMap((entry) =>
        entry.type === "message" && entry.message.role === "user" ? [entry.message.provenance] : [],
      );
    });
    expect(origins).toEqual([undefined, { kind: "internal_system", sourceTool: "heartbeat" }]);
  });

  it("sees nothing of the conversations before it when it is on its own", async () => {
    begin();
    found = "News one.";
    await slot();
    found = "News two.";
    await slot();
    const asked = fixture.model.calls.findLast(({ said }) => isBeat(said));
    expect(JSON.stringify(asked?.messages)).not.toContain("News one");
    expect(shown()).toEqual(["News one.", "News two."]);
  });

  it("does not say the same twice in a day", async () => {
    begin();
    found = "The mail server is full.";
    expect(await slot()).toEqual({ kind: "replied" });
    expect(await slot()).toEqual({ kind: "silent" });
    expect(shown()).toEqual(["The mail server is full."]);
  });

  it("continues in the chat's conversation where it is to", async () => {
    begin({ isolated: false });
    await askToTheEnd("hello");
    found = `HEARTBEAT_OK The mail server is full. ${"x".repeat(400)}`;
    expect(await slot()).toEqual({ kind: "replied" });
    expect(shown()[1]).toMatch(/^The mail server is full\. x+$/);
    const asked = fixture.model.calls.findLast(({ said }) => isBeat(said));
    expect(JSON.stringify(asked?.messages)).toContain("echo: hello");
  });
});

describe("a heartbeat with nothing to say", () => {
  it.each([true, false])("says nothing and leaves no trace in the conversation (on its own: %s)", async (isolated) => {
    await askToTheEnd("hello");
    begin({ isolated });
    found = "**HEARTBEAT_OK** All quiet.";
    expect(await slot()).toEqual({ kind: "silent" });
    const used = boot.sessions.peek(boot.keyOf("1"))?.updatedAt;
    expect(shown()).toEqual(["echo: hello"]);
    await boot.ask("and now?", "1");
    const told = JSON.stringify(fixture.model.calls.at(-1)?.messages);
    expect(told).toContain("echo: hello");
    expect(told).not.toMatch(/HEARTBEAT_OK|This is a heartbeat/);
    expect(used).toBeLessThan(boot.sessions.peek(boot.keyOf("1"))?.updatedAt ?? 0);
  });

  it.skipIf(process.platform === "win32")("waits for no pipe and no device in the place of its list", async () => {
    const at = (name: string) => join(fixture.dir, name);
    execFileSync("mkfifo", [at("pipe")]);
    symlinkSync("/dev/zero", at("endless"));
    writeFileSync(at("list"), "- look");
    symlinkSync("list", at("link"));
    expect(await readChecklist(at("link"))).toBe("- look");
    expect(await readChecklist(at("missing"))).toBeUndefined();
    // Each wait would take one of the few threads that read files.
    for (const name of ["pipe", "endless", "pipe", "pipe", "pipe", "pipe"])
      await expect(readChecklist(at(name))).rejects.toThrow();
  });

  it("asks no model when the list asks for nothing, unless it has words of its own", async () => {
    begin();
    list = "# What to look after\n<!-- nothing yet -->";
    expect(await slot()).toBe("HEARTBEAT.md has no tasks");
    list = undefined;
    expect(await slot()).toBe("HEARTBEAT.md has no tasks");
    expect(beatsAsked()).toBe(0);
    await beats.close();
    begin({ prompt: "This is a heartbeat of my own." });
    expect(await slot()).toEqual({ kind: "silent" });
    expect(beatsAsked()).toBe(1);
  });

  it("is left out at night, while its conversation is busy, and when it is switched off", async () => {
    const night = { from: 0, to: 1, timezone: "UTC" };
    begin({ activeHours: night });
    expect(await slot()).toBe("outside its active hours");
    await beats.close();
    begin({}, { isBusy: () => true });
    expect(await slot()).toBe("its conversation is busy");
    await beats.close();
    begin({ skipWhenBusy: true }, { isAnyBusy: () => true });
    expect(await slot()).toBe("another run is active");
    await beats.close();
    begin().isOn = false;
    expect(await slot()).toBe("switched off");
    expect(beatsAsked()).toBe(0);
  });

  it("waits for its active hours where no slot begins in them, and runs once a day", async () => {
    const first = slotAt("main", DAY, clock.now()) + DAY;
    const minute = (at: number) => Math.floor((at % DAY) / 60_000);
    begin({
      everyMs: DAY,
      activeHours: { from: minute(first + 2 * HOUR), to: minute(first + 4 * HOUR), timezone: "UTC" },
    });
    const passTo = (at: number) => clock.pass(at - clock.now());
    for (const day of [1, 2]) {
      const at = first + (day - 1) * DAY;
      passTo(at + 1000);
      await vi.waitFor(async () => expect((await beats.reports())[0]?.skipped).toBe("outside its active hours"), SOON);
      passTo(at + 2 * HOUR - 60_000);
      await quiet();
      expect(beatsAsked()).toBe(day - 1);
      passTo(at + 2 * HOUR + 60_000);
      await vi.waitFor(async () => expect((await beats.reports())[0]?.row?.outcome).toEqual({ kind: "silent" }), SOON);
      for (const hours of [3, 5, 23]) passTo(at + hours * HOUR);
      await quiet();
      expect(beatsAsked()).toBe(day);
    }
  });

  it("does not wait for its active hours where a slot begins in them", async () => {
    const first = slotAt("main", EVERY, clock.now()) + EVERY;
    const minute = (at: number) => Math.floor((at % DAY) / 60_000);
    begin({ activeHours: { from: minute(first + 20 * 60_000), to: minute(first + 3 * HOUR), timezone: "UTC" } });
    clock.pass(first + 1000 - clock.now());
    clock.pass(25 * 60_000);
    await quiet();
    expect(beatsAsked()).toBe(0);
    clock.pass(5 * 60_000);
    await vi.waitFor(() => expect(beatsAsked()).toBe(1), SOON);
  });
});

describe("a heartbeat that fails", () => {
  it("sends nothing, and runs less and less often", async () => {
    begin();
    fixture.model.answer(() => ({ status: 400, message: "no" }));
    expect(await slot()).toMatchObject({ kind: "failed" });
    expect(await slot()).toMatch(/^paused until .* because it failed: /);
    expect(await slot()).toMatchObject({ kind: "failed" });
    for (let rests = 0; rests < 3; rests += 1) expect(await slot()).toMatch(/^paused until /);
    fixture.model.answer(() => ({ text: "HEARTBEAT_OK" }));
    expect(await slot()).toEqual({ kind: "silent" });
    expect(await slot()).toEqual({ kind: "silent" });
    expect(shown()).toEqual([]);
  });

  it("pauses for a day after a refused key, or until somebody switches it on", async () => {
    begin();
    fixture.model.answer(() => ({ status: 401, message: "bad key" }));
    expect(await slot()).toMatchObject({ kind: "failed" });
    for (let rests = 0; rests < 4; rests += 1) expect(await slot()).toMatch(/^paused until /);
    fixture.model.answer(() => ({ text: "HEARTBEAT_OK" }));
    beats.isOn = true;
    expect(typeof (await slot())).toBe("object");
  });
});

describe("somebody who writes while a heartbeat is at work", () => {
  it("gets a turn and an answer of their own", async () => {
    fixture.rules = { queueMode: () => "steer" };
    begin({ isolated: false });
    const gate = Promise.withResolvers<void>();
    fixture.model.answer(async (call) => {
      if (!isBeat(call.said)) return { text: `echo: ${heard(call.said)}` };
      await gate.promise;
      return { text: "HEARTBEAT_OK" };
    });
    clock.pass(EVERY);
    await until(() => fixture.model.calls.length === 1, "the heartbeat's call");
    const row = await boot.tell("hello", "1");
    gate.resolve();
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    expect(shown()).toEqual(["echo: hello"]);
    expect(JSON.stringify(fixture.model.calls.at(-1)?.messages)).not.toContain("This is a heartbeat");
  });
});

describe("news", () => {
  it("start a heartbeat in the conversation that they belong to, whatever its list says", async () => {
    list = undefined;
    await boot.ask("hello", "1");
    begin({ isolated: false });
    found = "The backup is done.";
    const report = await beats.wake(boot.ports.settings().defaultAgent, "Backup finished\nin 3 min");
    const row = report?.row;
    expect(row && (await boot.outcome(row))).toEqual({ kind: "replied" });
    expect(shown()).toEqual(["echo: hello", "The backup is done."]);
    expect(fixture.model.calls.at(-1)?.said).toMatch(/System: \[.*\] Backup finished\nSystem: in 3 min/);
  });

  it("that a heartbeat could not deliver come with the next turn", async () => {
    await boot.ask("hello", "1");
    begin({ isolated: false });
    fixture.model.answer(() => ({ status: 400, message: "no" }));
    const report = await beats.wake(boot.ports.settings().defaultAgent, "Backup finished");
    expect(report?.row && (await boot.outcome(report.row))).toMatchObject({ kind: "failed" });
    await until(() => !boot.dispatch.lanes.isBusy(boot.keyOf("1")));
    fixture.model.answer(() => ({ text: "it is" }));
    await boot.ask("and now?", "1");
    expect(fixture.model.calls.at(-1)?.said).toMatch(/System: \[.*\] Backup finished/);
    expect(JSON.stringify(fixture.model.calls.at(-1)?.messages)).not.toContain("This is a heartbeat");
  });

  it("that can wait come with the next turn and start no heartbeat", async () => {
    await boot.ask("hello", "1");
    begin({ isolated: false });
    expect(await beats.tell(boot.ports.settings().defaultAgent, "Backup finished")).toBe(true);
    await boot.ask("and now?", "1");
    expect(fixture.model.calls.at(-1)?.said).toMatch(/System: \[.*\] Backup finished/);
    expect(beatsAsked()).toBe(0);
  });

  it("that can wait need no heartbeat, only an agent", async () => {
    await boot.ask("hello", "1");
    const agents = () => [...boot.ports.settings().agents.values()].map(({ heartbeat: _none, ...agent }) => agent);
    begin({}, { agents });
    expect(await beats.tell(MAIN, "Backup finished")).toBe(true);
    expect(await beats.tell(agentId("nobody"), "Backup finished")).toBe(false);
    expect(await beats.wake(MAIN, "Backup finished")).toBeUndefined();
    await boot.ask("and now?", "1");
    expect(fixture.model.calls.at(-1)?.said).toMatch(/System: \[.*\] Backup finished/);
  });
});

describe("a restart", () => {
  it("neither brings a heartbeat twice nor loses one that was under way", async () => {
    begin();
    const gate = Promise.withResolvers<void>();
    found = "The mail server is full.";
    fixture.model.answer(async (call) => {
      await gate.promise;
      return { text: isBeat(call.said) ? found : "hi" };
    });
    clock.pass(EVERY);
    await until(() => fixture.model.calls.length === 1, "the heartbeat's call");
    await beats.close();
    await boot.stop();
    gate.resolve();
    boot = await fixture.boot();
    await boot.recover();
    begin();
    const name = `heartbeat:main:${slotAt("main", EVERY, clock.now())}`;
    const row = await boot.journal.inbox.find("heartbeat", "default", name);
    expect(row && (await boot.outcome(row))).toEqual({ kind: "replied" });
    expect(shown()).toEqual(["The mail server is full."]);
    // The same slot once more, as a process that was killed at once would come to it.
    if (row) await boot.dispatch.receive([row.message]);
    await boot.ask("hello", "1");
    expect(shown()).toEqual(["The mail server is full.", "hi"]);
  });

  it("keeps what was said in mid-shutdown for the conversation of its chat", async () => {
    await boot.ask("hello", "1");
    begin();
    const gate = Promise.withResolvers<void>();
    fixture.model.answer(async (call) => {
      if (isBeat(call.said)) await gate.promise;
      return { text: isBeat(call.said) ? "The mail server is full." : "hi" };
    });
    clock.pass(EVERY);
    await until(() => beatsAsked() === 1, "the heartbeat's call");
    await beats.close();
    const closing = boot.dispatch.close(5000);
    gate.resolve();
    await closing;
    await boot.stop();
    boot = await fixture.boot();
    await boot.recover();
    await boot.ask("why?", "1");
    expect(JSON.stringify(fixture.model.calls.at(-1)?.messages)).toContain("[Heartbeat] Unasked");
    begin();
  });

  it("leaves nothing of a heartbeat that became too old in the chat's conversation", async () => {
    await boot.ask("hello", "1");
    const said = nextMessage("This is a heartbeat", "1");
    const key = boot.keyOf("1");
    const options = { operator: true, sessionKey: key, deliverTo: peer("1"), heartbeat: { ackMaxChars: 300 } };
    const [old] = await boot.journal.inbox.accept([{ ...said, sentAt: Date.now() - 86_400_000, options }]);
    if (!old) throw new Error("not accepted");
    const turnId = turnIdOf(old.row);
    await boot.journal.inbox.claim([old.row.id], { sessionKey: key, runId: runIdOf(old.row), turnId });
    const content = [{ type: "text" as const, text: said.text }];
    await boot.use("1", (session) =>
      session.append({ type: "message", message: { role: "user", content, timestamp: 1 } }, { id: turnId }),
    );
    await boot.stop();
    boot = await fixture.boot();
    await boot.recover();
    await boot.dispatch.replies.notes.settle();
    await boot.ask("and now?", "1");
    expect(JSON.stringify(fixture.model.calls.at(-1)?.messages)).not.toContain("This is a heartbeat");
    begin();
  });

  it("sends the chat nothing about a heartbeat that it could not run", async () => {
    begin();
    const said = nextMessage("This is a heartbeat", "1");
    const options = { operator: true, sessionKey: own, deliverTo: peer("1"), heartbeat: { ackMaxChars: 300 } };
    const old = { ...said, sentAt: Date.now() - 86_400_000, options };
    await boot.journal.inbox.accept([old]);
    await boot.recover();
    const row = await boot.journal.inbox.find(old.from.channel, old.from.account, old.eventKey);
    expect(row?.outcome).toMatchObject({ kind: "dropped" });
    expect(shown()).toEqual([]);
  });
});
