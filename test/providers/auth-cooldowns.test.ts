import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { openCooldowns, readCooldowns } from "../../src/providers/auth/cooldowns-file.ts";
import { Cooldowns, type ProfileModel } from "../../src/providers/auth/cooldowns.ts";
import { authConfig } from "../../src/providers/config.ts";
import { FAILURE_KINDS, type FailureKind } from "../../src/types/run/run.ts";
import { silentLog, stoppedClock } from "./stage.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const settings = authConfig.parse({}).cooldowns;
const RESTING = ["rate_limit", "overloaded", "timeout", "billing", "auth"] as const;

const pair = (profile: string, id = "m1", provider = "p"): ProfileModel => ({ profile, model: { provider, id } });
const KEY = pair("p:a");

/** Minutes from now until the key may be asked again. */
function restOf(rests: Cooldowns, clock: { now(): number }, key = KEY): number {
  const state = rests.peek(key);
  return state.kind === "cooling" ? (state.until - clock.now()) / MINUTE : 0;
}

describe("how long a key cools down", () => {
  /** Fails again as soon as each rest is over. */
  function lengths(kind: FailureKind, times: number, own = settings, key = KEY): number[] {
    const clock = stoppedClock();
    const rests = new Cooldowns(clock);
    return Array.from({ length: times }, () => {
      rests.failed(key, { kind }, own);
      const minutes = restOf(rests, clock, key);
      clock.pass(minutes * MINUTE);
      return minutes;
    });
  }

  it.each(["rate_limit", "overloaded", "timeout"] as const)("grows in steps up to an hour: %s", (kind) => {
    expect(lengths(kind, 6)).toEqual([1, 5, 25, 60, 60, 60]);
  });

  it("doubles from five hours to a day without money, from ten minutes to an hour without leave", () => {
    expect(lengths("billing", 5)).toEqual([5, 10, 20, 24, 24].map((hours) => hours * 60));
    expect(lengths("auth", 5)).toEqual([10, 20, 40, 60, 60]);
  });

  it("follows the config", () => {
    const own = authConfig.parse({
      cooldowns: {
        billingBackoffHours: 2,
        billingMaxHours: 3,
        billingBackoffHoursByProvider: { other: 1 },
        authPermanentBackoffMinutes: 1,
        authPermanentMaxMinutes: 2,
      },
    }).cooldowns;
    expect(lengths("billing", 2, own)).toEqual([120, 180]);
    expect(lengths("billing", 3, own, pair("o:a", "m", "other"))).toEqual([60, 120, 180]);
    expect(lengths("auth", 3, own)).toEqual([1, 2, 2]);
  });

  it("is what the provider asks for when that is longer, a day at most", () => {
    const clock = stoppedClock();
    const after = (retryAfterMs: number) => {
      const rests = new Cooldowns(clock);
      rests.failed(KEY, { kind: "rate_limit", retryAfterMs }, settings);
      return restOf(rests, clock);
    };
    expect([after(5000), after(90 * MINUTE), after(1e12)]).toEqual([1, 90, 24 * 60]);
  });

  it("begins again when the window has passed without a failure", () => {
    const clock = stoppedClock();
    const rests = new Cooldowns(clock);
    rests.failed(KEY, { kind: "rate_limit" }, settings);
    clock.pass(MINUTE + 24 * HOUR);
    expect(rests.peek(KEY)).toEqual({ kind: "ready" });
    rests.failed(KEY, { kind: "rate_limit" }, settings);
    expect(restOf(rests, clock)).toBe(1);
  });

  it("counts failures side by side once, and takes the longest Retry-After of them", () => {
    const clock = stoppedClock();
    const rests = new Cooldowns(clock);
    for (let run = 0; run < 5; run += 1) rests.failed(KEY, { kind: "rate_limit" }, settings);
    expect(restOf(rests, clock)).toBe(1);
    rests.failed(KEY, { kind: "rate_limit", retryAfterMs: 3 * MINUTE }, settings);
    rests.failed(KEY, { kind: "rate_limit", retryAfterMs: 2 * MINUTE }, settings);
    expect(restOf(rests, clock)).toBe(3);
  });

  it.each(FAILURE_KINDS.filter((kind) => !RESTING.some((resting) => resting === kind)))("is nothing for %s", (kind) => {
    const rests = new Cooldowns(stoppedClock());
    rests.failed(KEY, { kind }, settings);
    expect(rests.peek(KEY)).toEqual({ kind: "ready" });
  });
});

