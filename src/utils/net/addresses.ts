import { BlockList, isIPv4, isIPv6 } from "node:net";

/**
 * IPv4 blocks that no public service has (IANA special-purpose registry), and Azure's own service of a machine among the
 * public ones; the metadata of other clouds is in 169.254.0.0/16.
 */
const NOT_PUBLIC_V4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const;

/** Inside of 2000::/3: blocks that carry another address in them (Teredo, 6to4) or are never routed. */
const NOT_PUBLIC_V6 = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const;

const closedV4 = new BlockList();
for (const [net, bits] of NOT_PUBLIC_V4) closedV4.addSubnet(net, bits, "ipv4");
const closedV6 = new BlockList();
for (const [net, bits] of NOT_PUBLIC_V6) closedV6.addSubnet(net, bits, "ipv6");
// Everything else is private, link-local, mapped, multicast or not given out yet.
const globalV6 = new BlockList();
globalV6.addSubnet("2000::", 3, "ipv6");

/** Whether an address is one of the public internet; false for what is no address. Never throws. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !closedV4.check(address, "ipv4");
  const [plain = ""] = address.split("%", 1);
  return isIPv6(plain) && globalV6.check(plain, "ipv6") && !closedV6.check(plain, "ipv6");
}
