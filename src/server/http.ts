import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ServerOptions, ServerPorts, WebhookPaths, AddedRoutes } from "./options.ts";
import { pagePolicy } from "./page-policy.ts";
import { servePage } from "./page.ts";
import { background } from "../utils/background.ts";
import type { AuthGate } from "./transport/auth.ts";
import { isTrusted, refuseAddress, refuseText, type Reach, judgeRequest } from "./transport/judge.ts";
import type { HttpRouteContribution } from "../types/contribution.ts";
import type { Log } from "../types/log.ts";
import { answerInstead } from "../utils/net/answer-instead.ts";
import { OWN_PATHS } from "./webhooks/webhooks.ts";

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
  options: Reach & Pick<ServerOptions, "page" | "added">,
  { reports, webhooks, log }: Pick<ServerPorts, "reports" | "webhooks" | "log">,
  gate: AuthGate,
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
  servePage(app, options.page);
}

/** Runs before all other checks: platforms use any host name and their own query parameters. */
function serveWebhooks(app: FastifyInstance, webhooks: WebhookPaths, { peers }: AuthGate): void {
  app.addHook("onRequest", (request, reply, next) => {
    const [path = "/"] = request.url.split("?");
    if (!webhooks.has(path)) return next();
    reply.hijack();
    background("webhook", webhooks.take(path, request.raw, reply.raw, peers.of(request)));
  });
}

function guardRequests(app: FastifyInstance, options: Reach): void {
  app.addHook("onRequest", (request, reply, next) => {
    reply.headers(SECURITY_HEADERS).header(...pagePolicy(request.headers.host));
    const refusal = refuseAddress(request.raw, options);
    if (refusal === undefined && !request.is404) next();
    // Answered before the body is read: a body that no route wants is not collected.
    else if (refusal === undefined) void sendNotFound(reply.header("connection", "close"));
    else void reply.code(refusal.status).type("text/plain; charset=utf-8").send(refusal.text);
  });
  app.setNotFoundHandler((_request, reply) => sendNotFound(reply));
}

const sendNotFound = (reply: FastifyReply): FastifyReply =>
  reply.code(404).type("text/plain; charset=utf-8").send("Not found.\n");

/**
 * Serves the paths that contributors add, where the server has none of its own. The routes are registered before the
 * other checks: a route that checks its callers itself is meant for platforms, which use any host name.
 */
function serveAddedRoutes(app: FastifyInstance, options: Reach & WithRoutes, gate: AuthGate, log: Log): void {
  app.addHook("onRequest", (request, reply, next) => {
    const route = routeFor(request.url, options.added);
    if (!route) return next();
    if (route.needsToken && !mayCall(request, reply, options, gate)) return;
    reply.hijack();
    background("route of a plugin", answer(route, request, reply, log), log);
  });
}

interface WithRoutes {
  readonly added: AddedRoutes;
}

/** Whether the caller has the gateway's token. Answers the request where not. */
function mayCall(request: FastifyRequest, reply: FastifyReply, options: Reach, gate: AuthGate): boolean {
  const refusal = refuseAddress(request.raw, options);
  const verdict = refusal ? undefined : judgeRequest(request, gate);
  if (verdict?.kind === "ok") return true;
  void reply.header("connection", "close").type("text/plain; charset=utf-8");
  if (refusal) void reply.code(refusal.status).send(refusal.text);
  else if (verdict) void refuseText(reply, verdict);
  return false;
}

/** The longest path counts, so that a route below another one is reached. */
function routeFor(url: string, { httpRoutes }: AddedRoutes): HttpRouteContribution | undefined {
  const [path = "/"] = url.split("?");
  if (OWN_PATHS.test(path)) return undefined;
  return httpRoutes
    .filter((route) => path === route.path || (route.isPrefix && path.startsWith(`${route.path}/`)))
    .toSorted((a, b) => b.path.length - a.path.length)[0];
}

async function answer(
  route: HttpRouteContribution,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Log,
): Promise<void> {
  const { raw } = reply;
  raw.setHeader("x-content-type-options", "nosniff");
  raw.setHeader("referrer-policy", "no-referrer");
  // Who writes after the end of the answer, or to a caller that is gone, would end this process.
  raw.on("error", (error) => log.warn("route of a plugin wrote too late", { path: route.path, error }));
  try {
    await route.handle(request.raw, raw);
  } catch (error) {
    log.error("route of a plugin failed", { path: route.path, error });
    answerInstead(raw, 500);
  }
}
