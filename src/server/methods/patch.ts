import { z } from "zod";
import type { SessionKey } from "../../types/ids.ts";
import { keyField, keyParam } from "../../types/key-field.ts";
import { type Caller, defineMethod, MethodError, type Method } from "../../types/method.ts";
import { modelName, THINK_LEVELS } from "../../types/run/model.ts";
import { MOST_CAP, MOST_DEBOUNCE_MS, QUEUE_DROPS, QUEUE_MODES } from "../../types/queue.ts";
import { VERBOSE_LEVELS } from "../../types/run/verbose.ts";
import { REASONING_LEVELS } from "../../types/run/reasoning-level.ts";
import { EXEC_ASK, EXEC_HOSTS, EXEC_SECURITY } from "../../types/run/exec-wish.ts";
import { SPEECH_LEVELS } from "../../types/media/speech.ts";
import { USAGE_LEVELS } from "../../types/run/usage-level.ts";
import { SESSION_SETTINGS, sessionAnswers, type SessionEntry, type SessionPatch } from "../../types/session.ts";
import type { ServerPorts } from "../options.ts";
import type { MethodParts } from "./parts.ts";
import { chatOf } from "../../sessions/chat-of.ts";
import { agentOf } from "../../sessions/keys.ts";
import { hasScope, missingScope } from "../transport/scopes.ts";
import { sessionForTurn } from "./turn-session.ts";

type Ports = Pick<ServerPorts, "sessions" | "catalog" | "clock" | "onPatched">;
type Parts = Pick<MethodParts, "sessionsFile">;

function numberWithin(least: number, most: number) {
  const error = `takes a whole number from ${least} to ${most}`;
  return z.int(error).min(least, error).max(most, error);
}

const word = (most: number) => z.string().trim().min(1).max(most).nullish();

// Null removes a setting.
const patchParams = z.looseObject({
  key: keyParam(),
  label: word(512),
  model: z.string().min(1).nullish(),
  thinkingLevel: z.enum(THINK_LEVELS).nullish(),
  verboseLevel: z.enum(VERBOSE_LEVELS).nullish(),
  responseUsage: z.enum([...USAGE_LEVELS, "on"]).nullish(),
  ttsAuto: z.enum([...SPEECH_LEVELS, "on", "voice"]).nullish(),
  reasoningLevel: z.enum(REASONING_LEVELS).nullish(),
  groupActivation: z.enum(["mention", "always"]).nullish(),
  sendPolicy: z.enum(["allow", "deny"]).nullish(),
  queueMode: z.enum([...QUEUE_MODES, "queue", "steer+backlog"]).nullish(),
  queueDebounceMs: numberWithin(0, MOST_DEBOUNCE_MS).nullish(),
  queueCap: numberWithin(1, MOST_CAP).nullish(),
  queueDrop: z.enum(QUEUE_DROPS).nullish(),
  execHost: z.enum(EXEC_HOSTS).nullish(),
  execSecurity: z.enum(EXEC_SECURITY).nullish(),
  execAsk: z.enum(EXEC_ASK).nullish(),
  category: word(128),
  icon: word(64),
  color: word(64),
  archived: z.boolean().optional(),
  pinned: z.boolean().optional(),
  unread: z.boolean().optional(),
  agentId: z.string().min(1).optional(),
  /** The session must still be this one. */
  expectedSessionId: z.string().min(1).optional(),
  expectedMarkedUnreadAt: z.number().nullish(),
});

/** Fields of a patch that are not settings. */
const ABOUT: readonly string[] = ["key", "agentId", "expectedSessionId", "expectedMarkedUnreadAt"];
type PatchParams = z.infer<typeof patchParams>;

/** The method that changes the settings of a session. */
export function patchMethods(ports: Ports, { sessionsFile }: Parts): readonly Method[] {
  return [
    defineMethod({
      name: "sessions.patch",
      scope: "operator.write",
      params: patchParams,
      result: sessionAnswers.patch,
      run: async (params, caller) => {
        requireRights(params, caller);
        return { path: sessionsFile, ...(await patchSession(params, ports)) };
      },
    }),
    defineMethod({
      name: "sessions.patchMany",
      scope: "operator.write",
      params: z.looseObject({
        targets: z.array(target).min(1).max(MOST_TARGETS),
        patch: patchParams.omit({ key: true }),
      }),
      result: z.looseObject({ outcomes: z.array(outcome) }),
      run: async ({ targets, patch }, caller) => {
        requireRights(patch, caller);
        const outcomes = [];
        for (const one of targets) outcomes.push(await outcomeOf({ ...patch, ...one }, ports));
        return { outcomes };
      },
    }),
  ];
}