describe("after a cooldown", () => {
  function rested() {
    const clock = stoppedClock();
    const rests = new Cooldowns(clock);
    rests.failed(KEY, { kind: "rate_limit" }, settings);
    clock.pass(MINUTE);
    return { clock, rests };
  }

  it("one run asks first and the others wait for it", () => {
    const { clock, rests } = rested();
    expect([rests.claim(KEY).kind, rests.claim(KEY).kind, rests.peek(KEY).kind]).toEqual([
      "probe",
      "cooling",
      "cooling",
    ]);
    rests.succeeded(KEY);
    expect(rests.claim(KEY)).toEqual({ kind: "ready" });
    rests.failed(KEY, { kind: "rate_limit" }, settings);
    expect(restOf(rests, clock)).toBe(1);
  });

  it("looking takes no probe", () => {
    const { rests } = rested();
    expect([rests.peek(KEY).kind, rests.peek(KEY).kind, rests.claim(KEY).kind]).toEqual(["probe", "probe", "probe"]);
  });

  it("a failed probe lengthens the cooldown", () => {
    const { clock, rests } = rested();
    rests.claim(KEY);
    rests.failed(KEY, { kind: "rate_limit" }, settings);
    expect(restOf(rests, clock)).toBe(5);
  });

  it.each<[string, (rests: Cooldowns, clock: ReturnType<typeof stoppedClock>) => void]>([
    ["was given back", (rests) => rests.released(KEY)],
    ["ended in something that is not the key's fault", (rests) => rests.failed(KEY, { kind: "format" }, settings)],
    ["was never heard of again", (_rests, clock) => clock.pass(120_000)],
  ])("another run may ask when the probe %s", (_name, end) => {
    const { clock, rests } = rested();
    rests.claim(KEY);
    end(rests, clock);
    expect(rests.claim(KEY).kind).toBe("probe");
  });

  it("waits for the longest of several reasons", () => {
    const clock = stoppedClock();
    const rests = new Cooldowns(clock);
    rests.failed(KEY, { kind: "rate_limit" }, settings);
    rests.failed(KEY, { kind: "auth" }, settings);
    expect(rests.peek(KEY)).toEqual({ kind: "cooling", until: clock.now() + 10 * MINUTE, because: "auth" });
    clock.pass(2 * MINUTE);
    expect(rests.peek(KEY)).toMatchObject({ kind: "cooling", because: "auth" });
  });
});

