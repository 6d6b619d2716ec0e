import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../types/clock.ts";
import { MethodError } from "../../types/method.ts";
import type { AuthGate } from "../transport/auth.ts";
import { judgeRequest } from "../transport/judge.ts";
import type { ServerPorts } from "../options.ts";
import { refuseUnread } from "../transport/refuse-unread.ts";
import { badRequest, errorBody, FAILED, sendError, type ApiError } from "./errors.ts";
import type { StartPorts } from "./start.ts";

type Ports = StartPorts & Pick<ServerPorts, "log">;

/** `/v1/models` and `/v1/chat/completions` in OpenAI's shapes; the gateway's token is the API key. */
export function serveOpenAi(app: FastifyInstance, ports: Ports, gate: AuthGate): void {
  void app.register(
    async (api) => {
      api.addHook("onRequest", async (request, reply) => judgeKey(request, reply, gate, ports.clock));
      api.setErrorHandler((error, request, reply) => answerError(error, request, reply, ports));
      api.get("/models", () => listModels(ports));
      // The code for answers is loaded with the first request: most gateways get none.
      api.post("/chat/completions", async (request, reply) =>
        (await import("./complete.ts")).answerCompletion(request, reply, ports),
      );
    },
    { prefix: "/v1" },
  );
}

async function judgeKey(
  request: FastifyRequest,
  reply: FastifyReply,
  gate: AuthGate,
  clock: Clock,
): Promise<FastifyReply | undefined> {
  const verdict = judgeRequest(request, gate);
  if (verdict.kind === "ok") return undefined;
  if (verdict.kind === "locked") reply.header("retry-after", String(Math.ceil(verdict.retryAfterMs / 1000)));
  const error = verdict.kind === "locked" ? LOCKED : NO_KEY;
  const type = "application/json; charset=utf-8";
  refuseUnread(request, reply, { status: error.status, type, body: JSON.stringify(errorBody(error)) }, clock);
  return reply;
}

const NO_KEY: ApiError = {
  status: 401,
  message: "The API key must be the gateway's token (Authorization: Bearer …).",
  type: "invalid_request_error",
  code: "invalid_api_key",
};

const LOCKED: ApiError = {
  status: 429,
  message: "Too many wrong tokens came from this address.",
  type: "rate_limit_error",
  code: "rate_limited",
};

function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply, { log }: Ports): FastifyReply {
  if (error instanceof MethodError) return sendError(reply, badRequest(error.message));
  const status = error instanceof Error && "statusCode" in error ? Number(error.statusCode) : 500;
  if (status < 500 && error instanceof Error) return sendError(reply, { ...badRequest(error.message), status });
  log.error("request failed", { method: request.method, path: request.url, error });
  return sendError(reply, FAILED);
}

function listModels({ catalog }: Ports) {
  const ids = ["openclaw", ...catalog.agents().map(({ id }) => `openclaw/${id}`)];
  return { object: "list", data: ids.map((id) => ({ id, object: "model", created: 0, owned_by: "openclaw" })) };
}
