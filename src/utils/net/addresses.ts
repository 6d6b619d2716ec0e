import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** Azure's own service of each machine, among the public addresses. The metadata of other clouds is in 169.254.0.0/16. */
const AZURE_SERVICE = "168.63.129.16";

/**
 * Whether an address belongs to the public internet; false for a text that is no address. Node's parser goes first,
 * because the parser of ipaddr.js also takes octal, hexadecimal and shortened forms. Never throws.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address === AZURE_SERVICE) return false;
  const parsed = ipaddr.parse(address);
  // "unicast" means: in none of IANA's special-purpose blocks. Blocks that carry another address (mapped, NAT64, 6to4,
  // Teredo) are special.
  if (parsed.range() !== "unicast") return false;
  return parsed.kind() === "ipv4" || (isGlobalBlock(parsed) && !leadsToPrivate(parsed.toByteArray()));
}

/** Public IPv6 addresses are in 2000::/3 only. The library does not treat the others as special. */
const isGlobalBlock = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean => (address.toByteArray()[0] ?? 0) >> 5 === 1;

/** An ISATAP address ends with an IPv4 address, which a tunnel on the way may deliver to. */
function leadsToPrivate(bytes: readonly number[]): boolean {
  const [first, second, third, fourth, ...embedded] = bytes.slice(8);
  const isIsatap = (first === 0 || first === 2) && second === 0 && third === 0x5e && fourth === 0xfe;
  return isIsatap && !isPublicAddress(embedded.join("."));
}
