import { describe, expect, it } from "vitest";
import { readStored } from "../../../src/automation/cron/jobs.ts";
import { patched, readJob } from "../../../src/automation/cron/read-job.ts";

const ports = {
  now: Date.parse("2026-11-26T08:00:00Z"),
  timezone: "Europe/Vienna",
  webhook: "https://example.org/old",
};
const read = (job: unknown) => readJob(job, ports);

describe("a job in the words of today", () => {
  it("has a name, a place and a delivery although it does not say so", () => {
    expect(
      read({
        schedule: { kind: "every", everyMs: 60_000 },
        payload: { kind: "agentTurn", message: "look at the mail" },
      }),
    ).toMatchObject({
      name: "look at the mail",
      enabled: true,
      sessionTarget: "isolated",
      wakeMode: "now",
      schedule: { everyMs: 60_000, anchorMs: ports.now },
      delivery: { mode: "announce" },
    });
    expect(read({ schedule: { kind: "at", at: "20m" }, payload: { kind: "systemEvent", text: "tea" } })).toMatchObject({
      sessionTarget: "main",
      schedule: { kind: "at", at: "2026-11-26T08:20:00.000Z" },
    });
  });

  it("has a time zone, the user's unless it names one", () => {
    const job = { payload: { kind: "agentTurn", message: "x" } };
    expect(read({ ...job, schedule: { kind: "cron", expr: "0 9 * * *" } })).toMatchObject({
      schedule: { tz: "Europe/Vienna" },
    });
    expect(read({ ...job, schedule: { kind: "cron", expr: "0 9 * * *", tz: "Asia/Tokyo" } })).toMatchObject({
      schedule: { tz: "Asia/Tokyo" },
    });
    expect(read({ ...job, schedule: { kind: "at", at: "2026-12-24T18:00" } })).toMatchObject({
      schedule: { at: "2026-12-24T18:00:00.000Z" },
    });
  });
});

describe("a job as a model writes it", () => {
  const payload = { kind: "agentTurn", message: "x" };

  it("has its time in the zone that is named beside it, and no time that this zone's clocks skip", () => {
    const at = (time: string, tz: string) => read({ payload, schedule: { kind: "at", at: time, tz } });
    expect(at("2026-12-24T18:00", "Asia/Shanghai")).toMatchObject({ schedule: { at: "2026-12-24T10:00:00.000Z" } });
    expect(at("2026-12-24T18:00:00+01:00", "Asia/Shanghai")).toMatchObject({
      schedule: { at: "2026-12-24T17:00:00.000Z" },
    });
    expect(at("2027-03-28T02:30", "Europe/Vienna")).toEqual({
      problem: expect.stringMatching(/schedule\.at: .*does not exist in Europe\/Vienna/),
    });
  });

  it("is read where its parts came as JSON text, and a time as digits", () => {
    const schedule = JSON.stringify({ kind: "cron", expr: "0 9 * * *", tz: "UTC" });
    expect(read({ schedule, payload: JSON.stringify(payload) })).toMatchObject({
      schedule: { kind: "cron", expr: "0 9 * * *", tz: "UTC" },
      payload,
    });
    expect(read({ payload, schedule: { kind: "at", atMs: "1798000000000" } })).toMatchObject({
      schedule: { kind: "at", at: new Date(1_798_000_000_000).toISOString() },
    });
    expect(read({ payload, schedule: { kind: "at", atMs: 1e300 } })).toHaveProperty("problem");
  });

  it("has no fields that came blank, and no numbers of other kinds of schedule", () => {
    const schedule = { kind: "at", at: "20m", everyMs: 1, anchorMs: 0, expr: "", tz: "", staggerMs: 0 };
    const blank = { agentId: "", sessionKey: "", description: "", delivery: { mode: "none", channel: "", to: "" } };
    const job = read({ name: "tea", schedule, payload: { ...payload, model: "", thinking: "" }, ...blank });
    expect(job).toMatchObject({ name: "tea", schedule: { kind: "at" }, payload, delivery: { mode: "none" } });
    expect(job).not.toHaveProperty("agentId");
    expect(read({ payload, schedule: { kind: "at", at: "20m", expr: "0 9 * * *" } })).toHaveProperty("problem");
    const stored = { name: "tea", payload, schedule: { kind: "cron", expr: "0 9 * * *", tz: "UTC" } };
    expect(read(patched(stored, { name: "", schedule: { expr: "0 10 * * *", tz: "" } }))).toMatchObject({
      name: "tea",
      schedule: { expr: "0 10 * * *", tz: "UTC" },
    });
  });
});