describe("whatever happens", () => {
  const profiles = ["p:a", "p:b"];
  const models = ["m1", "m2"];
  const place = fc.record({ profile: fc.constantFrom(...profiles), model: fc.constantFrom(...models) });
  const step = fc.oneof(
    fc.record({ do: fc.constant("fail" as const), at: place, kind: fc.constantFrom(...FAILURE_KINDS) }),
    fc.record({ do: fc.constant("succeed" as const), at: place }),
    fc.record({ do: fc.constant("claim" as const), at: place }),
    fc.record({ do: fc.constant("release" as const), at: place }),
    fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 0, max: 3 * HOUR }) }),
    fc.record({ do: fc.constant("step back" as const), ms: fc.integer({ min: 0, max: 48 * HOUR }) }),
  );
  type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
  const pairAt = ({ profile, model }: { profile: string; model: string }) => pair(profile, model);

  function play(rests: Cooldowns, clock: ReturnType<typeof stoppedClock>, next: Step): void {
    if (next.do === "fail") rests.failed(pairAt(next.at), { kind: next.kind }, settings);
    if (next.do === "succeed") rests.succeeded(pairAt(next.at));
    if (next.do === "claim") rests.claim(pairAt(next.at));
    if (next.do === "release") rests.released(pairAt(next.at));
    if (next.do === "pass") clock.pass(next.ms);
    if (next.do === "step back") clock.pass(-next.ms);
  }
  const all = profiles.flatMap((profile) => models.map((model) => pair(profile, model)));

  it("a failure touches no other model and no other key", () => {
    fc.assert(
      fc.property(fc.array(step), place, fc.constantFrom(...FAILURE_KINDS), (steps, at, kind) => {
        const clock = stoppedClock();
        const rests = new Cooldowns(clock);
        for (const next of steps) play(rests, clock, next);
        const others = all.filter((other) => JSON.stringify(other) !== JSON.stringify(pairAt(at)));
        const before = others.map((other) => rests.peek(other));
        rests.failed(pairAt(at), { kind }, settings);
        expect(others.map((other) => rests.peek(other))).toEqual(before);
      }),
      { numRuns: 100 },
    );
  });

  it("at most one of many callers gets the probe, and a success makes it ready for all", () => {
    fc.assert(
      fc.property(fc.array(step), place, fc.integer({ min: 1, max: 8 }), (steps, at, callers) => {
        const clock = stoppedClock();
        const rests = new Cooldowns(clock);
        for (const next of steps) play(rests, clock, next);
        const before = rests.peek(pairAt(at)).kind;
        const claims = Array.from({ length: callers }, () => rests.claim(pairAt(at)).kind);
        expect(claims.filter((kind) => kind === "probe")).toHaveLength(before === "probe" ? 1 : 0);
        rests.succeeded(pairAt(at));
        expect(rests.claim(pairAt(at))).toEqual({ kind: "ready" });
      }),
      { numRuns: 100 },
    );
  });

  it("no cooldown is longer than a day, and a key becomes usable again with time", () => {
    fc.assert(
      fc.property(fc.array(step), place, fc.array(fc.integer({ min: 1, max: 12 * HOUR })), (steps, at, waits) => {
        const clock = stoppedClock();
        const rests = new Cooldowns(clock);
        for (const next of steps) play(rests, clock, next);
        expect(restOf(rests, clock, pairAt(at))).toBeLessThanOrEqual(24 * 60);
        const open = [0, ...waits].map((ms) => {
          clock.pass(ms);
          return rests.peek(pairAt(at)).kind !== "cooling";
        });
        expect(open).toEqual(open.toSorted((a, b) => Number(a) - Number(b)));
        clock.pass(24 * HOUR);
        expect(rests.peek(pairAt(at)).kind).not.toBe("cooling");
      }),
      { numRuns: 100 },
    );
  });

  it("a restart knows what the process before knew", () => {
    fc.assert(
      fc.property(fc.array(step.filter((next) => next.do !== "claim")), (steps) => {
        const clock = stoppedClock();
        const rests = new Cooldowns(clock);
        for (const next of steps) play(rests, clock, next);
        const again = new Cooldowns(clock, JSON.parse(JSON.stringify(rests.snapshot())));
        expect(all.map((one) => again.peek(one))).toEqual(all.map((one) => rests.peek(one)));
        expect(profiles.map((id) => again.usedAt(id))).toEqual(profiles.map((id) => rests.usedAt(id)));
      }),
      { numRuns: 100 },
    );
  });
});

describe("the file of the cooldowns", () => {
  async function place(content?: string): Promise<string> {
    const dir = await mkdtemp(join(tmpdir(), "openclaw-rests-"));
    onTestFinished(() => rm(dir, { recursive: true, force: true }));
    const path = join(dir, "auth-rests.json");
    if (content !== undefined) await writeFile(path, content);
    return path;
  }

  it("is written once after many changes, and read by the next process", async () => {
    const path = await place();
    const clock = stoppedClock();
    const { log } = silentLog();
    const first = await openCooldowns(path, clock, log);
    first.cooldowns.failed(KEY, { kind: "billing" }, settings);
    first.cooldowns.succeeded(pair("p:b"));
    expect(clock.waiting()).toBe(1);
    await first.close();
    expect(clock.waiting()).toBe(0);
    const second = await openCooldowns(path, clock, log);
    expect(second.cooldowns.peek(KEY)).toMatchObject({ kind: "cooling", because: "billing" });
    expect(second.cooldowns.usedAt("p:b")).toBe(clock.now());
    await second.close();
    expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject({ version: 1 });
  });

  it("is written in the background while the process lives", async () => {
    const path = await place();
    const clock = stoppedClock();
    const open = await openCooldowns(path, clock, silentLog().log);
    open.cooldowns.failed(KEY, { kind: "auth" }, settings);
    clock.fire();
    await open.close();
    expect((await readCooldowns(path))?.rests).toHaveLength(1);
  });

  it.each(["", "{", "[]", '{"version":2}'])("counts as empty when it is %j", async (content) => {
    const open = await openCooldowns(await place(content), stoppedClock(), silentLog().log);
    expect(open.cooldowns.peek(KEY)).toEqual({ kind: "ready" });
    await open.close();
  });

  it("is reported when it cannot be written, and nothing else fails", async () => {
    const { log, lines } = silentLog();
    const open = await openCooldowns(join(await place(), "no", "dir"), stoppedClock(), log);
    open.cooldowns.failed(KEY, { kind: "auth" }, settings);
    await open.close();
    expect(lines).toEqual(["the cooldowns of the keys were not written"]);
  });
});
