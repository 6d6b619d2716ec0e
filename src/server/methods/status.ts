import { performance } from "node:perf_hooks";
import { z } from "zod";
import { defineMethod, type Method } from "../../types/method.ts";
import type { ServerOptions } from "../options.ts";
import type { MethodParts } from "./parts.ts";

const anything = z.looseObject({});
const RECENT = 10;

/** How the gateway is, and what it has to offer. */
export function statusMethods(parts: MethodParts): readonly Method[] {
  const { options, presence } = parts;
  return [
    readMethod("health", () => health(parts)),
    readMethod("status", () => status(parts)),
    readMethod("models.list", async () => ({ models: (await options.models()).map(showModel) })),
    readMethod("system-presence", async () => presence.list()),
    defineMethod({
      name: "logs.tail",
      scope: "operator.read",
      params: z.looseObject({
        cursor: z.int().min(0).optional(),
        limit: z.int().min(1).max(5000).optional(),
        maxBytes: z.int().min(1).max(1_000_000).optional(),
      }),
      run: ({ cursor, limit, maxBytes }) => options.tailLogs({ cursor, limit, maxBytes }),
    }),
  ];
}

function readMethod(name: string, run: () => Promise<unknown>): Method {
  return defineMethod({ name, scope: "operator.read", params: anything, run });
}

function showModel(model: Awaited<ReturnType<ServerOptions["models"]>>[number]) {
  const { id, name, provider, contextWindow, reasoning, available, input } = model;
  return { id, name, provider, contextWindow, reasoning, available, input };
}

async function health({ options, eventLoop }: MethodParts): Promise<Record<string, unknown>> {
  const begun = performance.now();
  const ts = options.clock.now();
  const sessions = recentSessions(options, ts);
  const agents = options.agents().map(({ id, name }) => ({
    agentId: id,
    ...(name === undefined ? {} : { name }),
    isDefault: id === options.defaultAgent,
  }));
  const { ok, problems } = options.ready();
  const own = { ok, problems, ts, defaultAgentId: options.defaultAgent, agents, sessions, eventLoop: eventLoop() };
  const rest = await options.health();
  return { ...own, ...rest, durationMs: Math.round(performance.now() - begun) };
}

function recentSessions({ sessions, sessionsFile }: ServerOptions, now: number) {
  const rows = sessions.list().toSorted((a, b) => b.entry.updatedAt - a.entry.updatedAt);
  const recent = rows.slice(0, RECENT).map(({ key, entry }) => ({
    key,
    updatedAt: entry.updatedAt,
    age: Math.max(0, now - entry.updatedAt),
  }));
  return { path: sessionsFile, count: rows.length, recent };
}

async function status({ options, hub }: MethodParts): Promise<Record<string, unknown>> {
  return {
    ts: options.clock.now(),
    version: options.version,
    uptimeMs: Math.round(process.uptime() * 1000),
    connections: hub.size,
    activeRuns: options.chat.active().length,
    sessions: recentSessions(options, options.clock.now()),
    ready: options.ready(),
    ...(await options.status()),
  };
}
