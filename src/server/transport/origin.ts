import { isLoopback } from "./peer.ts";

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Whether a browser page of this origin may open a socket. Without the header it is no browser. Beside the configured ones
 * only the page that this server itself served under a loopback name.
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
 * Whether the `Host` header names this server. Asked on loopback binds, where a foreign name means that somebody's DNS was
 * pointed here.
 */
export function isHostAllowed(host: string | undefined, bind: string, allowedOrigins: readonly string[]): boolean {
  if (bind !== "localhost" && !isLoopback(bind)) return true;
  if (host === undefined) return false;
  const name = hostName(host);
  return (
    LOOPBACK_NAMES.has(name) || name === bind || allowedOrigins.some((origin) => URL.parse(origin)?.hostname === name)
  );
}

/** Whether the `Host` header is one of the names that every machine has for itself. */
export const isLoopbackName = (host: string | undefined): boolean =>
  host !== undefined && LOOPBACK_NAMES.has(hostName(host));

/** The name without the port, in lower case. */
function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, "");
}

/** Whether the address carries a secret in its query. */
export function hasTokenInQuery(url: string): boolean {
  const query = url.split("?", 2)[1];
  return query !== undefined && new URLSearchParams(query).has("token");
}

export const TOKEN_IN_QUERY =
  "A token in the address is not accepted, because addresses end up in logs and histories. " +
  "Put it in the fragment (#token=…) for the page, or in an Authorization: Bearer header.\n";
