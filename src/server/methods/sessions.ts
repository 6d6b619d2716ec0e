import { z } from "zod";
import type { SessionKey } from "../../types/ids.ts";
import { defineMethod, type Method } from "../../types/method.ts";
import type { SessionRow } from "../../types/session.ts";
import type { Hub } from "../hub.ts";
import type { ServerOptions } from "../options.ts";
import { optional } from "./optional.ts";

type Ports = Pick<
  ServerOptions,
  "sessions" | "chat" | "resolveSessionKey" | "sessionsFile" | "defaultModel" | "defaultAgent" | "clock"
>;

const listParams = z.looseObject({
  limit: z.int().min(1).optional(),
  offset: z.int().min(0).optional(),
  activeMinutes: z.int().min(1).optional(),
  agentId: z.string().min(1).optional(),
  label: z.string().min(1).optional(),
  search: z.string().optional(),
});
type ListParams = z.infer<typeof listParams>;

const keyParams = z.looseObject({ key: z.string().min(1) });

/** Conversations: seeing, clearing and following them. */
export function sessionMethods(ports: Ports, hub: Hub): readonly Method[] {
  return [
    defineMethod({
      name: "sessions.list",
      scope: "operator.read",
      params: listParams,
      run: async (params) => listSessions(params, ports),
    }),
    defineMethod({
      name: "sessions.reset",
      scope: "operator.admin",
      params: keyParams,
      run: async ({ key }) => resetSession(ports.resolveSessionKey(key), ports),
    }),
    defineMethod({
      name: "sessions.delete",
      scope: "operator.admin",
      params: keyParams,
      run: async ({ key: text }) => {
        const key = ports.resolveSessionKey(text);
        await ports.chat.abort(key);
        return { ok: true, key, deleted: await ports.sessions.remove(key) };
      },
    }),
    defineMethod({
      name: "sessions.compact",
      scope: "operator.admin",
      params: keyParams,
      run: async ({ key }) => ({
        ok: true,
        key: ports.resolveSessionKey(key),
        compacted: false,
        reason:
          "This gateway keeps the whole transcript and leaves the oldest turns out of a request that would not fit.",
      }),
    }),
    ...followMethods(hub),
  ];
}

function followMethods(hub: Hub): readonly Method[] {
  const follow = (name: string, follows: boolean) =>
    defineMethod({
      name,
      scope: "operator.read",
      params: z.looseObject({}),
      run: async (_params, caller) => {
        hub.followSessions(caller.connId, follows);
        return { subscribed: follows };
      },
    });
  return [follow("sessions.subscribe", true), follow("sessions.unsubscribe", false)];
}

async function resetSession(key: SessionKey, { sessions, chat }: Ports) {
  await chat.abort(key);
  const session = await sessions.acquire(key);
  try {
    await session.reset();
    return { ok: true, key, entry: session.entry };
  } finally {
    session.release();
  }
}

function listSessions(params: ListParams, ports: Ports) {
  const now = ports.clock.now();
  const found = ports.sessions
    .list()
    .filter((row) => isAsked(row, params, ports, now))
    .toSorted((a, b) => b.entry.updatedAt - a.entry.updatedAt);
  const offset = params.offset ?? 0;
  const page = found.slice(offset, params.limit === undefined ? undefined : offset + params.limit);
  const hasMore = offset + page.length < found.length;
  const model = ports.defaultModel();
  return {
    ts: now,
    path: ports.sessionsFile,
    count: page.length,
    totalCount: found.length,
    hasMore,
    nextOffset: hasMore ? offset + page.length : null,
    defaults: {
      modelProvider: model?.provider ?? null,
      model: model?.id ?? null,
      contextTokens: model?.contextWindow ?? null,
    },
    sessions: page.map((row) => showSession(row, ports)),
  };
}

function isAsked({ key, entry }: SessionRow, params: ListParams, ports: Ports, now: number): boolean {
  const { activeMinutes, agentId, label, search } = params;
  if (activeMinutes !== undefined && entry.updatedAt < now - activeMinutes * 60_000) return false;
  if (agentId !== undefined && agentOf(key, ports.defaultAgent) !== agentId) return false;
  if (label !== undefined && entry.label !== label) return false;
  const words = [key, entry.label, entry.displayName, entry.subject].join("\n").toLowerCase();
  return search === undefined || words.includes(search.toLowerCase());
}

function showSession({ key, entry }: SessionRow, ports: Ports) {
  const { sessionId, updatedAt, chatType, inputTokens, outputTokens, totalTokens, totalTokensFresh } = entry;
  const { label, displayName, channel, subject, groupId, thinkingLevel, verboseLevel, reasoningLevel, spawnedBy } =
    entry;
  const { lastChannel, lastTo, lastAccountId, lastThreadId, abortedLastRun } = entry;
  const model = ports.defaultModel();
  const activeRunIds = ports.chat.active(key).map((facts) => facts.runId);
  return {
    key,
    kind: chatType === "group" || chatType === "thread" ? "group" : "direct",
    agentId: agentOf(key, ports.defaultAgent),
    chatType: chatType ?? "direct",
    sessionId,
    updatedAt,
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    totalTokens: totalTokens ?? 0,
    model: entry.modelOverride ?? model?.id ?? null,
    modelProvider: entry.providerOverride ?? model?.provider ?? null,
    contextTokens: entry.contextTokens ?? model?.contextWindow ?? null,
    hasActiveRun: activeRunIds.length > 0,
    activeRunIds,
    ...optional({
      label,
      displayName,
      channel,
      subject,
      groupId,
      thinkingLevel,
      verboseLevel,
      reasoningLevel,
      spawnedBy,
    }),
    ...optional({ totalTokensFresh, lastChannel, lastTo, lastAccountId, lastThreadId, abortedLastRun }),
  };
}

/** The agent whose conversation a key names. */
export function agentOf(key: string, defaultAgent: string): string {
  const child = /::([^:]+)(?::[^:]*)?$/.exec(key)?.[1];
  return decodePart(child ?? /^agent:([^:]+):/.exec(key)?.[1] ?? defaultAgent);
}

const decodePart = (text: string) => text.replaceAll("%3A", ":").replaceAll("%25", "%");
