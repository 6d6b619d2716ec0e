import { randomUUID } from "node:crypto";
import { z } from "zod";
import { adoptTranscript } from "../../sessions/import.ts";
import { agentOf, isMainKey } from "../../sessions/keys.ts";
import { agentId, runId, sessionKey, type AgentId, type SessionKey } from "../../types/ids.ts";
import { keyField, keyParam } from "../../types/key-field.ts";
import { defineMethod, MethodError, type Method } from "../../types/method.ts";
import { THINK_LEVELS } from "../../types/run/model.ts";
import { sessionAnswers, type SessionPatch, shownMessage } from "../../types/session.ts";
import { defined } from "../../utils/defined.ts";
import type { ServerPorts } from "../options.ts";
import type { Hub } from "../transport/hub.ts";
import { checkCommand } from "../transport/scopes.ts";
import { attachmentsSchema } from "./attachments.ts";
import { forkParent, newChatOf } from "./branches.ts";
import { sendChat } from "./chat.ts";
import { lastMessages } from "./history.ts";
import { modelPatch, requireAgent, requireFreeLabel } from "./patch.ts";
import { entryText } from "./session-row.ts";
import { requireKnownAgent } from "./turn-session.ts";

type Ports = Pick<ServerPorts, "chat" | "media" | "sessions" | "keys" | "catalog" | "clock">;

/** Methods with which clients begin, write to and find sessions by themselves. */
export function sessionActMethods(ports: Ports, hub: Hub): readonly Method[] {
  return [createMethod(ports, hub), importMethod(ports, hub), ...writeMethods(ports), ...findMethods(ports)];
}

/** The method by which `openclaw sessions import` hands a transcript over that it has copied into the folder of sessions. */
const importMethod = (ports: Ports, hub: Hub): Method => {
  const { sessions, chat, clock } = ports;
  return defineMethod({
    name: "sessions.import",
    scope: "operator.admin",
    mayWait: true,
    params: z.looseObject({ key: keyParam(), sessionId: z.uuid(), replace: z.boolean().default(false) }),
    result: z.looseObject({ ok: z.boolean(), key: keyField(), archived: z.boolean() }),
    run: async ({ key, sessionId, replace }) => {
      requireKnownAgent(key, ports);
      if (sessions.withId(sessionId)) throw new MethodError("CONFLICT", "this transcript has a session already");
      if (replace) await chat.abort(key);
      const adopted = await adoptTranscript(sessions, { key, sessionId, replace, now: clock.now() });
      if (adopted.kind === "taken")
        throw new MethodError(
          "CONFLICT",
          "the session has messages; begin a new one without --key, or put its messages aside with --replace",
          { details: { code: "SESSION_TAKEN" } },
        );
      hub.announceSession(key, "reset", clock.now());
      return { ok: true, key, archived: adopted.archived };
    },
  });
};

const createParams = z.looseObject({
  key: keyParam().optional(),
  agentId: z.string().min(1).optional(),
  label: z.string().trim().min(1).max(512).optional(),
  displayName: z.string().trim().min(1).max(512).optional(),
  category: z.string().trim().min(1).max(128).optional(),
  model: z.string().min(1).optional(),
  thinkingLevel: z.enum(THINK_LEVELS).optional(),
  visibility: z.enum(["shared"]).optional(),
  parentSessionKey: keyParam().optional(),
  /** The session begins with a copy of its parent's conversation. */
  fork: z.boolean().optional(),
  forkFrom: z.enum(["last-completed"]).optional(),
  /** The session is a subagent's, so many levels below a session that a person began. */
  spawnDepth: z.int().min(1).optional(),
  /** Hooks and plugins are told as of `/new` in the parent. */
  emitCommandHooks: z.boolean().optional(),
  /** The parent ends for them; true when unset. */
  succeedsParent: z.boolean().optional(),
  /** The first message. */
  message: z.string().optional(),
  task: z.string().optional(),
  attachments: attachmentsSchema,
  idempotencyKey: z.string().min(1).max(256).optional(),
});
type CreateParams = z.output<typeof createParams>;

