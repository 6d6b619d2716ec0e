import { expect, test } from "vitest";
import { Strangers } from "../../src/server/transport/strangers.ts";

/** Opens silent sockets; the returned set has the numbers of those that were ended. */
function open(strangers: Strangers, count: number, peer: (at: number) => string) {
  const ended = new Set<number>();
  const settles = Array.from({ length: count }, (_, at) => strangers.admit(peer(at), () => ended.add(at)));
  return { ended, settles };
}

test("a new socket always comes in: the oldest silent one of its peer gives way", () => {
  const strangers = new Strangers();
  const { ended, settles } = open(strangers, 40, () => "2001:db8:0:1::/64");
  expect([...ended]).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  settles[8]?.();
  settles[8]?.();
  settles[3]?.();
  strangers.admit("2001:db8:0:1::/64", () => undefined);
  expect(ended.size).toBe(8);
  strangers.admit("2001:db8:0:1::/64", () => undefined);
  expect([...ended].at(-1)).toBe(9);
});

test("with too many of all, the peer with the most gives way, and a lone one is left alone", () => {
  const strangers = new Strangers();
  let isLoneEnded = false;
  strangers.admit("203.0.113.9", () => (isLoneEnded = true));
  const { ended } = open(strangers, 400, (at) => `peer ${at % 20}`);
  expect(isLoneEnded).toBe(false);
  expect(ended.size).toBe(400 + 1 - 128);
});

test("those who are known do not count", () => {
  const strangers = new Strangers();
  const { settles } = open(strangers, 30, () => "this machine");
  for (const settled of settles) settled();
  const { ended } = open(strangers, 32, () => "this machine");
  expect(ended.size).toBe(0);
});
