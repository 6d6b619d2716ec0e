import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { agentOf, isMainKey } from "../../sessions/keys.ts";
import { isArchived } from "../../sessions/rows/row.ts";
import type { SessionKey } from "../../types/ids.ts";
import { keyParam } from "../../types/key-field.ts";
import { defineMethod, type Method, MethodError } from "../../types/method.ts";
import { sessionAnswers, type SessionRow } from "../../types/session.ts";
import { type Hub, MOST_FOLLOWED } from "../transport/hub.ts";
import type { ServerPorts } from "../options.ts";
import type { MethodParts } from "./parts.ts";
import { requireAgent, sessionChanged } from "./patch.ts";
import { hasAgent, requireKnownAgent } from "./turn-session.ts";
import { showSession, rowTexts } from "./session-row.ts";

type Ports = Pick<ServerPorts, "sessions" | "chat" | "catalog" | "clock" | "keys">;
type Parts = Pick<MethodParts, "hub" | "sessionsFile">;

const listParams = z.looseObject({
  limit: z.int().min(1).optional(),
  offset: z.int().min(0).optional(),
  activeMinutes: z.int().min(1).optional(),
  agentId: z.string().min(1).optional(),
  label: z.string().min(1).optional(),
  search: z.string().optional(),
  /** The sessions that were put aside, or these too; without them when unset. */
  archived: z.union([z.boolean(), z.literal("all")]).optional(),
  spawnedBy: keyParam().optional(),
  includeDerivedTitles: z.boolean().optional(),
  includeLastMessage: z.boolean().optional(),
  sortBy: z.enum(["updatedAt", "lastInteractionAt"]).optional(),
});
type ListParams = z.infer<typeof listParams>;

const keyParams = z.looseObject({ key: keyParam() });
const ofAgent = keyParams.extend({ agentId: z.string().min(1).optional() });

/** Methods that list, reset, delete, compact and follow sessions. */
export function sessionMethods(ports: Ports, { hub, sessionsFile }: Parts): readonly Method[] {
  return [
    ...readMethods(ports, sessionsFile),
    defineMethod({
      name: "sessions.reset",
      scope: "operator.admin",
      params: ofAgent.extend({ reason: z.enum(["new", "reset"]).default("reset") }),
      result: sessionAnswers.reset,
      run: async ({ key, reason, ...params }) => {
        requireAgent(params, key, ports);
        requireKnownAgent(key, ports);
        return resetSession(key, reason, ports, hub);
      },
    }),
    defineMethod({
      name: "sessions.delete",
      scope: "operator.admin",
      params: deleteParams,
      result: sessionAnswers.delete,
      run: (params) => deleteSession(params, ports, hub),
    }),
    defineMethod({
      name: "sessions.compact",
      mayWait: true,
      scope: "operator.admin",
      params: ofAgent.extend({ maxLines: z.int().min(1).optional() }),
      result: sessionAnswers.compact,
      run: async ({ key, ...params }) => {
        requireAgent(params, key, ports);
        if (params.maxLines !== undefined)
          throw refusal("maxLines is not supported: nothing is cut off from a transcript", {
            code: "PARAMETER_NOT_SERVED",
            parameters: ["maxLines"],
          });
        if (!ports.sessions.peek(key)) return { ok: true, key, compacted: false, reason: "There is no such session." };
        const done = await ports.chat.compact(key);
        if (done.compacted) hub.announceSession(key, "compact", ports.clock.now());
        return { ok: true, key, ...done };
      },
    }),
    ...followMethods(hub),
    ...followMessages(hub),
  ];
}

function readMethods(ports: Ports, sessionsFile: string): readonly Method[] {
  return [
    defineMethod({
      name: "sessions.list",
      scope: "operator.read",
      params: listParams,
      result: sessionAnswers.list,
      run: async (params) => ({ path: sessionsFile, ...(await listSessions(params, ports)) }),
    }),
    defineMethod({
      name: "sessions.describe",
      scope: "operator.read",
      params: ofAgent.extend({
        includeDerivedTitles: z.boolean().optional(),
        includeLastMessage: z.boolean().optional(),
      }),
      result: sessionAnswers.describe,
      run: async ({ key, agentId, ...texts }) => {
        requireAgent({ agentId }, key, ports);
        const [settings, rights] = await Promise.all([ports.catalog.settingsOf(key), ports.catalog.rightsOf(key)]);
        const entry = ports.sessions.peek(key);
        const row = entry && { key, entry };
        const session = row
          ? { ...showSession(row, ports.chat.active(key), ports), ...(await rowTexts(row, texts, ports)) }
          : null;
        return { ...rights, key, session, settings };
      },
    }),
  ];
}

function followMethods(hub: Hub): readonly Method[] {
  const follow = (name: string, follows: boolean) =>
    defineMethod({
      name,
      scope: "operator.read",
      params: z.looseObject({}),
      result: sessionAnswers.subscribe,
      run: async (_params, caller) => {
        hub.followSessions(caller.connId, follows);
        return { subscribed: follows };
      },
    });
  return [follow("sessions.subscribe", true), follow("sessions.unsubscribe", false)];
}

