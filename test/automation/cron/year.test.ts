import { describe, expect, it } from "vitest";
import { openCronWorld, type CronBoot, type CronWorld } from "../../kit/automation/cron.ts";
import { until } from "../../kit/until.ts";

const START = Date.parse("2027-12-31T22:00:00Z");
const END = Date.parse("2028-12-31T22:00:00Z");
const HOUR = 3_600_000;
const MINUTE = 60_000;
const GRACE = 120_000;
const ZONES = ["Europe/Vienna", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"];

/** Minutes of the zone's clocks since 1970 for each minute of the year, the one before it included. */
function wallOf(zone: string): Int32Array {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  let offset = 0;
  // The offsets of these zones change at full and half hours.
  return Int32Array.from({ length: (END - START) / MINUTE + 3 * 1440 }, (_, index) => {
    const at = START + index * MINUTE;
    if (index === 0 || at % (HOUR / 2) === 0) offset = offsetAt(format, at);
    return at / MINUTE + offset;
  });
}

function offsetAt(format: Intl.DateTimeFormat, at: number): number {
  const text = format.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? "";
  const [, sign = "+", hours = "0", minutes = "0"] = /GMT(?:([+-])(\d+):(\d+))?/.exec(text) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

interface Plan {
  readonly expr: string;
  readonly zone: string;
  readonly minute: number;
  /** A single hour; every hour of certain months when unset. */
  readonly hour?: number;
  readonly day?: number;
  readonly month?: number;
  readonly weekday?: number;
}

/** A small generator of numbers, so that a failure can be repeated. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function planOf(index: number, below: (most: number) => number): Plan {
  const zone = ZONES[below(ZONES.length)] ?? "UTC";
  const minute = below(60);
  const hour = below(3) === 0 ? 2 : below(24);
  // Each hour of the months in which clocks change.
  if (index < 1) return { expr: `${minute} * * 3,4,10,11 *`, zone, minute };
  if (index % 20 === 0) return { expr: `${minute} ${hour} * * *`, zone, minute, hour };
  if (index % 4 === 1) {
    const day = below(10) === 0 ? 29 : 1 + below(28);
    return { expr: `${minute} ${hour} ${day} * *`, zone, minute, hour, day };
  }
  if (index % 40 === 2) return { expr: `${minute} ${hour} 29 2 *`, zone, minute, hour, day: 29, month: 2 };
  const weekday = below(7);
  return { expr: `${minute} ${hour} * * ${weekday}`, zone, minute, hour, weekday };
}

const DAY_MINUTES = 1440;
const CHANGING = new Set([3, 4, 10, 11]);
const monthOf = (wall: number): number => new Date(wall * MINUTE).getUTCMonth() + 1;

/** The slots of a plan, computed by looking at each minute of the year. */
function slotsOf(plan: Plan, wall: Int32Array): number[] {
  const { minute, hour } = plan;
  const found: number[] = [];
  const days = new Set<number>();
  for (let index = 1; index < wall.length; index += 1) {
    const now = wall[index] ?? 0;
    if (hour === undefined) {
      if (now % 60 === minute && CHANGING.has(monthOf(now))) found.push(START + index * MINUTE);
      continue;
    }
    const day = Math.floor(now / DAY_MINUTES);
    const wanted = day * DAY_MINUTES + hour * 60 + minute;
    // Clocks that are put forward over the time: the first minute after the gap. Put back over it: the first of both.
    const isTime = now === wanted || (now > wanted && (wall[index - 1] ?? 0) < wanted);
    if (!isTime || days.has(day) || !isDay(plan, day)) continue;
    days.add(day);
    found.push(START + index * MINUTE);
  }
  return found;
}

function isDay({ day, month, weekday }: Plan, wallDay: number): boolean {
  const date = new Date(wallDay * DAY_MINUTES * MINUTE);
  return (
    (day === undefined || date.getUTCDate() === day) &&
    (month === undefined || date.getUTCMonth() + 1 === month) &&
    (weekday === undefined || date.getUTCDay() === weekday)
  );
}

interface Job {
  readonly id: string;
  readonly name: string;
  readonly missed: "skip" | "once" | "all";
  readonly slots: readonly number[];
  /** Slots that have come and were to be begun. */
  readonly expected: number[];
  /** The first of `slots` that has not come yet. */
  next: number;
}

/** What the gateway is to begin when it looks at a job again. */
function look(job: Job, now: number): void {
  const { slots } = job;
  const first = job.next;
  while ((slots[job.next] ?? Infinity) <= now) job.next += 1;
  const passed = slots.slice(first, job.next);
  const latest = passed.at(-1);
  if (latest === undefined) return;
  if (job.missed === "all") job.expected.push(...passed.slice(-20));
  else if (job.missed === "once" || now - latest <= GRACE) job.expected.push(latest);
}

async function settle(world: CronWorld, boot: CronBoot, jobs: readonly Job[]): Promise<void> {
  const wanted = jobs.reduce((sum, { expected }) => sum + expected.length, 0);
  await until(() => world.begun.length >= wanted && boot.desk.status().running === 0);
  const { nextWakeAtMs = Infinity } = boot.desk.status();
  if (nextWakeAtMs <= world.clock.now())
    await until(() => (boot.desk.status().nextWakeAtMs ?? Infinity) > world.clock.now());
}

async function addJobs(boot: CronBoot, below: (most: number) => number): Promise<readonly Job[]> {
  const walls = new Map(ZONES.map((zone) => [zone, wallOf(zone)]));
  const jobs: Job[] = [];
  for (let index = 0; index < 200; index += 1) {
    const plan = planOf(index, below);
    const missed = (["skip", "once", "all"] as const)[below(3)] ?? "skip";
    const schedule = { kind: "cron", expr: plan.expr, tz: plan.zone, staggerMs: 0 };
    const job = { schedule, message: "look", missed, delivery: { mode: "none" } };
    const added = await boot.desk.add(job, { setUpBy: "owner" });
    if (!("view" in added)) throw new Error(JSON.stringify(added));
    const slots = slotsOf(plan, walls.get(plan.zone) ?? new Int32Array());
    jobs.push({ id: added.view.id, name: `${plan.expr} ${plan.zone} ${missed}`, missed, slots, expected: [], next: 0 });
  }
  return jobs;
}

/** The clock runs to the next slot, or sleeps, or is put back. */
function passTime(world: CronWorld, boot: CronBoot, chance: number, below: (most: number) => number): void {
  const { nextWakeAtMs = END } = boot.desk.status();
  if (chance === 0) world.clock.pass(below(40) * HOUR);
  else if (chance === 1) world.clock.pass(-below(3) * HOUR);
  else world.clock.pass(Math.max(MINUTE, Math.min(nextWakeAtMs, END) - world.clock.now()));
}

async function lookAtAll(world: CronWorld, boot: CronBoot, jobs: readonly Job[]): Promise<void> {
  for (const job of jobs) look(job, world.clock.now());
  await settle(world, boot, jobs);
}

async function restart(world: CronWorld, boot: CronBoot, offMs: number): Promise<CronBoot> {
  await boot.kill();
  world.clock.pass(offMs);
  const next = await world.boot();
  next.scheduler.start();
  return next;
}

/** Slots by job, in the order in which they began. */
function begunSlots(world: CronWorld): ReadonlyMap<string, readonly number[]> {
  const begun = new Map<string, number[]>();
  for (const { eventKey } of world.begun) {
    const [, id = "", , slot] = eventKey.split(":");
    begun.set(id, [...(begun.get(id) ?? []), Number(slot)]);
  }
  return begun;
}

const iso = (slots: readonly number[] = []) => slots.map((slot) => new Date(slot).toISOString());

describe("a year of 200 jobs", () => {
  it(
    "begins each slot once, through daylight saving, a leap day, jumps of the clock, sleeps, restarts and kills",
    { timeout: 300_000 },
    async () => {
      const below = random(20_281);
      const world = await openCronWorld(START);
      world.rules = { ...world.rules, maxConcurrentRuns: 1000 };
      let boot = await world.boot();
      const jobs = await addJobs(boot, below);
      boot.scheduler.start();
      while (world.clock.now() < END) {
        const chance = below(400);
        passTime(world, boot, chance, below);
        // The process dies in the middle of what it does, or is off for a while when it has nothing to do.
        const isKilled = chance >= 5 && chance < 10;
        if (!isKilled) await lookAtAll(world, boot, jobs);
        if (chance < 2 || chance >= 10) continue;
        boot = await restart(world, boot, isKilled ? 0 : below(30) * HOUR);
        await lookAtAll(world, boot, jobs);
      }
      const begun = begunSlots(world);
      for (const { id, name, expected } of jobs)
        expect([name, ...iso(begun.get(id))]).toEqual([name, ...iso(expected)]);
      expect(world.begun.length).toBeGreaterThan(8000);
      await boot.kill();
      await world.close();
    },
  );
});
