import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CronRun } from "../../../src/types/cron/run.ts";
import type { Outcome } from "../../../src/types/journal.ts";
import { openCronWorld, CRON_RULES, type CronBoot, type CronWorld } from "../../kit/automation/cron.ts";
import { until } from "../../kit/until.ts";
import { expectShape } from "../../server/shapes.ts";

const START = Date.parse("2026-11-26T08:00:00Z");
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let world: CronWorld;
let boot: CronBoot;

beforeEach(async () => {
  world = await openCronWorld(START);
  boot = await world.boot();
  boot.scheduler.start();
});
afterEach(async () => {
  await boot.kill();
  await world.close();
});

async function add(job: object): Promise<string> {
  const added = await boot.desk.add(
    { payload: { kind: "agentTurn", message: "look" }, delivery: { mode: "none" }, ...job },
    { setUpBy: "owner" },
  );
  if (!("view" in added)) throw new Error(JSON.stringify(added));
  return added.view.id;
}

/** An hour passes, and the process is killed when the inbox has the slot, before the job knows of it. */
async function killOnceBegun(): Promise<void> {
  const killed = new Promise<void>((resolve) => {
    world.accepted = () => resolve(boot.kill());
  });
  world.clock.pass(HOUR);
  await killed;
  world.accepted = () => undefined;
}

const hourly = { schedule: { kind: "every", everyMs: HOUR } };
const once = { schedule: { kind: "at", at: new Date(START + MINUTE).toISOString() } };

async function records(jobId?: string): Promise<readonly CronRun[]> {
  return (await world.journal.cron.runs({ jobId, limit: 200, offset: 0, isOldestFirst: true })).runs;
}

/** The time passes, and so many records are there afterwards. */
async function pass(ms: number, count: number): Promise<readonly CronRun[]> {
  world.clock.pass(ms);
  await until(async () => (await records()).length >= count);
  return records();
}

async function restart(): Promise<void> {
  await boot.kill();
  boot = await world.boot();
  boot.scheduler.start();
}

describe("a job that is due once", () => {
  it("runs at its time and is removed after it succeeded", async () => {
    const id = await add(once);
    const [run] = await pass(MINUTE, 1);
    expect(run).toMatchObject({ jobId: id, status: "ok", completionStatus: "succeeded", slotAtMs: START + MINUTE });
    expect(world.begun).toHaveLength(1);
    await until(() => boot.desk.get(id) === undefined);
  });

  it("stays, switched off, when that is wanted, and when it failed for good", async () => {
    const kept = await add({ ...once, deleteAfterRun: false });
    await pass(MINUTE, 1);
    await until(() => boot.desk.get(kept)?.enabled === false);
    world.outcome = () => ({ kind: "failed", why: "auth: the key is not valid" });
    const failed = await add({ schedule: { kind: "at", at: "1m" } });
    const runs = await pass(MINUTE, 2);
    expect(runs[1]).toMatchObject({ status: "error", errorReason: "auth", error: "auth: the key is not valid" });
    await until(() => boot.desk.get(failed)?.enabled === false);
  });

  it("is tried again after a failure that may be over soon, three times", async () => {
    world.outcome = () => ({ kind: "failed", why: "overloaded: try later" });
    const id = await add(once);
    await pass(MINUTE, 1);
    await pass(MINUTE, 2);
    await pass(2 * MINUTE, 3);
    await pass(5 * MINUTE, 4);
    await until(() => boot.desk.get(id)?.enabled === false);
    expect(new Set(world.begun.map(({ eventKey }) => eventKey)).size).toBe(4);
  });

  it("that was due while the gateway was off runs late and says so", async () => {
    await add(once);
    await boot.kill();
    world.clock.pass(3 * HOUR);
    boot = await world.boot();
    boot.scheduler.start();
    await until(() => world.begun.length === 1);
    expect(world.begun[0]?.text).toContain("2 h 59 min late");
  });

  it("is refused for a time in the past", async () => {
    await expect(add({ schedule: { kind: "at", at: "2026-01-01T00:00:00Z" } })).rejects.toThrow("in the past");
  });
});

