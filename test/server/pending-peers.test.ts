import { expect, test } from "vitest";
import { PendingPeers } from "../../src/server/transport/pending-peers.ts";

/** Opens silent sockets; the returned set has the numbers of those that were ended. */
function open(pending: PendingPeers, count: number, peer: (at: number) => string) {
  const ended = new Set<number>();
  const settles = Array.from({ length: count }, (_, at) => pending.admit(peer(at), () => ended.add(at)));
  return { ended, settles };
}

test("a new socket is always admitted and evicts the oldest of its peer", () => {
  const pending = new PendingPeers();
  const { ended, settles } = open(pending, 40, () => "2001:db8:0:1::/64");
  expect([...ended]).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  settles[8]?.();
  settles[8]?.();
  settles[3]?.();
  pending.admit("2001:db8:0:1::/64", () => undefined);
  expect(ended.size).toBe(8);
  pending.admit("2001:db8:0:1::/64", () => undefined);
  expect([...ended].at(-1)).toBe(9);
});

test("with too many sockets, one of the peer with the most is evicted, never a lone one", () => {
  const pending = new PendingPeers();
  let isLoneEnded = false;
  pending.admit("203.0.113.9", () => (isLoneEnded = true));
  const { ended } = open(pending, 400, (at) => `peer ${at % 20}`);
  expect(isLoneEnded).toBe(false);
  expect(ended.size).toBe(400 + 1 - 128);
});

test("settled sockets do not count", () => {
  const pending = new PendingPeers();
  const { settles } = open(pending, 30, () => "this machine");
  for (const settled of settles) settled();
  const { ended } = open(pending, 32, () => "this machine");
  expect(ended.size).toBe(0);
});
