import { describe, expect, it } from "vitest";
import { sessionConfig } from "../../src/sessions/config.ts";
import { resetRuleFor, whyOver } from "../../src/sessions/rows/expiry.ts";

const at = (day: number, hour: number, minute = 0) => new Date(2026, 4, day, hour, minute).getTime();

describe("a new conversation", () => {
  it.each([
    ["never without a rule", undefined, at(1, 9), at(30, 9), undefined],
    ["after a pause", { mode: "idle", idleMinutes: 60 }, at(1, 9), at(1, 10, 1), "idle"],
    ["after a pause only", { mode: "idle", atHour: 6 }, at(1, 5), at(2, 7), undefined],
    ["not within the pause", { mode: "idle", idleMinutes: 60 }, at(1, 9), at(1, 9, 59), undefined],
    ["at four in the morning", { mode: "daily" }, at(1, 23), at(2, 4, 1), "daily"],
    ["not before that hour", { mode: "daily" }, at(1, 23), at(2, 3, 59), undefined],
    ["at an hour of one's own", { atHour: 6 }, at(2, 5), at(2, 6, 1), "daily"],
    ["not twice on one day", { mode: "daily" }, at(2, 4, 1), at(2, 23), undefined],
    ["never where the rule says so", { mode: "none", idleMinutes: 1, atHour: 1 }, at(1, 9), at(30, 9), undefined],
    ["by pause or hour, whichever comes first", { mode: "daily", idleMinutes: 30 }, at(2, 9), at(2, 9, 31), "idle"],
  ] as const)("%s", (...[, rule, last, now, expected]) => {
    expect(whyOver(rule, last, now)).toBe(expected);
  });

  it("by the rule of the channel, of the type, the general one, the plain minutes", () => {
    const config = sessionConfig.parse({
      idleMinutes: 5,
      reset: { mode: "daily" },
      resetByType: { dm: { mode: "idle", idleMinutes: 7 }, group: { atHour: 1 } },
      resetByChannel: { slack: { atHour: 2 } },
    });
    expect(resetRuleFor(config, { channel: "slack", type: "direct" })).toEqual({ atHour: 2 });
    expect(resetRuleFor(config, { channel: "telegram", type: "direct" })).toEqual({ mode: "idle", idleMinutes: 7 });
    expect(resetRuleFor(config, { channel: "telegram", type: "group" })).toEqual({ atHour: 1 });
    expect(resetRuleFor(config, { channel: "telegram", type: "thread" })).toEqual({ mode: "daily" });
    const plain = sessionConfig.parse({ idleMinutes: 5 });
    expect(resetRuleFor(plain, { channel: "x", type: "direct" })).toEqual({ mode: "idle", idleMinutes: 5 });
  });
});
