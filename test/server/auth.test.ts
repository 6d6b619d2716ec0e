import { expect, test } from "vitest";
import { Gate, networkOf } from "../../src/server/auth.ts";
import { Secret } from "../../src/types/secret.ts";

test.each([
  ["203.0.113.9", "203.0.113.9"],
  ["::1", "0:0:0:0::/64"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::6", "2001:db8:1:2::/64"],
  ["2001:db8::3:4:5:6", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
])("%s guesses as %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});

test("a guesser gains nothing by another address of its IPv6 network, and locks nobody else", () => {
  const rateLimit = { maxAttempts: 3, windowMs: 60_000, lockoutMs: 300_000 };
  const clock = { now: () => 1, after: () => () => undefined };
  const gate = new Gate({ token: new Secret("right"), rateLimit }, clock);
  for (const host of [1, 2, 3]) gate.judge({ token: "wrong" }, `2001:db8:0:1::${host}`);
  expect(gate.judge({ token: "right" }, "2001:db8:0:1::4").kind).toBe("locked");
  expect(gate.judge({ token: "right" }, "2001:db8:0:2::4").kind).toBe("ok");
});
