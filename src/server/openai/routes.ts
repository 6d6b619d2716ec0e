import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../types/clock.ts";
import { MethodError } from "../../types/method.ts";
import type { OpenAiOptions } from "../options.ts";
import type { AuthGate } from "../transport/auth.ts";
import { judgeRequest } from "../transport/judge.ts";
import { refuseUnread } from "../transport/refuse-unread.ts";
import { badRequest, errorBody, FAILED, sendError, type ApiError } from "./errors.ts";
import type { StartPorts } from "./start.ts";
import { StoredResponses } from "./stored-responses.ts";

/** The paths under `/v1` in OpenAI's shapes; the gateway's token is the API key. */
export function serveOpenAi(app: FastifyInstance, options: OpenAiOptions, ports: StartPorts, gate: AuthGate): void {
  void app.register(
    async (api) => {
      const paths: Paths = {
        "/v1/models": "GET",
        ...(options.chatCompletions && { "/v1/chat/completions": "POST" }),
        ...(options.responses && { "/v1/responses": "POST" }),
        "/v1/embeddings": "POST",
      };
      api.addHook("onRequest", async (request, reply) => {
        if (!isUnknown(request)) return judgeKey(request, reply, gate, ports.clock);
        refuseUnknown(request, reply, ports, paths);
        return reply;
      });
      api.setErrorHandler((error, request, reply) => answerError(error, request, reply, ports));
      // The code for answers is loaded with the first request: most gateways get none.
      api.get("/models", async () => (await import("./models.ts")).listModels(ports.catalog));
      api.get("/models/*", async (request, reply) => {
        const model = (await import("./models.ts")).getModel(nameIn(request), ports.catalog);
        return "status" in model ? sendError(reply, model) : model;
      });
      if (options.chatCompletions)
        api.post("/chat/completions", async (request, reply) =>
          (await import("./complete.ts")).answerCompletion(request, reply, options, ports),
        );
      api.post("/embeddings", async (request, reply) =>
        (await import("./embeddings.ts")).answerEmbeddings(request, reply, ports),
      );
      const stored = new StoredResponses(ports.clock);
      if (options.responses)
        api.post("/responses", async (request, reply) =>
          (await import("./responses.ts")).answerResponse(request, reply, { options, ports, stored }),
        );
      // The hook answers before.
      for (const rest of UNKNOWN) api.all(rest, (_request, reply) => reply);
    },
    { prefix: "/v1" },
  );
}

/** The methods of the paths that are served. */
type Paths = Readonly<Record<string, string>>;

/** The routes of all paths that no other route has. */
const UNKNOWN = ["/", "/*"];

const isUnknown = ({ routeOptions: { url } }: FastifyRequest): boolean =>
  url === "/v1" || UNKNOWN.some((rest) => url === `/v1${rest}`);

function nameIn({ params }: FastifyRequest): string {
  const name: unknown = typeof params === "object" && params !== null && "*" in params ? params["*"] : "";
  return String(name);
}

/** Answers a request to a path that is not served, or not with this method, before its body is read. */
function refuseUnknown(request: FastifyRequest, reply: FastifyReply, { clock }: StartPorts, paths: Paths): void {
  const { method, url } = request;
  const [path = ""] = url.split("?");
  const other = paths[path];
  const message = `Unknown request URL: ${method} ${path}. The gateway does not serve it, or its config turns it off.`;
  const unknown = { status: 404, message, type: "invalid_request_error", code: "unknown_url" };
  if (other) reply.header("allow", other);
  refuse(request, reply, other ? wrongMethod(`${path} takes ${other}, and not ${method}.`) : unknown, clock);
}

function refuse(request: FastifyRequest, reply: FastifyReply, error: ApiError, clock: Clock): void {
  const type = "application/json; charset=utf-8";
  refuseUnread(request, reply, { status: error.status, type, body: JSON.stringify(errorBody(error)) }, clock);
}

const wrongMethod = (message: string): ApiError => ({
  status: 405,
  message,
  type: "invalid_request_error",
  code: "method_not_allowed",
});

async function judgeKey(
  request: FastifyRequest,
  reply: FastifyReply,
  gate: AuthGate,
  clock: Clock,
): Promise<FastifyReply | undefined> {
  const verdict = judgeRequest(request, gate);
  if (verdict.kind === "ok") return undefined;
  if (verdict.kind === "locked") reply.header("retry-after", String(Math.ceil(verdict.retryAfterMs / 1000)));
  refuse(request, reply, verdict.kind === "locked" ? LOCKED : NO_KEY, clock);
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

function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply, { log }: StartPorts): FastifyReply {
  if (error instanceof MethodError) return sendError(reply, badRequest(error.message));
  const status = error instanceof Error && "statusCode" in error ? Number(error.statusCode) : 500;
  if (status < 500 && error instanceof Error) return sendError(reply, { ...badRequest(error.message), status });
  log.error("request failed", { method: request.method, path: request.url, error });
  return sendError(reply, FAILED);
}
