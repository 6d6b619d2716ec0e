import { isLoopback } from "../remote-peer.ts";

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Whether a page of this origin may open a socket: one of a configured origin, or one that this server itself served under
 * a loopback name. A client without the header is not a browser and may.
 */
export function isOriginAllowed(
  origin: string | undefined,
  host: string | undefined,
  allowed: readonly string[],
): boolean {
  if (origin === undefined || allowed.includes(origin)) return true;
  if (!isLoopbackName(host)) return false;
  return origin === `http://${host}` || origin === `https://${host}`;
}

/**
 * Whether the `Host` header names this server. Checked on loopback binds only: another name there means that someone pointed
 * their DNS at this machine.
 */
export function isHostAllowed(host: string | undefined, bind: string, allowedOrigins: readonly string[]): boolean {
  if (bind !== "localhost" && !isLoopback(bind)) return true;
  if (host === undefined) return false;
  const name = hostName(host);
  return (
    LOOPBACK_NAMES.has(name) || name === bind || allowedOrigins.some((origin) => URL.parse(origin)?.hostname === name)
  );
}

/** Whether the `Host` header is a name by which every machine can call itself. */
export const isLoopbackName = (host: string | undefined): boolean =>
  host !== undefined && LOOPBACK_NAMES.has(hostName(host));

/** The name without the port, in lower case. */
function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, "");
}

/** Whether the URL has a token in its query. */
export function hasTokenInQuery(url: string): boolean {
  const query = url.split("?", 2)[1];
  return query !== undefined && new URLSearchParams(query).has("token");
}

export const TOKEN_IN_QUERY =
  "A token in the address is not accepted, because addresses end up in logs and histories. " +
  "Put it in the fragment (#token=…) for the page, or in an Authorization: Bearer header.\n";
