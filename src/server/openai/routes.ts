import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../types/clock.ts";
import type { RunStream } from "../../types/run/events.ts";
import { MethodError } from "../../types/method.ts";
import type { Gate } from "../transport/auth.ts";
import { disconnectSignal } from "../transport/disconnect.ts";
import { judgeRequest } from "../transport/judge.ts";
import type { ServerPorts } from "../options.ts";
import { refuseUnread } from "../transport/refuse-unread.ts";
import { RunText } from "../events/runs.ts";
import { endError, EventWriter, wholeAnswer, type AnswerHead, type RunEnd } from "./answer.ts";
import { badRequest, errorBody, sendError, stopped, type ApiError } from "./errors.ts";
import { requestedAgent, isOurModel, parseCompletion, type CompletionRequest } from "./request.ts";
import { findAgent, startRun, type StartPorts } from "./start.ts";

type Ports = StartPorts & Pick<ServerPorts, "log">;

/** `/v1/models` and `/v1/chat/completions` in OpenAI's shapes; the gateway's token is the API key. */
export function serveOpenAi(app: FastifyInstance, ports: Ports, gate: Gate): void {
  void app.register(
    async (api) => {
      api.addHook("onRequest", async (request, reply) => judgeKey(request, reply, gate, ports.clock));
      api.setErrorHandler((error, request, reply) => answerError(error, request, reply, ports));
      api.get("/models", () => listModels(ports));
      api.post("/chat/completions", (request, reply) => complete(request, reply, ports));
    },
    { prefix: "/v1" },
  );
}

async function judgeKey(
  request: FastifyRequest,
  reply: FastifyReply,
  gate: Gate,
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

const FAILED: ApiError = {
  status: 500,
  message: "The gateway failed; its log has the cause.",
  type: "server_error",
  code: "internal_error",
};

function listModels({ catalog }: Ports) {
  const ids = ["openclaw", ...catalog.agents().map(({ id }) => `openclaw/${id}`)];
  return { object: "list", data: ids.map((id) => ({ id, object: "model", created: 0, owned_by: "openclaw" })) };
}

async function complete(request: FastifyRequest, reply: FastifyReply, ports: Ports): Promise<unknown> {
  const parsed = parseCompletion(request.body);
  if (parsed.kind === "bad") return sendError(reply, parsed.error);
  const { model } = parsed.request;
  const header = request.headers["x-openclaw-agent-id"];
  const requested = requestedAgent(model, typeof header === "string" && header !== "" ? header : undefined);
  const agent = isOurModel(model) ? findAgent(requested, ports.catalog) : undefined;
  if (agent === undefined) return sendError(reply, unknownModel(model));
  const gone = disconnectSignal(reply.raw);
  const stream = await startRun(parsed.request, agent, ports, gone);
  if (stream === undefined) return sendError(reply, stopped("the run did not begin"));
  const head = { id: `chatcmpl-${randomUUID()}`, model, created: Math.floor(ports.clock.now() / 1000) };
  return parsed.request.stream === true
    ? streamAnswer(stream, { head, reply, request: parsed.request, ports })
    : sendAnswer(stream, head, reply);
}

const unknownModel = (model: string): ApiError => ({
  status: 404,
  message: `There is no model ${model}; use openclaw or openclaw/<agentId> (GET /v1/models lists them).`,
  type: "invalid_request_error",
  code: "model_not_found",
  param: "model",
});

async function sendAnswer(stream: RunStream, head: AnswerHead, reply: FastifyReply): Promise<FastifyReply> {
  const text = new RunText();
  const end = await follow(stream, async (event) => void text.add(event));
  const error = end === undefined ? stopped("the run ended without an outcome") : endError(end.result);
  if (error !== undefined) return sendError(reply, error);
  return end === undefined ? reply : reply.send(wholeAnswer(head, text.text, end));
}

interface StreamContext {
  readonly head: AnswerHead;
  readonly reply: FastifyReply;
  readonly request: CompletionRequest;
  readonly ports: Ports;
}

async function streamAnswer(stream: RunStream, { head, reply, request, ports }: StreamContext): Promise<void> {
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
  const writer = new EventWriter(reply.raw, head, ports.clock);
  const text = new RunText();
  try {
    const end = await follow(stream, (event) => writer.text(text.add(event)));
    const error = end === undefined ? stopped("the run ended without an outcome") : endError(end.result);
    if (error !== undefined) writer.fail(error);
    else if (end !== undefined) await writer.finish(end, request.stream_options?.include_usage === true);
  } catch (error) {
    ports.log.error("streaming failed", { run: stream.facts.runId, error });
    writer.fail(FAILED);
  } finally {
    writer.stop();
  }
}

async function follow(
  stream: RunStream,
  show: (event: Parameters<RunText["add"]>[0]) => Promise<void>,
): Promise<RunEnd | undefined> {
  for await (const event of stream.watch()) {
    if (event.type === "run_end") return event;
    await show(event);
  }
  return undefined;
}
