import type { FastifyInstance } from "fastify";
import { serveOpenAi } from "./openai/routes.ts";
import type { ServerOptions, ServerPorts } from "./options.ts";
import { serveToolCalls } from "./tools-invoke.ts";
import type { Gate } from "./transport/auth.ts";
import { serveBasics } from "./transport/http.ts";

/** Everything that the server answers over HTTP. */
export function serveRoutes(app: FastifyInstance, options: ServerOptions, ports: ServerPorts, gate: Gate): void {
  serveBasics(app, options, ports, gate);
  if (options.chatCompletions !== false) serveOpenAi(app, ports, gate);
  serveToolCalls(app, ports, gate);
}
