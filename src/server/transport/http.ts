import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { bearerOf, type Gate, type Verdict } from "./auth.ts";
import type { ServerOptions, ServerPorts, WebhookPaths } from "../options.ts";
import { hasTokenInQuery, isHostAllowed, isLoopbackName, TOKEN_IN_QUERY } from "./origin.ts";
import { servePage } from "../page.ts";
import { isLoopback } from "./peer.ts";
import { background } from "../../utils/background.ts";

/** Names the WebSockets of this host, because not every browser counts them as `'self'`. */
function contentSecurityPolicy(host: string | undefined): string {
  const sockets = /^[\w.:[\]-]+$/.test(host ?? "") ? ` ws://${host} wss://${host}` : "";
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    `connect-src 'self'${sockets}`,
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

const SECURITY_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  // A site that opens the page cannot reach its window.
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;

/** The address that the server listens on, and the origins that may use it. */
export type Reach = Pick<ServerOptions, "host" | "access">;

/** Checks that apply to every request, and the routes that need no agent. */
export function serveBasics(
  app: FastifyInstance,
  options: Reach & Pick<ServerOptions, "pageDir">,
  { reports, webhooks }: Pick<ServerPorts, "reports" | "webhooks">,
  gate: Gate,
): void {
  if (webhooks) serveWebhooks(app, webhooks, gate);
  guardRequests(app, options);
  app.get("/healthz", () => ({ ok: true }));
  app.get("/readyz", (request, reply) => {
    const ready = reports.ready();
    // Problems may name files and hosts of this machine.
    const problems = isTrusted(request, gate).kind === "ok" ? { problems: ready.problems } : {};
    return reply.code(ready.ok ? 200 : 503).send({ ok: ready.ok, ...problems });
  });
  app.get("/metrics", (request, reply) => {
    const verdict = isTrusted(request, gate);
    if (verdict.kind !== "ok") return refuseText(reply, verdict);
    return reply.type("text/plain; version=0.0.4; charset=utf-8").send(reports.metrics());
  });
  servePage(app, options.pageDir);
}

/** Runs before all other checks: platforms use any host name and their own query parameters. */
function serveWebhooks(app: FastifyInstance, webhooks: WebhookPaths, { peers }: Gate): void {
  app.addHook("onRequest", (request, reply, next) => {
    const [path = "/"] = request.url.split("?");
    if (!webhooks.has(path)) return next();
    reply.hijack();
    background("webhook", webhooks.take(path, request.raw, reply.raw, peers.of(request)));
  });
}

function guardRequests(app: FastifyInstance, options: Reach): void {
  app.addHook("onRequest", (request, reply, next) => {
    reply.headers({ ...SECURITY_HEADERS, "content-security-policy": contentSecurityPolicy(request.headers.host) });
    const refusal = refuseAddress({ url: request.url, host: request.headers.host }, options);
    if (refusal === undefined && !request.is404) next();
    // Answered before the body is read: a body that no route wants is not collected.
    else if (refusal === undefined) void sendNotFound(reply.header("connection", "close"));
    else void reply.code(refusal.status).type("text/plain; charset=utf-8").send(refusal.text);
  });
  app.setNotFoundHandler((_request, reply) => sendNotFound(reply));
}

const sendNotFound = (reply: FastifyReply): FastifyReply =>
  reply.code(404).type("text/plain; charset=utf-8").send("Not found.\n");

/** Why a request is refused by its URL or host name, for pages, calls and sockets alike. Undefined when it is not. */
export function refuseAddress(
  request: { url: string; host: string | undefined },
  { host, access }: Reach,
): { readonly status: 400 | 403; readonly text: string } | undefined {
  if (!isHostAllowed(request.host, host, access.allowedOrigins)) {
    return { status: 403, text: "This gateway is not known under that host name. Open it as http://127.0.0.1.\n" };
  }
  return hasTokenInQuery(request.url) ? { status: 400, text: TOKEN_IN_QUERY } : undefined;
}

/**
 * Whether the request comes from this machine and uses a loopback name. A proxy on this machine makes remote clients look
 * local, so a request through a proxy is not local. Nor is one with another host name, to which a site may have led a browser.
 */
function isLocal(request: FastifyRequest, gate: Gate): boolean {
  const { address, isProxied } = gate.peers.of(request);
  return isLoopback(address) && !isProxied && isLoopbackName(request.headers.host);
}

const isTrusted = (request: FastifyRequest, gate: Gate): Verdict =>
  isLocal(request, gate) ? { kind: "ok" } : judgeRequest(request, gate);

export function judgeRequest(request: FastifyRequest, gate: Gate): Verdict {
  return gate.judgeBearer(bearerOf(request.headers.authorization), gate.peers.of(request));
}

function refuseText(reply: FastifyReply, verdict: Exclude<Verdict, { kind: "ok" }>): FastifyReply {
  if (verdict.kind === "locked") {
    const seconds = Math.ceil(verdict.retryAfterMs / 1000);
    return reply.code(429).header("retry-after", String(seconds)).send("Too many wrong tokens; try again later.\n");
  }
  return reply.code(401).header("www-authenticate", "Bearer").send("The gateway's token is needed as a bearer.\n");
}
