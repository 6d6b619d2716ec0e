import { expect, test } from "vitest";
import { Strangers } from "../../src/server/strangers.ts";

const open = (strangers: Strangers, count: number, address: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => strangers.admit(address(at)));

test("one network's idle sockets keep nobody else out", () => {
  const strangers = new Strangers();
  const own = open(strangers, 40, (at) => `2001:db8:0:1::${at + 1}`);
  expect(own.filter((settled) => settled !== undefined)).toHaveLength(16);
  expect(strangers.admit("203.0.113.9")).toBeDefined();
  own[0]?.();
  own[0]?.();
  expect(strangers.admit("2001:db8:0:1::99")).toBeDefined();
  expect(strangers.admit("2001:db8:0:1::98")).toBeUndefined();
});

test("there is a limit for all together, which those who are known do not count for", () => {
  const strangers = new Strangers();
  const all = open(strangers, 200, () => "127.0.0.1");
  expect(all.filter((settled) => settled !== undefined)).toHaveLength(128);
  for (const settled of all) settled?.();
  expect(strangers.admit("127.0.0.1")).toBeDefined();
});
