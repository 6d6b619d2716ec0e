import type { IncomingHttpHeaders } from "node:http";
import { BlockList, isIP } from "node:net";

/** Who is at the other end of a request or socket. */
export interface RemotePeer {
  /** The client's IP address; the nearest proxy's where no trusted proxy names the client. */
  readonly address: string;
  /** The request came through a proxy, so a local `address` does not mean a local client. */
  readonly isProxied: boolean;
}

interface Arrival {
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers: IncomingHttpHeaders;
}

/** Headers that proxies add; a browser or program that connects directly sends none of these. */
const PROXY_MARKS = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-forwarded-port",
  "x-forwarded-server",
  "x-real-ip",
  "x-client-ip",
  "true-client-ip",
  "cf-connecting-ip",
  "fastly-client-ip",
  "tailscale-user-login",
] as const;

/**
 * Finds the sender of a request. `trusted` are IP addresses or networks (`10.0.0.0/8`) of proxies whose headers are
 * trusted.
 */
export class Peers {
  readonly #trusted: BlockList;

  constructor(trusted: readonly string[]) {
    this.#trusted = blockListOf(trusted);
  }

  of({ socket, headers }: Arrival): RemotePeer {
    const nearest = plainAddress(socket.remoteAddress);
    const isProxied = PROXY_MARKS.some((name) => headers[name] !== undefined);
    if (!this.#isTrusted(nearest)) return { address: nearest, isProxied };
    return { address: this.#clientOf(headers["x-forwarded-for"]) ?? nearest, isProxied: true };
  }

  /** Each proxy appends its caller, so the last address that is not a trusted proxy's is the client's. */
  #clientOf(forwarded: string | string[] | undefined): string | undefined {
    const hops = String(forwarded ?? "")
      .split(",")
      .map((hop) => plainAddress(hop.trim()));
    const client = hops.findLast((hop) => !this.#isTrusted(hop));
    return client !== undefined && isIP(client) > 0 ? client : undefined;
  }

  #isTrusted(address: string): boolean {
    const version = isIP(address);
    return version > 0 && this.#trusted.check(address, version === 6 ? "ipv6" : "ipv4");
  }
}

/** Skips texts that are no address or network; the config's schema refuses them. */
function blockListOf(texts: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of texts) {
    const [address = "", bits] = text.split("/");
    const version = isIP(address);
    if (version === 0) continue;
    list.addSubnet(address, Number(bits ?? (version === 6 ? 128 : 32)), version === 6 ? "ipv6" : "ipv4");
  }
  return list;
}

/** Whether a text is an IP address or a network in CIDR notation. */
export function isNetwork(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const most = isIP(address) === 6 ? 128 : 32;
  const isSize = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
  return isIP(address) > 0 && isSize && rest.length === 0;
}

/** Turns an IPv4 address within IPv6 into plain IPv4, so that one peer has one name. */
function plainAddress(address: string | undefined): string {
  return (address ?? "unknown").replace(/^::ffff:(?=\d+\.)/i, "");
}

/**
 * The name under which a peer's wrong tokens and open sockets are counted. All addresses of this machine share one name, and
 * so does an IPv6 network of 64 bits, in which addresses cost nothing. Peers behind an unknown proxy on this machine have
 * another name than the programs of this machine.
 */
export function countingName({ address, isProxied }: RemotePeer): string {
  if (isLoopback(address)) return isProxied ? "a proxy on this machine" : "this machine";
  return networkOf(address);
}

/** An IPv4 address, or the first 64 bits of an IPv6 address. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = [], tail = []] = address.split("::").map((part) => part.split(":").filter(Boolean));
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => "0");
  return `${[...head, ...zeros, ...tail].slice(0, 4).join(":")}::/64`;
}

export const isLoopback = (address: string) => address === "::1" || address.startsWith("127.");
