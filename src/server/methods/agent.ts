import { randomUUID } from "node:crypto";
import { z } from "zod";
import { agentOf, buildKey } from "../../sessions/keys.ts";
import { agentAnswers } from "../../types/answers/chat.ts";
import type { SessionKey } from "../../types/ids.ts";
import { agentId, runId, type RunId } from "../../types/ids.ts";
import { keyParam } from "../../types/key-field.ts";
import { defineMethod, InStages, MethodError, type Method } from "../../types/method.ts";
import { THINK_LEVELS } from "../../types/run/model.ts";
import type { ServerPorts } from "../options.ts";
import { deadline, findRun, readOutcome, type RunOutcome } from "../events/runs.ts";
import { checkCommand } from "../transport/scopes.ts";
import { attachmentsSchema, storeAttachments } from "./attachments.ts";
import { defined } from "../../utils/defined.ts";
import { requireAgent } from "./patch.ts";
import { sessionForTurn } from "./turn-session.ts";

const DEFAULT_WAIT_MS = 30_000;

const agentParams = z.looseObject({
  message: z.string().min(1),
  idempotencyKey: z.string().min(1).max(256).optional(),
  agentId: z.string().min(1).optional(),
  sessionKey: keyParam().optional(),
  sessionId: z.string().min(1).optional(),
  to: z.string().min(1).optional(),
  channel: z.string().min(1).optional(),
  accountId: z.string().min(1).optional(),
  thinking: z.enum(THINK_LEVELS).optional(),
  model: z.string().min(1).optional(),
  deliver: z.boolean().optional(),
  /** Seconds. */
  timeout: z.int().min(0).optional(),
  attachments: attachmentsSchema,
});
type AgentParams = z.infer<typeof agentParams>;

type Ports = Pick<ServerPorts, "chat" | "media" | "sessions" | "keys" | "catalog" | "clock">;

/** Methods that run an agent without an open chat, and wait for the run. */
export function agentRunMethods(ports: Ports): readonly Method[] {
  return [
    defineMethod({
      name: "agent",
      scope: "operator.write",
      beginsRun: true,
      params: agentParams,
      result: agentAnswers.start,
      idempotencyKey: "idempotencyKey",
      run: (params, caller) => {
        checkCommand(params.message, caller.scopes, ports.chat);
        return start(params, ports);
      },
    }),
    defineMethod({
      name: "agent.wait",
      scope: "operator.write",
      mayWait: true,
      params: z.looseObject({ runId: z.string().min(1), timeoutMs: z.int().min(0).optional() }),
      result: agentAnswers.wait,
      run: (params) => wait(params, ports),
    }),
  ];
}

/** A client's own word on where a message came from could keep it out of the transcript, so it is not taken. */
const NOT_TAKEN = ["inputProvenance", "internalEvents"] as const;

async function start(params: AgentParams, ports: Ports) {
  const refused = NOT_TAKEN.filter((name) => params[name] !== undefined);
  if (refused.length > 0)
    throw new MethodError("INVALID_REQUEST", `only the gateway itself says this of a message: ${refused.join(", ")}`);
  const media = await storeAttachments(params.attachments ?? [], ports.media);
  const sessionKey = nameSession(params, ports);
  const { thinking, model, deliver } = params;
  const timeoutMs = params.timeout === undefined || params.timeout === 0 ? undefined : params.timeout * 1000;
  const sent = await ports.chat.send({
    sessionKey,
    text: params.message,
    media,
    idempotencyKey: params.idempotencyKey ?? randomUUID(),
    ...defined({ thinking, model, timeoutMs, deliver }),
  });
  const agent = agentOf(sessionKey, ports.catalog.defaultAgent);
  const first = {
    runId: sent.runId,
    status: "accepted",
    acceptedAt: ports.clock.now(),
    sessionKey,
    agentId: agent,
  };
  return new InStages(first, (signal) => outcomeOf(sent.runId, ports.chat, signal));
}

/** The second answer, as OpenClaw's clients read it. Undefined when no run began, or the run broke off. */
async function outcomeOf(id: RunId, chat: ServerPorts["chat"], signal: AbortSignal) {
  const stream = await findRun(chat, id, signal);
  const outcome = stream && (await readOutcome(stream));
  if (outcome === undefined) return undefined;
  const { text, receipt, startedAt, endedAt, result } = outcome;
  if (result.kind === "failed")
    throw new MethodError("UNAVAILABLE", result.failure.message, { details: { code: result.failure.kind, runId: id } });
  const { model, usage } = receipt;
  const agentMeta = { sessionId: stream?.facts.sessionId, provider: model.provider, model: model.id, usage };
  return {
    runId: id,
    status: "ok",
    summary: result.kind === "replied" ? "completed" : "aborted",
    result: {
      payloads: text === "" ? [] : [{ text, mediaUrl: null }],
      meta: { durationMs: endedAt - startedAt, aborted: result.kind === "aborted", agentMeta },
    },
  };
}

function nameSession(params: AgentParams, ports: Ports): SessionKey {
  if (params.sessionKey !== undefined) {
    requireAgent(params, params.sessionKey, ports);
    return sessionForTurn(params.sessionKey, ports);
  }
  const known = params.sessionId === undefined ? undefined : ports.sessions.withId(params.sessionId);
  if (known !== undefined) return sessionForTurn(known.key, ports);
  const { defaultAgent } = ports.catalog;
  const agent = params.agentId === undefined ? defaultAgent : agentId(params.agentId);
  if (!ports.catalog.agents().some(({ id }) => id === agent))
    throw new MethodError("NOT_FOUND", `there is no agent "${agent}"`, {
      details: { code: "UNKNOWN_AGENT_ID", agentId: agent },
    });
  if (params.sessionId !== undefined) return explicitSession(agent, params.sessionId, ports);
  const { channel = "webchat", accountId: account = "default", to: sender } = params;
  if (sender !== undefined) {
    return buildKey({ kind: "direct", agentId: agent, channel, account, sender }, defaultAgent);
  }
  return ports.keys.inner(buildKey({ kind: "main", agentId: agent }, defaultAgent));
}

/** The session of a client that names its sessions itself, begun or not. Throws `MethodError` for what is no name. */
function explicitSession(agent: string, name: string, { keys }: Ports): SessionKey {
  if (/^[\w.-]{1,128}$/.test(name)) return keys.inner(`agent:${agent}:explicit:${name}`);
  throw new MethodError("NOT_FOUND", "no session has this id");
}

async function wait(params: { runId: string; timeoutMs?: number | undefined }, { chat, clock }: Ports) {
  const id = runId(params.runId);
  const limit = deadline(clock, params.timeoutMs ?? DEFAULT_WAIT_MS);
  const timedOut = new Promise<undefined>((resolve) => {
    limit.signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  try {
    const stream = await findRun(chat, id, limit.signal);
    const outcome = stream === undefined ? undefined : await Promise.race([readOutcome(stream), timedOut]);
    return outcome === undefined ? { runId: id, status: "timeout" } : { runId: id, ...showOutcome(outcome) };
  } finally {
    limit.cancel();
  }
}

function showOutcome({ startedAt, endedAt, text, result }: RunOutcome) {
  const times = { startedAt, endedAt };
  const said = text === "" ? {} : { text };
  switch (result.kind) {
    case "replied":
      return { status: "ok", ...times, ...said, stopReason: result.stop };
    case "aborted":
      return { status: "error", ...times, ...said, error: `aborted by ${result.by}`, stopReason: "aborted" };
    case "failed":
      return { status: "error", ...times, ...said, error: result.failure.message };
  }
}