function followMessages(hub: Hub): readonly Method[] {
  const follow = (name: string, follows: boolean) =>
    defineMethod({
      name,
      scope: "operator.read",
      params: keyParams,
      result: sessionAnswers.follow,
      run: async ({ key }, caller) => {
        if (hub.followMessages(caller.connId, key, follows)) return { subscribed: follows, key };
        throw new MethodError("INVALID_REQUEST", `one connection may follow ${MOST_FOLLOWED} sessions at most`);
      },
    });
  return [follow("sessions.messages.subscribe", true), follow("sessions.messages.unsubscribe", false)];
}

const deleteParams = ofAgent.extend({
  /** The session must still be this one. */
  expectedSessionId: z.string().min(1).optional(),
  expectedSessionUpdatedAt: z.number().optional(),
  /** Only a session that was put aside. */
  archivedOnly: z.boolean().optional(),
});

async function deleteSession(params: z.output<typeof deleteParams>, ports: Ports, hub: Hub) {
  const { key, expectedSessionId, expectedSessionUpdatedAt, archivedOnly } = params;
  const { sessions, chat, clock } = ports;
  requireAgent(params, key, ports);
  if (isKept(key, ports)) throw refusal(`Cannot delete the main session (${ports.keys.wire(key)}).`);
  const row = sessions.peek(key);
  const isOther =
    (expectedSessionId !== undefined && row?.sessionId !== expectedSessionId) ||
    (expectedSessionUpdatedAt !== undefined && row?.updatedAt !== expectedSessionUpdatedAt);
  if (row && isOther) throw sessionChanged();
  if (row && archivedOnly === true && !isArchived(row)) throw refusal("the session is not archived");
  await chat.abort(key);
  const removed = await sessions.remove(key);
  if (removed) hub.announceSession(key, "delete", clock.now());
  return { ok: true, key, deleted: removed !== undefined, archived: removed?.archived ? [removed.archived] : [] };
}

/** The main session of an agent stays; that of an agent that is no more may go. */
const isKept = (key: SessionKey, ports: Ports): boolean => isMainKey(key) && hasAgent(key, ports);

const refusal = (text: string, details?: Record<string, unknown>): MethodError =>
  new MethodError("INVALID_REQUEST", text, details && { details });

async function resetSession(key: SessionKey, reason: "new" | "reset", { sessions, chat, clock }: Ports, hub: Hub) {
  await chat.abort(key);
  const session = await sessions.acquire(key);
  try {
    await session.reset(reason, { commandSource: "gateway:sessions.reset" });
    hub.announceSession(key, "reset", clock.now());
    return { ok: true, key, entry: session.entry };
  } finally {
    session.release();
  }
}

/** Rows without a `limit`, as in OpenClaw. */
const PAGE = 100;
/** Rows that are compared with a filter at once. */
const COMPARED = 1000;

async function listSessions(params: ListParams, ports: Ports) {
  const now = ports.clock.now();
  const { offset = 0, limit = PAGE } = params;
  const { page, totalCount } = await findPage({ params, from: offset, to: offset + limit }, ports, now);
  const nextOffset = offset + page.length < totalCount ? offset + page.length : null;
  const model = ports.catalog.defaultModel();
  const active = Map.groupBy(ports.chat.active(), (facts) => facts.sessionKey);
  return {
    ts: now,
    count: page.length,
    totalCount,
    hasMore: nextOffset !== null,
    nextOffset,
    defaults: {
      modelProvider: model?.provider ?? null,
      model: model?.id ?? null,
      contextTokens: model?.contextWindow ?? null,
    },
    sessions: await Promise.all(
      page.map(async (row) => ({
        ...showSession(row, active.get(row.key) ?? [], ports),
        ...(await rowTexts(row, params, ports)),
      })),
    ),
  };
}

/** The rows of a page, pinned ones first, the newest first, and how many all pages have. */
async function findPage(
  { params, from, to }: { params: ListParams; from: number; to: number },
  ports: Ports,
  now: number,
) {
  const all = [...ports.sessions.newest()];
  const pinned: SessionRow[] = [];
  const others: SessionRow[] = [];
  for (let at = 0; at < all.length; at += COMPARED) {
    if (at > 0) await setImmediate();
    for (const row of all.slice(at, at + COMPARED))
      if (isWanted(row, params, ports, now)) (row.entry.pinnedAt === undefined ? others : pinned).push(row);
  }
  const found = [...pinned.toSorted((one, other) => pinTime(other) - pinTime(one)), ...others];
  return { page: found.slice(from, to), totalCount: found.length };
}

const pinTime = ({ entry }: SessionRow): number => entry.pinnedAt ?? 0;

function isWanted({ key, entry }: SessionRow, params: ListParams, ports: Ports, now: number): boolean {
  const { activeMinutes, agentId, label, search, archived = false, spawnedBy } = params;
  if (archived !== "all" && isArchived(entry) !== archived) return false;
  if (spawnedBy !== undefined && spawnedBy !== entry.spawnedBy) return false;
  if (activeMinutes !== undefined && entry.updatedAt < now - activeMinutes * 60_000) return false;
  if (agentId !== undefined && agentOf(key, ports.catalog.defaultAgent) !== agentId) return false;
  if (label !== undefined && entry.label !== label) return false;
  const searched = [key, entry.label, entry.displayName, entry.subject].join("\n").toLowerCase();
  return search === undefined || searched.includes(search.toLowerCase());
}