describe("a job in older words", () => {
  it("is read: names, kinds in lower case, and a delivery inside of the payload", () => {
    expect(
      read({
        jobId: "x",
        schedule: { atMs: Date.parse("2026-12-01T00:00:00Z") },
        payload: {
          kind: "agentturn",
          message: "x",
          deliver: true,
          provider: "telegram",
          to: "42",
          bestEffortDeliver: true,
        },
      }),
    ).toMatchObject({
      schedule: { kind: "at", at: "2026-12-01T00:00:00.000Z" },
      payload: { kind: "agentTurn", message: "x" },
      delivery: { mode: "announce", channel: "telegram", to: "42", bestEffort: true },
    });
    expect(
      read({ schedule: { kind: "cron", cron: "0 9 * * *" }, payload: { kind: "systemevent", text: "x" } }),
    ).toMatchObject({
      schedule: { kind: "cron", expr: "0 9 * * *" },
      payload: { kind: "systemEvent", text: "x" },
    });
    expect(
      read({ notify: true, schedule: { everyMs: 60_000 }, payload: { kind: "agentTurn", message: "x" } }),
    ).toMatchObject({
      delivery: { mode: "webhook", to: "https://example.org/old" },
    });
  });

  it("may have its fields side by side, as models write them", () => {
    expect(read({ name: "mail", cron: "*/5 * * * *", tz: "UTC", message: "look", model: "a/b" })).toMatchObject({
      name: "mail",
      schedule: { kind: "cron", expr: "*/5 * * * *", tz: "UTC" },
      payload: { kind: "agentTurn", message: "look", model: "a/b" },
    });
    expect(read({ at: "5m", text: "tea" })).toMatchObject({
      schedule: { kind: "at" },
      payload: { kind: "systemEvent", text: "tea" },
    });
  });
});

describe("a job of a command", () => {
  it("has a delivery, a name, and limits within bounds", () => {
    expect(
      read({ at: "5m", payload: { kind: "command", argv: ["sh", "-lc", "make  test"], cwd: "web" } }),
    ).toMatchObject({
      name: "make test",
      sessionTarget: "isolated",
      delivery: { mode: "announce" },
      payload: { argv: ["sh", "-lc", "make  test"], cwd: "web" },
    });
    expect(
      read({ message: "x", schedule: { kind: "stream", command: ["x"], batchMs: 1, maxBatchBytes: 1e9 } }),
    ).toMatchObject({ schedule: { mode: "line", batchMs: 50, maxBatchBytes: 65_536 } });
  });
});

describe("a job of another gateway", () => {
  it("may have fields that mean nothing here", () => {
    const payload = { kind: "agentTurn", message: "x", allowUnsafeExternalContent: true, toolsAllowIsDefault: true };
    expect(read({ at: "5m", payload })).toMatchObject({ payload: { kind: "agentTurn", message: "x" } });
    expect(read({ at: "5m", payload })).not.toHaveProperty("payload.toolsAllowIsDefault");
    expect(read({ at: "5m", payload: { kind: "systemEvent", text: "x", toolsAllow: ["read"] } })).toMatchObject({
      payload: { toolsAllow: ["read"] },
    });
  });
});

describe("a job that cannot be", () => {
  const payload = { kind: "agentTurn", message: "x" };
  const schedule = { kind: "every", everyMs: 60_000 };
  it.each([
    [{ schedule: { kind: "cron", expr: "61 * * * *" }, payload }, "schedule.expr"],
    [{ schedule: { kind: "cron", expr: "0 9 * * *", tz: "Vienna" }, payload }, "schedule.tz"],
    [{ schedule: { kind: "at", at: "tomorrow" }, payload }, "schedule.at"],
    [{ schedule: { kind: "every", everyMs: 10 }, payload }, "a second"],
    [{ schedule: { kind: "every", everyMs: "often" }, payload }, "schedule.everyMs: write it as 30m or 2h"],
    [{ schedule: { kind: "cron", expr: "0 0 30 2 *" }, payload }, "never occurs"],
    [{ schedule, payload, sessionTarget: "session:a\u0000b" }, "sessionTarget"],
    [{ schedule, payload, sessionKey: "a\u001bb" }, "control characters"],
    [{ schedule, payload: { kind: "script", script: "x" } }, 'payload.kind "script" is not supported'],
    [{ schedule, payload: { kind: "command", argv: [] } }, "payload.argv"],
    [{ schedule, payload: { kind: "command", argv: [" ", "x"] } }, "no program"],
    [{ schedule, payload: { kind: "command", argv: ["x\0y"] } }, "zero character"],
    [{ schedule, payload: { kind: "command", argv: ["x"], toolsAllow: ["read"] } }, "toolsAllow"],
    [{ schedule, payload: { kind: "command", argv: ["x"] }, sessionTarget: "main" }, "runs by itself"],
    [{ schedule: { kind: "stream", command: ["x"] }, payload: { kind: "command", argv: ["x"] } }, "cannot take them"],
    [{ schedule: { kind: "stream", command: ["x"], mode: "match" }, payload }, "regular expression"],
    [{ schedule: { kind: "on-exit", command: "x" }, payload, pacing: { min: "5m" } }, "no next time"],
    [{ schedule, payload, trigger: { script: "x" } }, "trigger is not supported"],
    [{ schedule, payload, sessionTarget: "elsewhere" }, "sessionTarget"],
    [{ schedule, payload: { kind: "systemEvent", text: "x" }, sessionTarget: "isolated" }, "agentTurn"],
    [{ schedule, payload, delivery: { mode: "webhook" } }, "delivery.to"],
    [{ schedule, payload: { kind: "agentTurn", message: "  " } }, "payload.message"],
    [{ schedule, payload: { ...payload, thinking: "much" } }, "payload.thinking"],
    ["no job", "object"],
  ])("is refused with the field: %j", (job, words) => {
    const answer = read(job);
    expect(answer).toHaveProperty("problem");
    expect("problem" in answer && answer.problem).toContain(words);
  });
});

