import { expect, test } from "vitest";
import { AuthGate } from "../../src/server/transport/auth.ts";
import { countingName, isNetwork, Peers } from "../../src/server/remote-peer.ts";
import { Secret } from "../../src/types/secret.ts";

test.each([
  ["203.0.113.9", "203.0.113.9"],
  ["::1", "this machine"],
  ["::2", "0:0:0:0::/64"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::6", "2001:db8:1:2::/64"],
  ["2001:db8::3:4:5:6", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
])("%s guesses as %s", (address, network) => {
  expect(countingName({ address, isProxied: false })).toBe(network);
});

const rateLimit = { maxAttempts: 3, windowMs: 60_000, lockoutMs: 300_000 };
const clock = { now: () => 1, after: () => () => undefined };
const at = (address: string, isProxied = false) => ({ address, isProxied });
const THRICE = ["1", "2", "3"];

test("guesses from one IPv6 network count together and lock no other network", () => {
  const gate = new AuthGate({ token: new Secret("right"), rateLimit, takesDeviceTokens: true }, clock);
  for (const host of THRICE) gate.judge({ token: "wrong" }, at(`2001:db8:0:1::${host}`));
  expect(gate.judge({ token: "right" }, at("2001:db8:0:1::4")).kind).toBe("locked");
  expect(gate.judge({ token: "right" }, at("2001:db8:0:2::4")).kind).toBe("ok");
});

test("guesses from all addresses of this machine count together", () => {
  const gate = new AuthGate({ token: new Secret("right"), rateLimit, takesDeviceTokens: true }, clock);
  for (const host of THRICE) gate.judge({ token: "wrong" }, at(`127.0.0.${host}`));
  expect(gate.judge({ token: "right" }, at("127.0.0.9")).kind).toBe("locked");
  expect(gate.judge({ token: "right" }, at("::1")).kind).toBe("locked");
});

test("a success does not reset the count of guesses", () => {
  const gate = new AuthGate({ token: new Secret("right"), rateLimit, takesDeviceTokens: true }, clock);
  const verdicts = THRICE.flatMap((guess) => [
    gate.judge({ token: guess }, at("127.0.0.1")).kind,
    gate.judge({ token: "right" }, at("127.0.0.1")).kind,
  ]);
  expect(verdicts).toEqual(["wrong", "ok", "wrong", "ok", "wrong", "locked"]);
});

test("an unguessable token is accepted while its address is locked; a password and wrong tokens are not", () => {
  const token = "vKq3n0yDPs7mJx2bWf8cRzT4hLg6aUeY1oIiNkXtSdE";
  const gate = new AuthGate(
    { token: new Secret(token), password: new Secret("pass"), rateLimit, takesDeviceTokens: true },
    clock,
  );
  for (const guess of THRICE) gate.judge({ token: guess }, at("127.0.0.1"));
  expect(gate.judge({ token }, at("127.0.0.1")).kind).toBe("ok");
  expect(gate.judge({ token: `${token}x` }, at("127.0.0.1")).kind).toBe("locked");
  expect(gate.judge({ password: "pass" }, at("127.0.0.1")).kind).toBe("locked");
  const plain = "a".repeat(40);
  const weak = new AuthGate({ token: new Secret(plain), rateLimit, takesDeviceTokens: true }, clock);
  for (const guess of THRICE) weak.judge({ token: guess }, at("127.0.0.1"));
  expect(weak.judge({ token: plain }, at("127.0.0.1")).kind).toBe("locked");
});

test("guesses through a proxy on this machine do not lock out its programs", () => {
  const gate = new AuthGate({ token: new Secret("right"), rateLimit, takesDeviceTokens: true }, clock);
  for (const guess of THRICE) gate.judge({ token: guess }, at("127.0.0.1", true));
  expect(gate.judge({ token: "right" }, at("127.0.0.1", true)).kind).toBe("locked");
  expect(gate.judge({ token: "right" }, at("127.0.0.1")).kind).toBe("ok");
});

const arrival = (remoteAddress: string, headers: Record<string, string> = {}) => ({
  socket: { remoteAddress },
  headers,
});

test.each([
  ["what a stranger writes into the header counts for nothing", "203.0.113.9", "198.51.100.1", "203.0.113.9"],
  ["a trusted proxy names its caller", "127.0.0.1", "198.51.100.1", "198.51.100.1"],
  ["the caller cannot add itself before the proxy's word", "127.0.0.1", "10.9.9.9, 198.51.100.1", "198.51.100.1"],
  ["proxies after each other are all passed over", "::ffff:127.0.0.1", "198.51.100.1, 10.1.2.3", "198.51.100.1"],
  ["an IPv6 caller", "127.0.0.1", "2001:db8::7", "2001:db8::7"],
  ["a word that is no address", "127.0.0.1", "unknown", "127.0.0.1"],
])("%s", (_, remote, forwarded, address) => {
  const peers = new Peers(["127.0.0.1", "10.0.0.0/8"]);
  expect(peers.of(arrival(remote, { "x-forwarded-for": forwarded }))).toEqual({ address, isProxied: true });
});

test("without trusted proxies no forwarded address counts, but a proxy is detected", () => {
  const peers = new Peers([]);
  expect(peers.of(arrival("127.0.0.1", { "x-forwarded-for": "198.51.100.1" }))).toEqual(at("127.0.0.1", true));
  expect(peers.of(arrival("127.0.0.1", { via: "1.1 nginx" }))).toEqual(at("127.0.0.1", true));
  expect(peers.of(arrival("127.0.0.1"))).toEqual(at("127.0.0.1"));
});

test.each([
  ["10.0.0.0/8", true],
  ["::1", true],
  ["2001:db8::/32", true],
  ["10.0.0.0/33", false],
  ["proxy.local", false],
  ["10.0.0.0/8/8", false],
  ["", false],
])("%j is a network: %s", (text, is) => {
  expect(isNetwork(text)).toBe(is);
});