describe("a job that repeats", () => {
  it("runs at each of its times, and each time once through a restart", async () => {
    await add(hourly);
    await pass(HOUR, 1);
    await restart();
    await pass(HOUR, 2);
    await restart();
    expect(world.begun.map(({ receivedAt }) => receivedAt)).toEqual([START + HOUR, START + 2 * HOUR]);
  });

  it("skips what it missed when it comes again soon, and runs late what waits a day", async () => {
    await add(hourly);
    await add({ schedule: { kind: "cron", expr: "0 12 * * *", tz: "UTC", staggerMs: 0 }, name: "daily" });
    await boot.kill();
    world.clock.pass(5 * HOUR + 30 * MINUTE);
    boot = await world.boot();
    boot.scheduler.start();
    await until(async () => (await records()).length >= 2 && world.begun.length === 1);
    expect(world.begun[0]?.text).toContain("daily");
    const skipped = (await records()).filter(({ status }) => status === "skipped");
    expect(skipped.length).toBeGreaterThan(0);
    expect(skipped[0]?.summary).toContain("missed");
  });

  it.each([
    ["all", 5],
    ["once", 1],
    ["skip", 0],
  ] as const)("deals with missed slots as %s says", async (missed, begun) => {
    await add({ ...hourly, missed });
    await boot.kill();
    world.clock.pass(5 * HOUR + 30 * MINUTE);
    boot = await world.boot();
    boot.scheduler.start();
    await until(async () => (await records()).at(-1)?.slotAtMs === START + 5 * HOUR);
    expect(world.begun).toHaveLength(begun);
  });

  it("does not overlap itself: a slot that passes during a run is skipped", async () => {
    world.outcome = () => undefined;
    await add({ schedule: { kind: "every", everyMs: 10 * MINUTE } });
    world.clock.pass(10 * MINUTE);
    await until(() => world.begun.length === 1);
    world.clock.pass(10 * MINUTE);
    const [skipped] = await pass(3 * MINUTE, 1);
    expect(skipped).toMatchObject({ status: "skipped", summary: "the previous run was still active" });
    await world.end(world.begun[0]!, { kind: "replied" });
    await until(async () => (await records()).length === 2);
    world.outcome = () => ({ kind: "replied" });
    await pass(7 * MINUTE, 3);
    expect(world.begun).toHaveLength(2);
  });

  it("rests after failures, is switched off after ten, and tells about them without a model", async () => {
    world.outcome = () => ({ kind: "failed", why: "billing: no credit" });
    const id = await add({ ...hourly, name: "report", failureAlert: { to: "1001", channel: "telegram" } });
    for (let count = 1; count <= 10; count += 1) await pass(HOUR, count);
    await until(() => boot.desk.get(id)?.enabled === false);
    expect(boot.desk.get(id)?.state.autoDisabled).toMatchObject({
      reason: "consecutive-failures",
      consecutiveErrors: 10,
    });
    expect(world.alerts[0]?.text).toContain('"report" failed 2 times in a row: billing: no credit');
    expect(world.alerts[0]?.to).toMatchObject({ channel: "telegram", to: "1001" });
    expect(world.alerts[0]?.text).toMatch(/no credit\n\nSee `openclaw cron runs --id/);
    expect(world.alerts.at(-1)?.text).toMatch(/no credit\n\nIt is switched off now\. See `openclaw cron runs --id/);
  });

  it("waits longer after each failure, and its skipped slots say why", async () => {
    world.outcome = () => ({ kind: "failed", why: "overloaded: later" });
    await add({ schedule: { kind: "every", everyMs: 20_000 } });
    await pass(20_000, 1);
    const [, skipped] = await pass(20_000, 2);
    expect(skipped).toMatchObject({ status: "skipped" });
    expect(skipped?.summary).toContain("failed 1 times in a row and waits until");
    world.outcome = () => ({ kind: "replied" });
    await pass(20_000, 3);
    expect(world.begun).toHaveLength(2);
  });

  it("runs the changed schedule from the change on, and nothing while it is off", async () => {
    const id = await add(hourly);
    await boot.desk.update(id, { schedule: { kind: "every", everyMs: 2 * HOUR } });
    world.clock.pass(HOUR);
    await pass(HOUR, 1);
    expect(world.begun).toHaveLength(1);
    await boot.desk.update(id, { enabled: false });
    world.clock.pass(10 * HOUR);
    await boot.desk.update(id, { enabled: true });
    await pass(2 * HOUR, 2);
    expect(world.begun).toHaveLength(2);
  });
});

