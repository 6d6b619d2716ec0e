import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { HttpRouteContribution } from "../types/contribution.ts";
import type { Log } from "../types/log.ts";
import { answerInstead } from "../utils/net/answer-instead.ts";
import { background } from "../utils/background.ts";
import type { AddedRoutes } from "./options.ts";
import type { Gate } from "./transport/auth.ts";
import { OWN_PATHS } from "./webhooks/webhooks.ts";
import { judgeRequest, refuseAddress, refuseText, type Reach } from "./transport/judge.ts";

/**
 * Serves the paths that contributors add, where the server has none of its own. It is registered before the other checks: a
 * route that checks its callers itself is meant for platforms, which use any host name.
 */
export function serveAddedRoutes(app: FastifyInstance, options: Reach & WithRoutes, gate: Gate, log: Log): void {
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
function mayCall(request: FastifyRequest, reply: FastifyReply, options: Reach, gate: Gate): boolean {
  const refusal = refuseAddress({ url: request.url, host: request.headers.host }, options);
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