const createMethod = (ports: Ports, hub: Hub): Method =>
  defineMethod({
    name: "sessions.create",
    scope: "operator.write",
    beginsRun: true,
    params: createParams,
    idempotencyKey: "idempotencyKey",
    result: sessionAnswers.create,
    run: (params, caller) => {
      checkCommand(params.message ?? params.task ?? "", caller.scopes, ports.chat);
      return create(params, ports, hub);
    },
  });

async function create(params: CreateParams, ports: Ports, hub: Hub) {
  refuseUnserved(params);
  refuseParentless(params);
  const agent = knownAgent(params, ports);
  const key = params.key ?? newChatOf(agent, ports);
  requireAgent(params, key, ports);
  const model = await modelPatch(params.model, ports);
  const { label, displayName, category, thinkingLevel, parentSessionKey } = params;
  const spawnDepth = ports.sessions.peek(key) ? undefined : params.spawnDepth;
  const patch: SessionPatch = {
    ...defined({ label, displayName, category, thinkingLevel, parentSessionKey, spawnDepth }),
    ...model,
  };
  requireFreeLabel(key, label, ports);
  const made = await beginBelow(key, patch, params, ports);
  hub.announceSession(key, "create", ports.clock.now());
  const answer = { ok: true, ...made, resolved: resolvedModel(made.entry, ports) };
  const message = params.message ?? params.task ?? "";
  if (message === "" && params.attachments === undefined) return { ...answer, runStarted: false };
  const idempotencyKey = params.idempotencyKey ?? randomUUID();
  const sent = await sendChat({ sessionKey: key, message, idempotencyKey, attachments: params.attachments }, ports);
  return { ...answer, runStarted: true, ...sent };
}

/** Refuses the parameters that this gateway does not have: a client relies on what it said of the session's rights. */
function refuseUnserved(params: CreateParams): void {
  const known = new Set(Object.keys(createParams.shape));
  const asked = Object.entries(params).flatMap(([name, value]) =>
    known.has(name) || value === undefined || value === null || value === false ? [] : [name],
  );
  if (asked.length === 0) return;
  throw new MethodError("INVALID_REQUEST", `this gateway does not support these parameters: ${asked.join(", ")}`, {
    details: { code: "PARAMETER_NOT_SERVED", parameters: asked },
  });
}

/** Refuses what is said of a parent when none is named, or what does not fit together. */
function refuseParentless(params: CreateParams): void {
  const { parentSessionKey: parent, emitCommandHooks, succeedsParent, spawnDepth, fork, key } = params;
  if (succeedsParent !== undefined && parent === undefined) throw invalid("succeedsParent requires parentSessionKey");
  if (succeedsParent !== undefined && emitCommandHooks !== true)
    throw invalid("succeedsParent requires emitCommandHooks");
  if (succeedsParent === true && fork === true)
    throw invalid("succeedsParent and fork contradict each other: a copy does not end its parent");
  if (spawnDepth !== undefined && parent === undefined) throw invalid("spawnDepth requires parentSessionKey");
  if (emitCommandHooks === true && parent !== undefined && key === parent)
    throw invalid("a session is not its own parent: key, parentSessionKey");
}

/** Begins the session; with `emitCommandHooks` hooks and plugins are told that it follows its parent. */
async function beginBelow(key: SessionKey, patch: SessionPatch, params: CreateParams, ports: Ports) {
  const { parentSessionKey: parent, emitCommandHooks, succeedsParent = true } = params;
  const make = (resumedFrom?: string) =>
    params.fork === true ? forkParent(key, parent, patch, ports) : begin(key, patch, ports, resumedFrom);
  if (emitCommandHooks !== true || parent === undefined || !ports.sessions.peek(parent)) return make();
  if (ports.chat.active(parent).length > 0)
    throw new MethodError("UNAVAILABLE", `a run of the parent session is active: ${ports.keys.wire(parent)}`, {
      details: { code: "PARENT_ACTIVE" },
      retryAfterMs: 1000,
    });
  const held = await ports.sessions.acquire(parent);
  try {
    const how = { by: { commandSource: "gateway:sessions.create" }, ends: succeedsParent && params.fork !== true };
    return await held.succeed(() => make(held.id), how);
  } finally {
    held.release();
  }
}

