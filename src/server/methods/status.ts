import { performance } from "node:perf_hooks";
import { z } from "zod";
import { systemAnswers } from "../../types/answers/system.ts";
import { agentOf } from "../../sessions/keys.ts";
import { type Answer, defineMethod, type Method } from "../../types/method.ts";
import { healthAnswer, logTail, statusAnswer } from "../../types/gateway-status.ts";
import type { ModelInfo } from "../../types/run/model.ts";
import type { SessionRow } from "../../types/session.ts";
import type { Catalog, ServerPorts } from "../options.ts";
import type { MethodParts } from "./parts.ts";

const anything = z.looseObject({});
const RECENT = 10;

/** Methods that report the gateway's state, models, clients and log. */
export function statusMethods(ports: ServerPorts, parts: MethodParts): readonly Method[] {
  return [
    readMethod("health", healthAnswer, () => health(ports, parts)),
    readMethod("status", statusAnswer, () => status(ports, parts)),
    readMethod("system.info", systemAnswers.info, async () => ({
      ...(await ports.reports.machine()),
      eventLoop: parts.eventLoop(),
      processMemory: memoryOf(process.memoryUsage()),
    })),
    readMethod("system-presence", z.array(present), async () => parts.presence.list()),
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

const present = z.looseObject({
  host: z.string().optional(),
  ip: z.string().optional(),
  version: z.string(),
  platform: z.string(),
  mode: z.string(),
  reason: z.string(),
  text: z.string(),
  ts: z.number(),
  onlineSince: z.number(),
  roles: z.array(z.string()).optional(),
  scopes: z.array(z.string()).optional(),
  instanceId: z.string().optional(),
});

const memoryOf = ({ rss, heapUsed, heapTotal, external, arrayBuffers }: NodeJS.MemoryUsage) => ({
  rssBytes: rss,
  heapUsedBytes: heapUsed,
  heapTotalBytes: heapTotal,
  externalBytes: external,
  arrayBuffersBytes: arrayBuffers,
});

function readMethod<T>(name: string, result: z.ZodType<unknown, T>, run: () => Promise<Answer<T>>): Method {
  return defineMethod({ name, scope: "operator.read", params: anything, result, run });
}

async function health(ports: ServerPorts, parts: MethodParts) {
  const startedAt = performance.now();
  const { catalog, reports } = ports;
  const ts = ports.clock.now();
  const { ok, problems } = reports.ready();
  const newest = newestSessions(ports);
  const listed = (some: Newest) => listedSessions(some, parts.sessionsFile, ts);
  const agents = catalog.agents().map(({ id, name, heartbeat }) => ({
    agentId: id,
    ...(name === undefined ? {} : { name }),
    isDefault: id === catalog.defaultAgent,
    heartbeat: heartbeatOf(heartbeat),
    sessions: listed(newest.of(id)),
  }));
  const own = { ok, problems, ts, defaultAgentId: catalog.defaultAgent, agents, sessions: listed(newest.all) };
  const rest = await reports.health();
  return { ...own, eventLoop: parts.eventLoop(), ...rest, durationMs: Math.round(performance.now() - startedAt) };
}

const MINUTE_MS = 60_000;

const heartbeatOf = (heartbeat: ListedAgent["heartbeat"]) =>
  heartbeat === undefined
    ? { enabled: false, everyMs: null }
    : { enabled: true, every: everyText(heartbeat.everyMs), ...heartbeat };

const everyText = (ms: number): string => (ms % MINUTE_MS === 0 ? `${ms / MINUTE_MS}m` : `${ms / 1000}s`);

type ListedAgent = ReturnType<Catalog["agents"]>[number];

interface Newest {
  readonly count: number;
  readonly rows: readonly SessionRow[];
}

/** The newest sessions of all agents, and of each. A single agent has them all, so that they need not be counted. */
function newestSessions({ sessions, catalog }: ServerPorts): { all: Newest; of(agent: ListedAgent["id"]): Newest } {
  const all = { count: sessions.count, rows: [...Iterator.from(sessions.newest()).take(RECENT)] };
  if (catalog.agents().length === 1) return { all, of: () => all };
  const byAgent = Map.groupBy(sessions.newest(), ({ key }) => agentOf(key, catalog.defaultAgent));
  return {
    all,
    of(agent) {
      const rows = byAgent.get(agent) ?? [];
      return { count: rows.length, rows: rows.slice(0, RECENT) };
    },
  };
}

const listedSessions = ({ count, rows }: Newest, path: string, now: number) => ({
  path,
  count,
  recent: rows.map(({ key, entry: { updatedAt } }) => ({ key, updatedAt, age: Math.max(0, now - updatedAt) })),
});

async function status(ports: ServerPorts, parts: MethodParts) {
  const { clock, chat, catalog, reports } = ports;
  const ts = clock.now();
  const agents = catalog.agents().map(({ id, heartbeat }) => ({ agentId: id, ...heartbeatOf(heartbeat) }));
  return {
    ts,
    version: parts.version,
    runtimeVersion: parts.version,
    pid: process.pid,
    uptimeMs: Math.round(process.uptime() * 1000),
    connections: parts.hub.size,
    activeRuns: chat.active().length,
    heartbeat: { defaultAgentId: catalog.defaultAgent, agents },
    sessions: detailedSessions(ports, parts.sessionsFile, ts),
    ready: reports.ready(),
    eventLoop: parts.eventLoop(),
    processMemory: processMemory(),
    ...(await reports.status()),
  };
}

function processMemory() {
  const { rss, heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage();
  return {
    rssBytes: rss,
    heapUsedBytes: heapUsed,
    heapTotalBytes: heapTotal,
    externalBytes: external,
    arrayBuffersBytes: arrayBuffers,
  };
}

/** The newest sessions with their settings and use of the window, of all agents and of each. */
function detailedSessions(ports: ServerPorts, path: string, now: number) {
  const { catalog } = ports;
  const newest = newestSessions(ports);
  const model = catalog.defaultModel();
  const detailed = ({ count, rows }: Newest) => ({
    count,
    recent: rows.map((row) => detailedSession(row, agentOf(row.key, catalog.defaultAgent), model, now)),
  });
  return {
    path,
    paths: [path],
    defaults: { model: model?.id ?? null, contextTokens: model?.contextWindow ?? null },
    ...detailed(newest.all),
    byAgent: catalog.agents().map(({ id }) => ({ agentId: id, path, ...detailed(newest.of(id)) })),
  };
}

function detailedSession({ key, entry }: SessionRow, agentId: string, model: ModelInfo | undefined, now: number) {
  const { sessionId, updatedAt, chatType = "direct", thinkingLevel, verboseLevel, reasoningLevel } = entry;
  return {
    agentId,
    key,
    kind: chatType === "direct" ? "direct" : "group",
    sessionId,
    updatedAt,
    age: Math.max(0, now - updatedAt),
    thinkingLevel,
    verboseLevel,
    reasoningLevel,
    systemSent: entry.systemSent === true,
    abortedLastRun: entry.abortedLastRun === true,
    model: entry.modelOverride ?? model?.id ?? null,
    ...windowOf(entry, model),
    flags: flagsOf(entry),
  };
}

/** How full the window is; null where it is not known, or no longer right. */
function windowOf(entry: SessionRow["entry"], model: ModelInfo | undefined) {
  const { totalTokens = null, totalTokensFresh = false, contextTokens = model?.contextWindow ?? null } = entry;
  const known = { totalTokens, totalTokensFresh, contextTokens };
  if (!totalTokensFresh || totalTokens === null || contextTokens === null || contextTokens <= 0)
    return { ...known, remainingTokens: null, percentUsed: null };
  const percentUsed = Math.round((totalTokens / contextTokens) * 100);
  return { ...known, remainingTokens: Math.max(0, contextTokens - totalTokens), percentUsed };
}

function flagsOf({
  sessionId,
  thinkingLevel,
  verboseLevel,
  reasoningLevel,
  systemSent,
  abortedLastRun,
}: SessionRow["entry"]) {
  const levels = { think: thinkingLevel, verbose: verboseLevel, reasoning: reasoningLevel };
  return [
    ...Object.entries(levels).flatMap(([name, level]) => (level === undefined ? [] : [`${name}:${level}`])),
    ...(systemSent === true ? ["system"] : []),
    ...(abortedLastRun === true ? ["aborted"] : []),
    `id:${sessionId}`,
  ];
}
