import type { IncomingMessage, ServerResponse } from "node:http";
import { answerInstead } from "../../../utils/net/answer-instead.ts";
import { functionOf, methodIn, nameIn, objectOf, textIn } from "../foreign.ts";
import { limitRoute } from "../answer-limit.ts";
import type { PluginScope } from "../scope.ts";

/**
 * `api.registerHttpRoute({path, handler, auth, match})`. `auth: "gateway"`: callers need the gateway's token; `"plugin"`: the
 * plugin checks them itself. `match`: `exact` or `prefix`.
 */
export function registerHttpRoute(scope: PluginScope, given: unknown): void {
  const route = objectOf(given, "registerHttpRoute");
  const path = pathOf(nameIn(route, "path", "registerHttpRoute"));
  const handler = methodIn(route, "handler", `the route ${path}`);
  scope.registry.addHttpRoute({
    path,
    isPrefix: textIn(route, "match") === "prefix",
    needsToken: textIn(route, "auth") !== "plugin",
    handle: async (request, response) => {
      limitRoute(scope, `route ${path}`, { request, response });
      await scope.call(`route ${path}`, () => handler(request, response));
    },
  });
}

/** `api.registerHttpHandler((request, response) => isMine)` of older plugins: asked for every path below `/plugins/<id>`. */
export function registerHttpHandler(scope: PluginScope, given: unknown): void {
  const handler = functionOf(given, "registerHttpHandler");
  const path = `/plugins/${scope.id}`;
  scope.registry.addHttpRoute({
    path,
    isPrefix: true,
    needsToken: false,
    async handle(request: IncomingMessage, response: ServerResponse) {
      limitRoute(scope, `route ${path}`, { request, response });
      const isMine: unknown = await scope.call(`route ${path}`, () => handler(request, response));
      if (isMine !== true && !response.headersSent) answerInstead(response, 404);
    },
  });
}

function pathOf(path: string): string {
  const clean = `/${path.replace(/^\/+/, "").replace(/\/+$/, "")}`;
  if (/^\/[\w./~%-]+$/.test(clean) && !clean.includes("..")) return clean;
  throw new TypeError(`"${path}" cannot be the path of a route`);
}