function knownAgent({ agentId: named, key }: CreateParams, { catalog }: Ports): AgentId {
  const agent = named === undefined ? agentOf(key ?? sessionKey("main"), catalog.defaultAgent) : agentId(named);
  if (catalog.agents().some(({ id }) => id === agent)) return agent;
  throw new MethodError("NOT_FOUND", `there is no agent "${agent}"`, {
    details: { code: "UNKNOWN_AGENT_ID", agentId: agent },
  });
}

async function begin(key: SessionKey, patch: SessionPatch, { sessions }: Ports, resumedFrom?: string) {
  const session = await sessions.acquire(key);
  try {
    await session.update(patch, { now: true, resumedFrom });
    return { key, sessionId: session.id, entry: session.entry };
  } finally {
    session.release();
  }
}

const resolvedModel = (row: SessionPatch, { catalog }: Ports) => ({
  modelProvider: row.providerOverride ?? catalog.defaultModel()?.provider ?? null,
  model: row.modelOverride ?? catalog.defaultModel()?.id ?? null,
});

const sendParams = z.looseObject({
  key: keyParam(),
  agentId: z.string().min(1).optional(),
  message: z.string(),
  thinking: z.enum(THINK_LEVELS).optional(),
  attachments: attachmentsSchema,
  timeoutMs: z.int().min(0).optional(),
  idempotencyKey: z.string().min(1).max(256).optional(),
});
const sent = z.looseObject({ runId: z.string(), status: z.string(), interruptedActiveRun: z.boolean().optional() });

const writeMethods = (ports: Ports): readonly Method[] => [
  defineMethod({
    name: "sessions.send",
    scope: "operator.write",
    beginsRun: true,
    params: sendParams,
    result: sent,
    run: async (params, caller) => {
      checkCommand(params.message, caller.scopes, ports.chat);
      return sendTo(params, ports);
    },
  }),
  defineMethod({
    name: "sessions.steer",
    scope: "operator.write",
    beginsRun: true,
    params: sendParams,
    result: sent,
    run: async (params, caller) => {
      checkCommand(params.message, caller.scopes, ports.chat);
      requireAgent(params, params.key, ports);
      const stopped = await ports.chat.abort(params.key);
      return { ...(await sendTo(params, ports)), ...(stopped.length > 0 && { interruptedActiveRun: true }) };
    },
  }),
  defineMethod({
    name: "sessions.abort",
    scope: "operator.write",
    params: z.looseObject({
      key: keyParam().optional(),
      runId: z.string().min(1).optional(),
      agentId: z.string().min(1).optional(),
    }),
    result: z.looseObject({ ok: z.boolean(), abortedRunId: z.string().nullable(), status: z.string() }),
    run: async (params) => {
      const key = params.key ?? sessionOfRun(params.runId, ports);
      if (key === undefined) throw invalid("name the session, or a run that is active: key, runId");
      requireAgent(params, key, ports);
      const only = params.runId === undefined ? undefined : runId(params.runId);
      const [aborted] = await ports.chat.abort(key, only);
      return { ok: true, abortedRunId: aborted ?? null, status: aborted === undefined ? "no-active-run" : "aborted" };
    },
  }),
];

const invalid = (text: string): MethodError => new MethodError("INVALID_REQUEST", text);

async function sendTo(params: z.output<typeof sendParams>, ports: Ports) {
  const { key, message, thinking, attachments, timeoutMs } = params;
  requireAgent(params, key, ports);
  if (!ports.sessions.peek(key) && !isMainKey(key))
    throw new MethodError("NOT_FOUND", `session not found: ${ports.keys.wire(key)}`);
  const idempotencyKey = params.idempotencyKey ?? randomUUID();
  return sendChat({ sessionKey: key, message, thinking, attachments, timeoutMs, idempotencyKey }, ports);
}

const sessionOfRun = (id: string | undefined, { chat }: Ports): SessionKey | undefined =>
  id === undefined ? undefined : chat.stream(runId(id))?.facts.sessionKey;

