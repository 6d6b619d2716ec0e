import { performance } from "node:perf_hooks";
import { z } from "zod";
import { type Answer, defineMethod, type Method } from "../../types/method.ts";
import { healthAnswer, statusAnswer } from "../../types/gateway-status.ts";
import { logTail, type ServerPorts } from "../options.ts";
import type { MethodParts } from "./parts.ts";

const anything = z.looseObject({});
const RECENT = 10;

/** Methods that report the gateway's state, models, clients and log. */
export function statusMethods(ports: ServerPorts, parts: MethodParts): readonly Method[] {
  return [
    readMethod("health", healthAnswer, () => health(ports, parts)),
    readMethod("status", statusAnswer, () => status(ports, parts)),
    readMethod("system-presence", z.array(z.looseObject({ ts: z.number() })), async () => parts.presence.list()),
    defineMethod({
      name: "logs.tail",
      scope: "operator.read",
      params: z.looseObject({
        cursor: z.int().min(0).optional(),
        limit: z.int().min(1).max(5000).optional(),
        maxBytes: z.int().min(1).max(1_000_000).optional(),
      }),
      result: logTail,
      run: ({ cursor, limit, maxBytes }) => ports.reports.tailLogs({ cursor, limit, maxBytes }),
    }),
  ];
}

function readMethod<T>(name: string, result: z.ZodType<unknown, T>, run: () => Promise<Answer<T>>): Method {
  return defineMethod({ name, scope: "operator.read", params: anything, result, run });
}

async function health(ports: ServerPorts, { eventLoop, sessionsFile }: MethodParts) {
  const startedAt = performance.now();
  const { catalog, reports } = ports;
  const ts = ports.clock.now();
  const sessions = { path: sessionsFile, ...recentSessions(ports.sessions, ts) };
  const agents = catalog.agents().map(({ id, name }) => ({
    agentId: id,
    ...(name === undefined ? {} : { name }),
    isDefault: id === catalog.defaultAgent,
  }));
  const { ok, problems } = reports.ready();
  const own = { ok, problems, ts, defaultAgentId: catalog.defaultAgent, agents, sessions, eventLoop: eventLoop() };
  const rest = await reports.health();
  return { ...own, ...rest, durationMs: Math.round(performance.now() - startedAt) };
}

function recentSessions(sessions: ServerPorts["sessions"], now: number) {
  const newest = [...Iterator.from(sessions.newest()).take(RECENT)];
  const recent = newest.map(({ key, entry: { updatedAt } }) => ({
    key,
    updatedAt,
    age: Math.max(0, now - updatedAt),
  }));
  return { count: sessions.count, recent };
}

async function status(ports: ServerPorts, parts: MethodParts) {
  const { clock, chat, reports } = ports;
  const ts = clock.now();
  return {
    ts,
    version: parts.version,
    uptimeMs: Math.round(process.uptime() * 1000),
    connections: parts.hub.size,
    activeRuns: chat.active().length,
    sessions: { path: parts.sessionsFile, ...recentSessions(ports.sessions, ts) },
    ready: reports.ready(),
    ...(await reports.status()),
  };
}
