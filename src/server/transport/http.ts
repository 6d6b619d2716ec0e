import type { FastifyInstance, FastifyReply } from "fastify";
import { serveAddedRoutes } from "../added-routes.ts";
import type { ServerOptions, ServerPorts, WebhookPaths } from "../options.ts";
import { servePage } from "../page.ts";
import { background } from "../../utils/background.ts";
import type { Gate } from "./auth.ts";
import { isTrusted, refuseAddress, refuseText, type Reach } from "./judge.ts";

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

/** Checks that apply to every request, and the routes that need no agent. */
export function serveBasics(
  app: FastifyInstance,
  options: Reach & Pick<ServerOptions, "pageDir" | "added">,
  { reports, webhooks, log }: Pick<ServerPorts, "reports" | "webhooks" | "log">,
  gate: Gate,
): void {
  if (webhooks) serveWebhooks(app, webhooks, gate);
  serveAddedRoutes(app, options, gate, log);
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