const resolveParams = z.looseObject({
  key: keyParam().optional(),
  sessionId: z.string().min(1).optional(),
  label: z.string().min(1).optional(),
  /** The beginning of a session id. */
  shortId: z.string().min(4).optional(),
  agentId: z.string().min(1).optional(),
  spawnedBy: keyParam().optional(),
  allowMissing: z.boolean().optional(),
});
type ResolveParams = z.output<typeof resolveParams>;

/** Messages of a preview, and characters of each, when a client names no number. */
const PREVIEW = { messages: 3, chars: 240 } as const;
const MOST_PREVIEWS = 200;

const findMethods = (ports: Ports): readonly Method[] => [
  defineMethod({
    name: "sessions.resolve",
    scope: "operator.read",
    params: resolveParams,
    result: sessionAnswers.resolve,
    run: async (params) => {
      const key = findKey(params, ports);
      if (key !== undefined) return { ok: true, key, agentId: agentOf(key, ports.catalog.defaultAgent) };
      if (params.allowMissing === true) return { ok: false };
      const named = params.label ?? params.sessionId ?? params.shortId ?? (params.key && ports.keys.wire(params.key));
      throw new MethodError("NOT_FOUND", `No session found: ${named ?? "nothing is named"}`);
    },
  }),
  defineMethod({
    name: "sessions.get",
    scope: "operator.read",
    params: z.looseObject({
      key: keyParam(),
      agentId: z.string().min(1).optional(),
      limit: z.int().min(1).max(1000).default(200),
    }),
    result: z.looseObject({ messages: z.array(shownMessage) }),
    run: async (params) => {
      requireAgent(params, params.key, ports);
      const { messages } = await lastMessages(params.key, { limit: params.limit }, ports);
      return { messages };
    },
  }),
  defineMethod({
    name: "sessions.preview",
    scope: "operator.read",
    params: z.looseObject({
      keys: z.array(keyParam()).max(MOST_PREVIEWS),
      limit: z.int().min(1).max(50).default(PREVIEW.messages),
      maxChars: z.int().min(1).max(10_000).default(PREVIEW.chars),
    }),
    result: z.looseObject({
      ts: z.number(),
      previews: z.array(
        z.looseObject({
          key: keyField(),
          status: z.enum(["ok", "empty", "missing"]),
          items: z.array(z.looseObject({ role: z.string(), text: z.string() })),
        }),
      ),
    }),
    run: async ({ keys, ...most }) => ({
      ts: ports.clock.now(),
      previews: await Promise.all(keys.map((key) => previewOf(key, most, ports))),
    }),
  }),
];

function findKey({ key, sessionId, label, shortId, agentId: agent, spawnedBy }: ResolveParams, ports: Ports) {
  const { sessions, catalog } = ports;
  const isWanted = (found: SessionKey) =>
    (agent === undefined || agentOf(found, catalog.defaultAgent) === agent) &&
    (spawnedBy === undefined || sessions.peek(found)?.spawnedBy === spawnedBy);
  if (key !== undefined) return (sessions.peek(key) || isMainKey(key)) && isWanted(key) ? key : undefined;
  if (sessionId !== undefined) {
    const row = sessions.withId(sessionId);
    return row && isWanted(row.key) ? row.key : undefined;
  }
  if (label === undefined && shortId === undefined) return undefined;
  for (const row of sessions.newest()) {
    const isNamed = label === undefined ? row.entry.sessionId.startsWith(shortId ?? "") : row.entry.label === label;
    if (isNamed && isWanted(row.key)) return row.key;
  }
  return undefined;
}

async function previewOf(
  key: SessionKey,
  { limit, maxChars }: { limit: number; maxChars: number },
  { sessions }: Ports,
) {
  if (!sessions.peek(key)) return { key, status: "missing" as const, items: [] };
  const { entries } = await sessions.history(key, limit * ENTRIES_A_MESSAGE);
  const texts = entries.flatMap((one) => {
    const text = entryText(one);
    return text === ""
      ? []
      : [{ role: one.type === "message" ? one.message.role : "assistant", text: text.slice(0, maxChars) }];
  });
  return { key, status: texts.length === 0 ? ("empty" as const) : ("ok" as const), items: texts.slice(-limit) };
}

/** Entries that are read for one message with a text: a turn with tools has several. */
const ENTRIES_A_MESSAGE = 5;
