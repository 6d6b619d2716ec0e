import { z } from "zod";
import { NOTICE_TYPE } from "../../sessions/transcript/history.ts";
import { chatAnswers, type Sent } from "../../types/answers/chat.ts";
import { runId } from "../../types/ids.ts";
import { keyParam } from "../../types/key-field.ts";
import type { RunStream } from "../../types/run/events.ts";
import { type Caller, defineMethod, MethodError, type Method } from "../../types/method.ts";
import { THINK_LEVELS } from "../../types/run/model.ts";
import type { ServerPorts } from "../options.ts";
import { checkCommand } from "../transport/scopes.ts";
import type { Hub } from "../transport/hub.ts";
import { agentOf } from "../../sessions/keys.ts";
import { notWritten } from "./history.ts";
import { Asides, questionAside } from "./aside.ts";
import { attachmentsSchema, storeAttachments } from "./attachments.ts";
import { defined } from "../../utils/defined.ts";
import { requireKnownAgent, sessionForTurn } from "./turn-session.ts";

const sessionKey = keyParam();

const sendParams = z.looseObject({
  sessionKey,
  message: z.string(),
  idempotencyKey: z.string().min(1).max(256),
  attachments: attachmentsSchema,
  thinking: z.enum(THINK_LEVELS).optional(),
  model: z.string().min(1).optional(),
  deliver: z.boolean().optional(),
  timeoutMs: z.int().min(0).optional(),
});

type Ports = Pick<ServerPorts, "chat" | "media" | "sessions" | "catalog">;
type ChatPorts = Ports & Pick<ServerPorts, "clock" | "log">;

/** Methods that send to, abort and add to a conversation. */
export function chatMethods(ports: ChatPorts, hub: Hub): readonly Method[] {
  const asides = new Asides(ports, hub);
  return [
    defineMethod({
      name: "chat.send",
      scope: "operator.write",
      beginsRun: true,
      params: sendParams,
      result: chatAnswers.send,
      run: (params, caller) => {
        checkCommand(params.message, caller.scopes, ports.chat);
        const question = questionAside(params.message);
        return question === undefined
          ? sendChat(params, ports)
          : sendAside(question, { params, caller, asides }, ports);
      },
    }),
    defineMethod({
      name: "chat.abort",
      scope: "operator.write",
      params: z.looseObject({ sessionKey, runId: z.string().min(1).optional() }),
      result: chatAnswers.abort,
      run: async (params) => {
        const only = params.runId === undefined ? undefined : runId(params.runId);
        const runIds = await ports.chat.abort(params.sessionKey, only);
        return { ok: true, aborted: runIds.length > 0, runIds };
      },
    }),
    injectMethod(ports, hub),
  ];
}

interface AsideCall {
  readonly params: z.output<typeof sendParams>;
  readonly caller: Caller;
  readonly asides: Asides;
}

async function sendAside(question: string, { params, caller, asides }: AsideCall, ports: Ports): Promise<Sent> {
  const key = sessionForTurn(params.sessionKey, ports);
  const id = runId(params.idempotencyKey);
  const isNew = asides.begin({ key, runId: id, question, client: caller.client });
  return { runId: id, status: isNew ? "started" : "in_flight" };
}

/** The chat port keeps the idempotency keys on disk, so a repeated one gets the state of its run even after a restart. */
export async function sendChat(params: z.output<typeof sendParams>, ports: Ports): Promise<Sent> {
  const key = sessionForTurn(params.sessionKey, ports);
  const media = await storeAttachments(params.attachments ?? [], ports.media);
  if (params.message.trim() === "" && media.length === 0) {
    throw new MethodError("INVALID_REQUEST", "message or attachment required");
  }
  const { thinking, model, deliver } = params;
  const timeoutMs = params.timeoutMs === 0 ? undefined : params.timeoutMs;
  const sent = await ports.chat.send({
    sessionKey: key,
    text: params.message,
    media,
    idempotencyKey: params.idempotencyKey,
    ...defined({ thinking, model, timeoutMs, deliver }),
  });
  if (sent.status !== "duplicate") return { runId: sent.runId, status: "started" };
  const isRunning = ports.chat.active(key).some((facts) => facts.runId === sent.runId);
  const isDone = !isRunning && (await isOver(ports.chat.stream(sent.runId)));
  return { runId: sent.runId, status: isDone ? "ok" : "in_flight" };
}

/** A run that waits in its lane is not over; a run that is no longer known is. */
async function isOver(stream: RunStream | undefined): Promise<boolean> {
  return stream === undefined || (await Promise.race([stream.done, Promise.resolve(undefined)])) !== undefined;
}

const injectParams = z.looseObject({
  sessionKey,
  message: z.string().min(1),
  label: z.string().max(100).optional(),
});

/** Adds a notice to the chat that no model wrote, and tells the clients as of an answer. */
function injectMethod(ports: ChatPorts, hub: Hub): Method {
  return defineMethod({
    name: "chat.inject",
    scope: "operator.admin",
    params: injectParams,
    result: chatAnswers.inject,
    run: async ({ sessionKey: key, message, label }) => {
      requireKnownAgent(key, ports);
      const session = await ports.sessions.acquire(key);
      try {
        const text = label === undefined ? message : `[${label}]\n\n${message}`;
        const entry = { type: "custom", customType: NOTICE_TYPE, data: { text } } as const;
        const messageId = await session.append(entry, { durable: true });
        const about = { sessionKey: key, agentId: agentOf(key, ports.catalog.defaultAgent) };
        const shown = notWritten([{ type: "text", text }], ports.clock.now());
        const final = { runId: `inject-${messageId}`, ...about, seq: 0, state: "final", message: shown };
        hub.publish({ event: "chat", payload: final, scope: "operator.read" });
        return { ok: true, messageId };
      } finally {
        session.release();
      }
    },
  });
}
