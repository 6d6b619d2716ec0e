import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { buildKey, isSubagentKey, parseKey } from "../sessions/keys.ts";
import type { ToolCallOutcome, ToolCallRequest } from "../types/chat/tool-call.ts";
import { agentId, type AgentId } from "../types/ids.ts";
import { MethodError } from "../types/method.ts";
import type { ServerPorts } from "./options.ts";
import type { AuthGate } from "./transport/auth.ts";
import { AnsweredOnce } from "./transport/answered-once.ts";
import { disconnectSignal } from "./transport/disconnect.ts";
import { problemsOf } from "./transport/frames.ts";
import { judgeRequest } from "./transport/judge.ts";
import { refuseUnread } from "./transport/refuse-unread.ts";

/** Bytes of a request's body. */
const MOST_BODY = 2 * 1024 * 1024;
/** Calls that may run at one time. */
const MOST_CALLS = 16;
/** Seconds after which a client may try again. */
const RETRY_AFTER = { busy: 1, looping: 60 } as const;

const PATH = "/tools/invoke";

type Ports = Pick<ServerPorts, "callTool" | "keys" | "catalog" | "clock" | "log">;

// A program of the field may send further fields.
const invocation = z.lazy(() =>
  z
    .looseObject({
      tool: z.string().min(1).max(128).optional(),
      name: z.string().min(1).max(128).optional(),
      action: z.string().max(128).nullish(),
      args: z.record(z.string(), z.unknown()).nullish(),
      sessionKey: z.string().min(1).max(512).nullish(),
      agentId: z.string().min(1).max(128).nullish(),
      dryRun: z.boolean().nullish(),
      idempotencyKey: z.string().min(1).max(256).nullish(),
    })
    .refine(({ tool, name }) => tool !== undefined || name !== undefined, { path: ["tool"], message: "is missing" }),
);

interface ApiError {
  readonly status: number;
  readonly type: string;
  readonly message: string;
}

const bodyOf = ({ type, message }: ApiError) => ({ ok: false, error: { type, message } });
const send = (reply: FastifyReply, error: ApiError): FastifyReply => reply.code(error.status).send(bodyOf(error));
const invalid = (message: string): ApiError => ({ status: 400, type: "invalid_request", message });

/** `POST /tools/invoke`: calls one tool without a model. The gateway's token is needed. */
export function serveToolCalls(app: FastifyInstance, ports: Ports, gate: AuthGate): void {
  let running = 0;
  const once: OnceCalled = new AnsweredOnce(({ kind }) => kind !== "done");
  void app.register(async (api) => {
    api.addHook("onRequest", async (request, reply) => judge(request, reply, gate, ports));
    api.setErrorHandler((error, request, reply) => answerError(error, request, reply, ports));
    // A client that names no content type, or another one, has sent JSON all the same.
    api.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => parseJson(body, done));
    api.all(PATH, { bodyLimit: MOST_BODY }, async (request, reply) => {
      if (running >= MOST_CALLS) return send(reply.header("retry-after", RETRY_AFTER.busy), BUSY);
      running += 1;
      try {
        return await answer(request, reply, ports, once);
      } finally {
        running -= 1;
      }
    });
  });
}

function parseJson(body: unknown, done: (error: Error | null, value?: unknown) => void): void {
  try {
    done(null, JSON.parse(String(body)));
  } catch {
    // The text of the error quotes the body.
    done(Object.assign(new Error("the body is not JSON"), { statusCode: 400 }));
  }
}

async function judge(
  request: FastifyRequest,
  reply: FastifyReply,
  gate: AuthGate,
  { clock }: Ports,
): Promise<FastifyReply | undefined> {
  const refused = request.method === "POST" ? refusalOf(request, reply, gate) : NO_POST;
  if (!refused) return undefined;
  if (refused === NO_POST) reply.header("allow", "POST");
  const type = "application/json; charset=utf-8";
  refuseUnread(request, reply, { status: refused.status, type, body: JSON.stringify(bodyOf(refused)) }, clock);
  return reply;
}

function refusalOf(request: FastifyRequest, reply: FastifyReply, gate: AuthGate): ApiError | undefined {
  const verdict = judgeRequest(request, gate);
  if (verdict.kind === "ok") return undefined;
  if (verdict.kind !== "locked") {
    reply.header("www-authenticate", "Bearer");
    return NO_TOKEN;
  }
  reply.header("retry-after", String(Math.ceil(verdict.retryAfterMs / 1000)));
  return LOCKED;
}