/** Throws `FORBIDDEN` when a client that may only write changes how commands run: `/exec` needs the same scope. */
function requireRights(patch: Partial<PatchParams>, { scopes }: Pick<Caller, "scopes">): void {
  const { execHost, execSecurity, execAsk } = patch;
  const isAboutExec = [execHost, execSecurity, execAsk].some((value) => value !== undefined);
  if (isAboutExec && !hasScope(scopes, "operator.admin")) throw missingScope("operator.admin");
}

const outcome = z.looseObject({
  ok: z.boolean(),
  key: keyField(),
  agentId: z.string().optional(),
  error: z.looseObject({ code: z.string(), message: z.string(), details: z.unknown().optional() }).optional(),
});
const MOST_TARGETS = 200;
const target = patchParams.pick({ key: true, agentId: true, expectedSessionId: true });

async function patchSession(params: PatchParams, ports: Ports) {
  refuseUnsupported(params);
  const key = sessionForPatch(params.key, ports);
  requireAgent(params, key, ports);
  requireUnchanged(params, key, ports);
  if (typeof params.groupActivation === "string") refuseActivation(key, ports);
  const patch = { ...patchOf(params), ...marksOf(params, ports), ...(await modelPatch(params.model, ports)) };
  requireFreeLabel(key, params.label, ports);
  const entry = await store(key, patch, ports);
  ports.onPatched?.(key, patch, entry);
  const resolved = { modelProvider: entry.providerOverride ?? null, model: entry.modelOverride ?? null };
  return { ok: true, key, entry, resolved };
}

/** One session of several: what is refused for it does not stop the others. Other failures do. */
async function outcomeOf(params: PatchParams, ports: Ports) {
  const { key, agentId } = params;
  const about = { key, ...(agentId !== undefined && { agentId }) };
  try {
    await patchSession(params, ports);
    return { ok: true, ...about };
  } catch (error) {
    if (!(error instanceof MethodError)) throw error;
    const { code, message, details } = error;
    return { ok: false, ...about, error: { code, message, ...(details && { details }) } };
  }
}

/**
 * Refuses settings without effect by name, since the client relies on its settings. Removing such a setting does no
 * harm.
 */
function refuseUnsupported(params: PatchParams): void {
  const served = new Set([...Object.keys(patchParams.shape), ...ABOUT]);
  const unserved = Object.entries(params).flatMap(([name, value]) =>
    served.has(name) || value === undefined || value === null ? [] : [name],
  );
  if (unserved.length === 0) return;
  throw new MethodError("INVALID_REQUEST", `this gateway does not support these settings: ${unserved.join(", ")}`, {
    details: {
      code: "SETTING_NOT_SERVED",
      settings: unserved,
      served: [...served].filter((name) => !ABOUT.includes(name)),
    },
  });
}

const patchOf = (params: PatchParams): SessionPatch =>
  Object.fromEntries(
    SESSION_SETTINGS.flatMap((name) => (params[name] === undefined ? [] : [[name, params[name] ?? undefined]])),
  );

/** The times that stand for the marks of a patch. */
function marksOf({ archived, pinned, unread }: PatchParams, { clock }: Ports): SessionPatch {
  const now = clock.now();
  const mark = (isSet: boolean) => (isSet ? now : undefined);
  return {
    ...(archived !== undefined && { archivedAt: mark(archived), archiveReason: archived ? "manual" : undefined }),
    ...(pinned !== undefined && { pinnedAt: mark(pinned) }),
    ...(unread !== undefined && { markedUnreadAt: mark(unread) }),
  };
}

/** Throws `MethodError` when the session belongs to another agent than the client believes. */
export function requireAgent(
  { agentId }: { readonly agentId?: string | undefined },
  key: SessionKey,
  { catalog }: { readonly catalog: Pick<ServerPorts["catalog"], "defaultAgent"> },
): void {
  const agent = agentOf(key, catalog.defaultAgent);
  if (agentId === undefined || agentId === agent) return;
  throw refused("AGENT_MISMATCH", `agentId: the session belongs to the agent ${agent}`);
}

