import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { AccessOptions } from "../options.ts";
import { bearerOf, type AuthGate, type AuthVerdict } from "./auth.ts";
import { hasTokenInQuery, isHostAllowed, isLoopbackName, TOKEN_IN_QUERY } from "./origin.ts";
import { isLoopback } from "../remote-peer.ts";

/** The address that the server listens on, and the origins that may use it. */
export interface Reach {
  readonly host: string;
  readonly access: AccessOptions;
}

/** Why a request is refused by its URL or host name, for pages, calls and sockets alike. Undefined when it is not. */
export function refuseAddress(
  { url = "/", headersDistinct }: IncomingMessage,
  { host, access }: Reach,
): { readonly status: 400 | 403; readonly text: string } | undefined {
  const [named, second] = headersDistinct["host"] ?? [];
  // A proxy in front may have judged by another one than this server would (RFC 9112, 3.2).
  if (second !== undefined) return { status: 400, text: "A request names one host.\n" };
  if (!isHostAllowed(hostInUrl(url) ?? named, host, access.allowedOrigins)) {
    return { status: 403, text: "This gateway is not known under that host name. Open it as http://127.0.0.1.\n" };
  }
  return hasTokenInQuery(url) ? { status: 400, text: TOKEN_IN_QUERY } : undefined;
}

/** The host in a whole address, as some clients write it: it counts in place of the header. Undefined for a path. */
const hostInUrl = (url: string): string | undefined => /^\w+:\/\/([^/?#]*)/.exec(url)?.[1];

/**
 * Whether the request comes from this machine and uses a loopback name. A proxy on this machine makes remote clients look
 * local, so a request through a proxy is not local. Nor is one with another host name, to which a site may have led a browser.
 */
function isLocal(request: FastifyRequest, gate: AuthGate): boolean {
  const { address, isProxied } = gate.peers.of(request);
  return isLoopback(address) && !isProxied && isLoopbackName(request.headers.host);
}

/** Whether the request comes from this machine or has the token. */
export const isTrusted = (request: FastifyRequest, gate: AuthGate): AuthVerdict =>
  isLocal(request, gate) ? { kind: "ok" } : judgeRequest(request, gate);

/** Whether the request has the gateway's token. */
export function judgeRequest(request: FastifyRequest, gate: AuthGate): AuthVerdict {
  return gate.judgeBearer(bearerOf(request.headers.authorization), gate.peers.of(request));
}

/** Answers a request without a valid token. */
export function refuseText(reply: FastifyReply, verdict: Exclude<AuthVerdict, { kind: "ok" }>): FastifyReply {
  if (verdict.kind === "locked") {
    const seconds = Math.ceil(verdict.retryAfterMs / 1000);
    return reply.code(429).header("retry-after", String(seconds)).send("Too many wrong tokens; try again later.\n");
  }
  return reply.code(401).header("www-authenticate", "Bearer").send("The gateway's token is needed as a bearer.\n");
}