describe("a job that is changed while its run is active", () => {
  const later = { kind: "at", at: new Date(START + HOUR).toISOString() };
  const schedules = { once, repeated: hourly, paced: { ...hourly, pacing: { min: "15m", max: "4h" } } };
  const outcomes: Readonly<Record<string, Outcome>> = {
    success: { kind: "replied" },
    "a passing failure": { kind: "failed", why: "overloaded: try later" },
    "a lasting failure": { kind: "failed", why: "auth: the key is not valid" },
  };
  const cases = Object.keys(schedules).flatMap((name) => Object.keys(outcomes).map((end) => [name, end] as const));

  it.each(cases)("keeps its new time, when it is due %s and its run ends in %s", async (name, end) => {
    world.outcome = () => undefined;
    const id = await add({ ...schedules[name as keyof typeof schedules], deleteAfterRun: true });
    world.clock.pass(HOUR / 2);
    if (name !== "once") world.clock.pass(HOUR / 2);
    await until(() => boot.desk.status().running === 1);
    if (name === "paced") await boot.desk.nextCheck(id, 3 * HOUR);
    const now = world.clock.now();
    const at = new Date(now + 10 * MINUTE).toISOString();
    expect(await boot.desk.update(id, { schedule: { ...later, at }, pacing: null })).not.toHaveProperty("problem");
    await restart();
    await world.end(world.begun[0]!, outcomes[end]!);
    await until(async () => (await records()).length === 1);
    expect((await records())[0]).toMatchObject({ jobId: id, status: end === "success" ? "ok" : "error" });
    await until(() => boot.desk.status().running === 0);
    expect(boot.desk.get(id)).toMatchObject({ enabled: true, state: { nextRunAtMs: now + 10 * MINUTE } });
    world.outcome = () => ({ kind: "replied" });
    await pass(10 * MINUTE, 2);
    await until(() => boot.desk.get(id) === undefined);
    expect(world.begun).toHaveLength(2);
  });

  it("runs at a new time that has just passed, before the slot that is active", async () => {
    world.outcome = () => undefined;
    const id = await add(once);
    world.clock.pass(MINUTE);
    await until(() => boot.desk.status().running === 1);
    await boot.desk.update(id, { schedule: { kind: "at", at: new Date(START + MINUTE / 2).toISOString() } });
    world.outcome = () => ({ kind: "replied" });
    await world.end(world.begun[0]!, { kind: "replied" });
    await until(() => world.begun.length === 2);
    await until(() => boot.desk.get(id) === undefined);
  });

  it("stays as it is when a run ends that was asked for", async () => {
    world.outcome = () => undefined;
    const id = await add(once);
    expect(await boot.desk.run(id, "force")).toHaveProperty("runId");
    await world.end(world.begun[0]!, { kind: "replied" });
    await until(async () => (await records()).length === 1);
    expect(boot.desk.get(id)).toMatchObject({ enabled: true });
  });
});

describe("a job whose runs choose when the next one comes", () => {
  const paced = { ...hourly, pacing: { min: "15m", max: "4h" } };

  /** The run that is due chooses, and ends. */
  async function choose(id: string, ms: number, count: number, outcome: Outcome = { kind: "replied" }): Promise<void> {
    await until(() => world.begun.length === count && boot.desk.status().running === 1);
    expect(await boot.desk.nextCheck(id, ms)).toMatchObject({ ok: true });
    const running = world.begun[count - 1];
    if (running) await world.end(running, outcome);
    await until(async () => (await records()).length === count);
  }

  it("comes then, within the bounds, also after a restart; slots before it are left out without a record", async () => {
    const id = await add(paced);
    world.outcome = () => undefined;
    world.clock.pass(HOUR);
    await choose(id, MINUTE, 1);
    expect(boot.desk.get(id)?.state.nextRunAtMs).toBe(START + HOUR + 15 * MINUTE);
    await restart();
    world.clock.pass(15 * MINUTE);
    await choose(id, 10 * HOUR, 2);
    const next = START + 5 * HOUR + 15 * MINUTE;
    expect(boot.desk.get(id)?.state.nextRunAtMs).toBe(next);
    world.clock.pass(3 * HOUR);
    await boot.kill();
    world.clock.pass(2 * HOUR);
    boot = await world.boot();
    boot.scheduler.start();
    await until(() => world.begun.length === 3);
    expect(world.begun[2]?.text).toContain("1 h late");
    const runs = await records();
    expect(runs.map(({ slotAtMs }) => slotAtMs)).toEqual([START + HOUR, START + HOUR + 15 * MINUTE]);
  });

  it("comes by its schedule when the run failed, and without a choice", async () => {
    const id = await add(paced);
    world.outcome = () => undefined;
    world.clock.pass(HOUR);
    await choose(id, 30 * MINUTE, 1, { kind: "failed", why: "auth: no" });
    expect(boot.desk.get(id)?.state.nextRunAtMs).toBe(START + 2 * HOUR);
    expect(await boot.desk.nextCheck(id, MINUTE)).toBe("No run of this job is active.");
    const other = await add(hourly);
    expect(await boot.desk.nextCheck(other, MINUTE)).toContain("no pacing");
    await expect(add({ ...once, pacing: { min: "5m" } })).rejects.toThrow("no next time");
    await expect(add({ ...hourly, pacing: { min: "5m", max: "1m" } })).rejects.toThrow("longer than max");
    await expect(add({ ...hourly, pacing: {} })).rejects.toThrow("min, max or both");
  });
});

