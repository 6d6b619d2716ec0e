import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { isPublicAddress } from "./addresses.ts";

/** Ranges that a proxy on this machine answers with for names that it resolves itself (fake IP). */
export type FakeRange = "benchmark" | "unique-local";

/** Hosts that a request may reach. Without any rule: the public internet. */
export interface HostRules {
  /** Hosts that may have private names and addresses, because the config names them. */
  readonly privateHosts?: readonly string[];
  /** Every host may have private names and addresses. */
  readonly allowPrivate?: boolean;
  /** The only hosts, where there are any: `example.org`, or `*.example.org` for its subdomains. */
  readonly onlyHosts?: readonly string[];
  /** Hosts that are refused whatever the other rules say, in the same form. */
  readonly blockedHosts?: readonly string[];
  /** Ranges that count as public. */
  readonly fakeRanges?: readonly FakeRange[];
}

const PRIVATE_NAMES = new Set(["localhost", "localhost.localdomain", "metadata.google.internal"]);
const PRIVATE_ENDINGS = [".localhost", ".local", ".internal"];

/** A host as rules compare it: lower case, without the brackets of IPv6 and without a dot at its end. */
const plainHost = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.+$/, "");

const matches = (host: string, patterns: readonly string[] = []): boolean =>
  patterns.map(plainHost).some((one) => (one.startsWith("*.") ? host.endsWith(one.slice(1)) : host === one));

/** Whether the rules let the host be private. */
const mayBePrivate = (host: string, { allowPrivate, privateHosts }: HostRules): boolean =>
  allowPrivate === true || matches(host, privateHosts);

/** Why a request to the host is refused before its address is known, as the end of a sentence about it; undefined when it is not. */
export function whyHostRefused(given: string, rules: HostRules): string | undefined {
  const host = plainHost(given);
  if (matches(host, rules.blockedHosts)) return "is blocked by the config";
  const only = rules.onlyHosts ?? [];
  if (only.length > 0 && !matches(host, only)) return "is not among the hosts that the config allows";
  if (mayBePrivate(host, rules)) return undefined;
  const isPrivate =
    isIP(host) === 0
      ? PRIVATE_NAMES.has(host) || PRIVATE_ENDINGS.some((ending) => host.endsWith(ending))
      : !areAllowed(host, [host], rules);
  return isPrivate ? "is not on the public internet" : undefined;
}

/** Whether a connection to each of the host's addresses is allowed. A host without addresses is not. */
export function areAllowed(host: string, addresses: readonly string[], rules: HostRules): boolean {
  if (addresses.length === 0) return false;
  if (mayBePrivate(plainHost(host), rules)) return true;
  const ranges = rules.fakeRanges ?? [];
  // A rebinding attack mixes one private address with public ones.
  return addresses.every((address) => {
    const fake = fakeRangeOf(address);
    return isPublicAddress(address) || (fake !== undefined && ranges.includes(fake));
  });
}

/** The fake-IP range that the address belongs to. */
export function fakeRangeOf(address: string): FakeRange | undefined {
  if (isIP(address) === 0) return undefined;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === "ipv4") return parsed.match(ipaddr.parseCIDR("198.18.0.0/15")) ? "benchmark" : undefined;
  return parsed.range() === "uniqueLocal" && parsed.toString() !== CLOUD_METADATA ? "unique-local" : undefined;
}

/** The metadata service of a cloud, in a range that a fake-IP rule may open. */
const CLOUD_METADATA = "fd00:ec2::254";