/** Throws `MethodError` when another session of the same agent has the label: clients find a session by its label. */
export function requireFreeLabel(
  key: SessionKey,
  label: string | null | undefined,
  { sessions, catalog: { defaultAgent } }: Pick<Ports, "sessions" | "catalog">,
): void {
  if (typeof label !== "string" || sessions.peek(key)?.label === label) return;
  const agent = agentOf(key, defaultAgent);
  for (const { key: other, entry } of sessions.newest())
    if (entry.label === label && other !== key && agentOf(other, defaultAgent) === agent)
      throw new MethodError("CONFLICT", `label already in use: ${label}`, { details: { code: "LABEL_IN_USE" } });
}

/** Throws `MethodError` when the session is not any more what the client has seen. */
function requireUnchanged(
  { expectedSessionId, expectedMarkedUnreadAt }: PatchParams,
  key: SessionKey,
  { sessions }: Ports,
): void {
  const entry = sessions.peek(key);
  const isOther = expectedSessionId !== undefined && entry?.sessionId !== expectedSessionId;
  const isRead = expectedMarkedUnreadAt !== undefined && (entry?.markedUnreadAt ?? null) !== expectedMarkedUnreadAt;
  if (!isOther && !isRead) return;
  throw sessionChanged();
}

/** The session is not any more what the client has seen. */
export const sessionChanged = (): MethodError =>
  new MethodError("CONFLICT", "the session has changed since the client read it; read it again", {
    details: { reason: "session-changed" },
  });

/** A key that somebody pinned belongs to the model before. */
const NO_PIN: SessionPatch = { authProfileOverride: undefined, authProfileOverrideSource: undefined };

/** `provider/id`, or an id alone when one known model has it. */
export async function modelPatch(
  model: string | null | undefined,
  { catalog }: Pick<ServerPorts, "catalog">,
): Promise<SessionPatch> {
  if (model === undefined) return {};
  if (model === null) return { providerOverride: undefined, modelOverride: undefined, ...NO_PIN };
  const known = await catalog.models();
  const found = known.find((info) => info.id === model || modelName(info) === model);
  if (found !== undefined) return { providerOverride: found.provider, modelOverride: found.id, ...NO_PIN };
  const [provider, ...rest] = model.split("/");
  const id = rest.join("/");
  // A provider may serve models that no catalogue lists.
  if (id !== "" && known.some((row) => row.provider === provider))
    return { providerOverride: provider, modelOverride: id, ...NO_PIN };
  throw new MethodError("NOT_FOUND", `unknown model: ${model}; models.list has the known ones`);
}

async function store(key: SessionKey, patch: SessionPatch, { sessions }: Ports): Promise<Readonly<SessionEntry>> {
  const patched = await sessions.patch(key, patch, { now: true });
  if (patched !== undefined) return patched;
  const session = await sessions.acquire(key);
  try {
    await session.update(patch, { now: true });
    return session.entry;
  } finally {
    session.release();
  }
}

type KeyPorts = Pick<ServerPorts, "sessions" | "catalog">;

/**
 * The session whose settings a client changes. Throws `MethodError` for a key without a row that no message could ever have:
 * the change would leave a row that nothing uses.
 */
function sessionForPatch(key: SessionKey, ports: KeyPorts): SessionKey {
  if (ports.sessions.peek(key) !== undefined) return key;
  const { catalog } = ports;
  if (/\p{Cc}/u.test(key)) throw refused("SESSION_KEY", "the key of the session contains control characters");
  const agent = agentOf(key, catalog.defaultAgent);
  if (!catalog.agents().some(({ id }) => id === agent))
    throw refused("SESSION_KEY", `the key of the session names an agent that does not exist: ${agent}`);
  return sessionForTurn(key, ports);
}

/** Only groups have an activation: elsewhere every message is for the agent, and the setting would have no effect. */
function refuseActivation(key: SessionKey, { sessions, catalog }: KeyPorts): void {
  if (chatOf(key, sessions.peek(key), catalog.defaultAgent)?.chat.kind === "group") return;
  throw refused("NOT_A_GROUP", "groupActivation is a setting of groups, and this is not the session of a group");
}

const refused = (code: string, message: string): MethodError =>
  new MethodError("INVALID_REQUEST", message, { details: { code } });