describe("the scheduler", () => {
  it("begins a slot once when it is killed right after the slot is durable", async () => {
    await add(hourly);
    await killOnceBegun();
    boot = await world.boot();
    boot.scheduler.start();
    await until(async () => (await records()).length === 1);
    expect(world.begun).toHaveLength(1);
    await pass(HOUR, 2);
    expect(world.begun).toHaveLength(2);
  });

  it("skips no slot that was begun right before a kill, however many have passed since", async () => {
    await add({ ...hourly, missed: "all" });
    await killOnceBegun();
    world.clock.pass(30 * HOUR);
    boot = await world.boot();
    boot.scheduler.start();
    await until(async () => (await records()).length === 22);
    const [first, skipped] = await records();
    expect(first).toMatchObject({ status: "ok", slotAtMs: START + HOUR });
    expect(skipped).toMatchObject({ status: "skipped", slotAtMs: START + 11 * HOUR });
    expect(skipped?.summary).toContain(`(with all slots since ${new Date(START + 2 * HOUR).toISOString()})`);
    expect(new Set(world.begun.map(({ eventKey }) => eventKey)).size).toBe(world.begun.length);
    expect(world.begun).toHaveLength(21);
  });

  it("follows a run that it finds at its start", async () => {
    world.outcome = () => undefined;
    await add(hourly);
    world.clock.pass(HOUR);
    await until(() => [...boot.desk.list({}).jobs].some(({ state }) => state.runningAtMs !== undefined));
    await boot.kill();
    boot = await world.boot();
    boot.scheduler.start();
    await world.end(world.begun[0]!, { kind: "failed", why: "network: gone" });
    await until(async () => (await records())[0]?.status === "error");
  });

  it("has no more jobs under way than it may, and loses none", async () => {
    world.rules = { ...CRON_RULES, maxConcurrentRuns: 2 };
    world.outcome = () => undefined;
    for (let count = 0; count < 5; count += 1) await add(once);
    world.clock.pass(MINUTE);
    for (let count = 2; count <= 5; count += 1) {
      await until(() => world.begun.length === count);
      expect(boot.desk.status().running).toBeLessThanOrEqual(2);
      await world.end(world.begun[count - 2]!, { kind: "replied" });
    }
    await world.end(world.begun[4]!, { kind: "replied" });
    await until(async () => (await records()).length === 5);
  });

  it("keeps a slot that the disk did not take, and runs it later", async () => {
    await add(once);
    world.isFull = true;
    world.clock.pass(MINUTE);
    await until(() => world.log.lines.some((line) => line.includes("disk is full")));
    world.isFull = false;
    await pass(10_000, 1);
    expect(world.begun).toHaveLength(1);
  });

  it("fails a run that has no chat to report to, unless that does not matter", async () => {
    world.problem = "no owner has written yet";
    await add({ ...once, delivery: { mode: "announce" } });
    const [run] = await pass(MINUTE, 1);
    expect(run).toMatchObject({ status: "error", error: "no owner has written yet", deliveryStatus: "not-delivered" });
    expect(world.begun).toHaveLength(0);
    await add({ schedule: { kind: "at", at: "1m" }, delivery: { mode: "announce", bestEffort: true } });
    await pass(MINUTE, 2);
    expect(world.begun).toHaveLength(1);
  });

  it("calls a webhook once with the record, and a failure of it fails the run", async () => {
    world.webhook = { status: "not-delivered", error: "the webhook answered 500" };
    await add({ ...once, delivery: { mode: "webhook", to: "https://example.org/hook" } });
    const [run] = await pass(MINUTE, 1);
    expect(run).toMatchObject({ status: "error", error: "not delivered: the webhook answered 500" });
    expect(world.calls).toMatchObject([{ url: "https://example.org/hook", run: { status: "ok", summary: "done" } }]);
  });

  it("tells clients of starts and ends in the protocol's words", async () => {
    world.outcome = () => ({ kind: "failed", why: "model_missing: no such model" });
    const id = await add({ schedule: { kind: "every", everyMs: HOUR } });
    await pass(HOUR, 1);
    await until(() => world.events.some(({ action }) => action === "finished"));
    const finished = world.events.find(({ action }) => action === "finished");
    expectShape("CronRunLogEntry", finished);
    expect(finished).toMatchObject({ jobId: id, errorReason: "model_not_found", nextRunAtMs: START + 2 * HOUR });
    expect(world.events.map(({ action }) => action)).toEqual(["added", "started", "finished"]);
    for (const { action, job } of world.events) if (action === "added") expectShape("CronJob", job);
  });

  it("takes the agent's word for a failure", async () => {
    world.answer = "AUTOMATION_FAILED\nthe mailbox is locked";
    await add(once);
    const [run] = await pass(MINUTE, 1);
    expect(run).toMatchObject({ status: "error", error: "the mailbox is locked" });
  });

  it("runs a job on request, beside its times", async () => {
    const id = await add(hourly);
    expect(await boot.desk.run(id, "due")).toEqual({ reason: "not-due" });
    expect(await boot.desk.run(id, "force")).toHaveProperty("runId");
    await until(async () => (await records()).length === 1);
    await pass(HOUR, 2);
    world.outcome = () => undefined;
    await boot.desk.run(id, "force");
    expect(await boot.desk.run(id, "force")).toEqual({ reason: "already-running" });
    expect(await boot.desk.run("nothing", "force")).toEqual({ missing: "nothing" });
  });

  it("records what could not begin under the id that whoever asked for it was given", async () => {
    const id = await add(hourly);
    world.problem = "there is no chat for it";
    const begun = await boot.desk.run(id, "force");
    if (!("runId" in begun)) throw new Error("not begun");
    const { entries } = await boot.desk.runs({ runId: begun.runId, limit: 1, offset: 0 });
    expect(entries).toMatchObject([{ status: "error", error: "there is no chat for it" }]);
  });

  it("leaves the times of a job alone that is declared again", async () => {
    const declared = { ...hourly, declarationKey: "plugin:hourly" };
    const id = await add(declared);
    const next = boot.desk.get(id)?.state.nextRunAtMs;
    world.clock.pass(20 * MINUTE);
    await restart();
    expect(await add(declared)).toBe(id);
    expect(boot.desk.get(id)?.state.nextRunAtMs).toBe(next);
    expect(
      await boot.desk.add({ ...declared, message: "look", delivery: { mode: "none" } }, { setUpBy: "owner" }),
    ).toMatchObject({
      created: false,
      updated: false,
    });
    await add({ ...declared, schedule: { ...hourly.schedule, anchorMs: START } });
    expect(boot.desk.get(id)?.state.nextRunAtMs).toBe(START + HOUR);
  });

  it("adds a reminder for later to the next turn without a run", async () => {
    await add({
      ...once,
      payload: { kind: "systemEvent", text: "tea" },
      wakeMode: "next-heartbeat",
      delivery: undefined,
    });
    await pass(MINUTE, 1);
    expect(world.told).toEqual(["tea"]);
    expect(world.begun).toHaveLength(0);
  });

  it("neither loses nor doubles a slot when the clock is put back", async () => {
    await add(hourly);
    await pass(HOUR, 1);
    world.clock.pass(-30 * MINUTE);
    world.clock.pass(45 * MINUTE);
    expect(world.begun).toHaveLength(1);
    await pass(45 * MINUTE, 2);
    expect(world.begun).toHaveLength(2);
  });
});
