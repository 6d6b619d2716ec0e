import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasTasks } from "../../src/automation/checklist.ts";
import { isActive, pausedUntil, slotAt } from "../../src/automation/schedule.ts";

const HOUR = 3_600_000;

describe("the slots of an agent", () => {
  it("are the same for every start, hold the time asked for, and follow each other without a gap", () => {
    const every = fc.integer({ min: 60_000, max: 7 * 24 * HOUR });
    fc.assert(
      fc.property(fc.string(), every, fc.integer({ min: 0, max: 4_000_000_000_000 }), (agent, everyMs, now) => {
        const at = slotAt(agent, everyMs, now);
        expect(at).toBeLessThanOrEqual(now);
        expect(now - at).toBeLessThan(everyMs);
        expect(slotAt(agent, everyMs, at)).toBe(at);
        expect(slotAt(agent, everyMs, at + everyMs)).toBe(at + everyMs);
        expect(slotAt(agent, everyMs, at - 1)).toBe(at - everyMs);
      }),
    );
  });
});

describe("active hours", () => {
  const at = (text: string) => Date.parse(`2026-11-21T${text}:00Z`);
  const hours = (from: number, to: number, timezone = "UTC") => ({ from: from * 60, to: to * 60, timezone });
  it.each([
    ["08:00", hours(8, 22), true],
    ["21:59", hours(8, 22), true],
    ["22:00", hours(8, 22), false],
    ["07:59", hours(8, 22), false],
    ["23:59", hours(0, 24), true],
    ["23:00", hours(22, 6), true],
    ["05:59", hours(22, 6), true],
    ["06:00", hours(22, 6), false],
    // Vienna is an hour ahead in November.
    ["07:30", hours(8, 22, "Europe/Vienna"), true],
    ["21:30", hours(8, 22, "Europe/Vienna"), false],
  ])("at %s UTC with %o: %s", (time, given, expected) => {
    expect(isActive(given, at(time))).toBe(expected);
  });

  it("are all day when there are none", () => expect(isActive(undefined, at("03:00"))).toBe(true));
});

describe("the pause after failures", () => {
  const until = (failures: number, why = "overloaded: no") => pausedUntil({ at: 0, failures, why }, HOUR) / HOUR;
  it("grows with each failure up to a day; a failure that needs a person pauses it for a day at once", () => {
    expect([1, 2, 3].map((failures) => until(failures))).toEqual([1.5, 3.5, 7.5]);
    expect(until(30)).toBe(24);
    for (const kind of ["auth", "billing", "model_missing"]) expect(until(1, `${kind}: no`)).toBe(24);
  });
});

describe("a checklist", () => {
  it.each([
    undefined,
    "",
    "# What to look after\n\n<!-- Every line below is looked at.\n- like this -->\n",
    "## Mail\n- \n* [ ]\n---\n```md\n```\n",
    "<!-- never closed\n- mail",
  ])("asks for nothing: %j", (text) => expect(hasTasks(text)).toBe(false));
  it.each(["- look into the mail", "# Mail\n\nAnything from Ada?", "- [ ] water the plants", "<!-- a --> b"])(
    "asks for something: %j",
    (text) => expect(hasTasks(text)).toBe(true),
  );
});