const NO_POST: ApiError = { status: 405, type: "method_not_allowed", message: "Tools are called with POST." };
const NO_TOKEN: ApiError = {
  status: 401,
  type: "unauthorized",
  message: "The gateway's token is needed (Authorization: Bearer …).",
};
const LOCKED: ApiError = {
  status: 429,
  type: "rate_limited",
  message: "Too many wrong tokens came from this address.",
};
const BUSY: ApiError = {
  status: 429,
  type: "rate_limited",
  message: `${MOST_CALLS} tool calls are running; try again when one of them has ended.`,
};
const FAILED: ApiError = { status: 500, type: "internal_error", message: "The gateway failed; its log has the cause." };

function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply, { log }: Ports): FastifyReply {
  if (error instanceof MethodError) return send(reply, invalid(error.message));
  const status = error instanceof Error && "statusCode" in error ? Number(error.statusCode) : 500;
  if (error instanceof Error && status === 413)
    return send(reply, { status, type: "too_large", message: `The body may have ${MOST_BODY} bytes.` });
  if (error instanceof Error && status < 500) return send(reply, invalid(error.message));
  log.error("request failed", { method: request.method, path: PATH, error });
  return send(reply, FAILED);
}

type OnceCalled = AnsweredOnce<ToolCallOutcome>;

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  ports: Ports,
  once: OnceCalled,
): Promise<FastifyReply> {
  const parsed = invocation.safeParse(request.body);
  if (!parsed.success) return send(reply, invalid(problemsOf(parsed.error)));
  const { tool, name, action, args, dryRun, idempotencyKey: key } = parsed.data;
  const where = callPlace(parsed.data, ports);
  if ("status" in where) return send(reply, where);
  const wanted = tool ?? name ?? "";
  const call = {
    ...where,
    tool: wanted,
    args: args ?? {},
    ...(typeof action === "string" && { action }),
    isDryRun: dryRun === true,
  };
  const outcome =
    typeof key === "string"
      ? await once.answer(key, JSON.stringify(call), () => ports.callTool({ ...call, signal: NEVER }))
      : await ports.callTool({ ...call, signal: disconnectSignal(reply.raw) });
  return sendOutcome(outcome, wanted, reply);
}

/** A call with an idempotency key continues after its client has left: the client can ask for the result again. */
const NEVER = new AbortController().signal;

type Place = Pick<ToolCallRequest, "agentId" | "sessionKey">;

/** The session, and the agent that answers there. Throws `MethodError` for a name that cannot be a session's. */
export function callPlace(
  asked: Pick<z.output<typeof invocation>, "sessionKey" | "agentId">,
  { catalog, keys }: Pick<Ports, "catalog" | "keys">,
): Place | ApiError {
  const named = typeof asked.agentId === "string" ? agentId(asked.agentId) : undefined;
  if (typeof asked.sessionKey !== "string") {
    const agent = named ?? catalog.defaultAgent;
    return knownAgent(agent, catalog) ?? { agentId: agent, sessionKey: mainKey(agent, catalog) };
  }
  const sessionKey = keys.inner(asked.sessionKey);
  // The tools of a subagent depend on the run that asked for it, which no row keeps.
  if (isSubagentKey(sessionKey)) return invalid("sessionKey: tools cannot be called in a subagent's session");
  const { agentId: agent } = parseKey(sessionKey, catalog.defaultAgent);
  if (named !== undefined && named !== agent) return invalid(`agentId: the session belongs to the agent ${agent}`);
  return knownAgent(agent, catalog) ?? { agentId: agent, sessionKey };
}

const knownAgent = (agent: AgentId, { agents }: Ports["catalog"]): ApiError | undefined =>
  agents().some(({ id }) => id === agent) ? undefined : invalid(`there is no agent ${agent}`);

const mainKey = (agent: AgentId, { defaultAgent }: Ports["catalog"]) =>
  buildKey({ kind: "main", agentId: agent }, defaultAgent);

function sendOutcome(outcome: ToolCallOutcome, tool: string, reply: FastifyReply): FastifyReply {
  switch (outcome.kind) {
    case "done":
      return sendResult(outcome.result, reply);
    case "fits":
      return reply.send({ ok: true, dryRun: true, tool: outcome.tool });
    case "missing":
      return send(reply, {
        status: 404,
        type: "not_found",
        message: `There is no tool ${tool} for this call, or the policy denies it.`,
      });
    case "invalid":
      return send(reply, invalid(outcome.why));
    case "looping":
      reply.header("retry-after", RETRY_AFTER.looping);
      return send(reply, { status: 429, type: "tool_loop", message: outcome.why });
  }
}

/** Sends a result. An error has its text for the client: a refusal on the way to the tool, or the tool's own text. */
function sendResult(
  { content, details, isError }: Extract<ToolCallOutcome, { kind: "done" }>["result"],
  reply: FastifyReply,
): FastifyReply {
  if (isError !== true) return reply.send({ ok: true, result: { content, details } });
  const message = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  return send(reply, { status: 500, type: "tool_error", message });
}