describe("a change of a job", () => {
  const job = {
    name: "mail",
    enabled: true,
    schedule: { kind: "cron", expr: "0 9 * * *", tz: "UTC" },
    payload: { kind: "agentTurn", message: "look", model: "a/b" },
    delivery: { mode: "announce", channel: "telegram", to: "42" },
  };

  it("keeps what it does not name, and removes what it sets to null", () => {
    expect(read(patched(job, { payload: { model: null }, delivery: { to: null } }))).toMatchObject({
      payload: { kind: "agentTurn", message: "look" },
      delivery: { mode: "announce", channel: "telegram" },
    });
    expect(read(patched(job, { payload: { model: null } }))).not.toHaveProperty("payload.model");
    expect(read(patched(job, { enabled: false }))).toMatchObject({ enabled: false, name: "mail" });
    expect(read(patched(job, { schedule: { tz: "Asia/Tokyo" } }))).toMatchObject({
      schedule: { expr: "0 9 * * *", tz: "Asia/Tokyo" },
    });
  });

  it("of the kind replaces the whole", () => {
    expect(read(patched(job, { schedule: { kind: "every", everyMs: 60_000 } }))).toMatchObject({
      schedule: { kind: "every", everyMs: 60_000 },
    });
    expect(read(patched(job, { payload: { kind: "systemEvent", text: "tea" }, sessionTarget: "main" }))).toMatchObject({
      payload: { kind: "systemEvent", text: "tea" },
    });
  });
});

describe("a stored job", () => {
  const made = { id: "j", createdAtMs: 1, updatedAtMs: 1, scheduleRevision: 1, setUpBy: "owner" };
  const wishes = [
    { at: "5m", text: "tea" },
    { every: "2h", message: "look", pacing: { min: "1h" }, delivery: { threadId: 5, failureDestination: { to: "1" } } },
    { cron: "0 9 * * *", payload: { kind: "command", argv: ["make"], env: { CI: "1" } }, failureAlert: { after: 3 } },
    { message: "look", schedule: { kind: "on-exit", command: "make" } },
    { message: "look", schedule: { kind: "stream", command: ["tail"], match: "x", mode: "match" } },
  ];

  it.each(wishes)("is as it was written, with fields of other versions: %j", (wish) => {
    const given = read(wish);
    expect(given).not.toHaveProperty("problem");
    const newer = { ...("payload" in given ? given.payload : {}), newer: 1 };
    const job = JSON.parse(JSON.stringify({ newer: 1, ...given, payload: newer, ...made }));
    const state = { cursorMs: 0, newer: 1 };
    expect(readStored({ id: "j", job, state })).toEqual({ job, state });
    expect(JSON.stringify(readStored({ id: "j", job, state }))).toBe(JSON.stringify({ job, state }));
  });

  const job = { ...read(wishes[1]), ...made };
  it.each([
    ["no job", { cursorMs: 0 }, "expected object"],
    [{ ...job, id: "other" }, { cursorMs: 0 }, "id"],
    [{ ...job, payload: { kind: "agentTurn" } }, { cursorMs: 0 }, "payload.message: "],
    [{ ...job, schedule: { kind: "every", everyMs: {} } }, { cursorMs: 0 }, "schedule.everyMs: "],
    [{ ...job, delivery: "chat" }, { cursorMs: 0 }, "delivery: "],
    [job, { cursorMs: 0, underway: 5 }, "its state has another shape: underway: "],
  ])("is set aside with the field of a wrong type: %j %j", (odd, state, words) => {
    expect(readStored({ id: "j", job: odd, state })).toEqual({ why: expect.stringContaining(words) });
  });
});
