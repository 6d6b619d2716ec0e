import { z } from "zod";
import { agentOf, parseKey } from "../../../sessions/keys.ts";
import { shownTitle } from "../../../sessions/shown/title.ts";
import { sessionKey, type SessionKey } from "../../../types/ids.ts";
import { keyParam } from "../../../types/key-field.ts";
import { USAGE_GROUPS, type SpendLine } from "../../../types/spend/ledger.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import type { SeenUsage } from "../../../providers/usage-windows.ts";
import { usageAnswers, type UsageStatus, type SessionsUsage, type UsageDays } from "../../../types/answers/usage.ts";
import { figuresOf, ONE_AGENT_BY_DAY, usageReport, usageRows, lastDays } from "../../runs/usage.ts";
import type { Parts } from "../parts/parts.ts";
import {
  countMessages,
  latencyOf,
  sumCounts,
  toolUsageOf,
  type CountedMessage,
} from "../../../sessions/shown/message-counts.ts";
import { conversationLines } from "../../../dispatch/commands/reports/conversation.ts";
import { dayAt } from "../../../providers/budget/days.ts";
import { sumOf, tokensIn } from "../../../providers/budget/sum.ts";
import { defined } from "../../../utils/defined.ts";
import { forgetOldest } from "../../../utils/forget-oldest.ts";

/** The methods that show what was used, and what the budgets leave. */
export const usageMethods = (parts: Parts): readonly Method[] => [
  defineMethod({
    name: "usage.status",
    scope: "operator.read",
    params: z.looseObject({ sessionKey: keyParam().optional() }),
    result: usageAnswers.status,
    run: ({ sessionKey: key }) => usageStatus(parts, key),
  }),
  defineMethod({
    name: "usage.cost",
    scope: "operator.read",
    params: period.extend({ by: z.enum(USAGE_GROUPS).optional(), agentId: z.string().min(1).optional() }),
    result: usageAnswers.cost,
    run: async ({ by = "day", agentId, ...asked }) => {
      const days = daysOf(asked, parts);
      const { spend } = parts.core.journal;
      if (agentId !== undefined && by !== "day") throw new MethodError("INVALID_REQUEST", ONE_AGENT_BY_DAY);
      const daily = await usageReport(spend, "day", { ...days, agentId });
      const rows = by === "day" ? daily.rows : (await usageReport(spend, by, days)).rows;
      return {
        updatedAt: Date.now(),
        days: daily.rows.length,
        daily: daily.rows.map(({ name, ...figures }) => ({ date: name, ...figures })),
        totals: daily.totals,
        ...days,
        by,
        rows,
        held: daily.held,
      };
    },
  }),
  ...sessionUsageMethods(parts),
];

const shownUsage = ({ provider, profileId, at, windows }: SeenUsage) => ({
  provider,
  displayName: provider,
  windows,
  profileId,
  fetchedAt: at,
});

async function usageStatus({ core, live }: Parts, key: SessionKey | undefined): Promise<UsageStatus> {
  const agentId = key === undefined ? live.defaultAgent.id : agentOf(key, live.defaultAgent.id);
  const origin = { cause: "message", agentId, ...(key !== undefined && { sessionKey: key }) } as const;
  const { budgets, windows } = core.models;
  return {
    updatedAt: Date.now(),
    providers: windows.list().map(shownUsage),
    budgets: await budgets.states(origin),
    today: figuresOf(await budgets.spentToday(key)),
  };
}

const date = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .optional();
const RANGES = { "7d": 7, "30d": 30, "90d": 90, "1y": 366, all: 36_500 } as const;

/** The days that a client asks for. */
const period = z.looseObject({
  startDate: date,
  endDate: date,
  days: z.int().min(1).max(36_500).optional(),
  range: z.enum(["7d", "30d", "90d", "1y", "all"]).optional(),
});

type Period = Partial<Record<"startDate" | "endDate", string | undefined>> & {
  readonly days?: number | undefined;
  readonly range?: keyof typeof RANGES | undefined;
};

function daysOf({ startDate, endDate, days, range = "30d" }: Period, { live }: Pick<Parts, "live">): UsageDays {
  const last = lastDays(days ?? RANGES[range], Date.now(), live.config.budgets.timezone);
  return { since: startDate ?? last.since, until: endDate ?? last.until };
}

const MOST_SESSIONS = 50;
/** Newest entries of a transcript that are counted. */
const MOST_ENTRIES = 5000;
const MOST_REMEMBERED = 2000;
const MOST_POINTS = 1000;

const one = z.looseObject({ key: keyParam(), agentId: z.string().min(1).optional() });

/** The methods that show what conversations took. */
function sessionUsageMethods(parts: Parts): readonly Method[] {
  const messages = new SessionMessages(parts);
  return [
    defineMethod({
      name: "sessions.usage",
      scope: "operator.read",
      params: period.extend({
        key: keyParam().optional(),
        agentId: z.string().min(1).optional(),
        agentScope: z.literal("all").optional(),
        groupBy: z.enum(["instance", "family"]).optional(),
        limit: z.int().min(1).optional(),
        creatorKey: z.string().optional(),
      }),
      result: usageAnswers.sessions,
      run: ({ creatorKey, ...asked }) => {
        if (creatorKey !== undefined) throw noCreators();
        return sessionsUsage(parts, asked, messages);
      },
    }),
    defineMethod({
      name: "sessions.usage.timeseries",
      scope: "operator.read",
      params: one,
      result: usageAnswers.timeseries,
      run: ({ key }) => timeseries(parts, key),
    }),
    defineMethod({
      name: "sessions.usage.logs",
      scope: "operator.read",
      params: one.extend({ limit: z.int().min(1).max(1000).default(50) }),
      result: usageAnswers.logs,
      run: async ({ key, limit }) => {
        if (!parts.core.sessions.peek(key)) return { logs: [] };
        const { entries } = await parts.core.sessions.history(key, limit);
        const logs = conversationLines(entries).map(({ at, by, text }) => ({
          timestamp: at,
          role: ROLES[by],
          content: text,
        }));
        return { logs: logs.slice(-limit) };
      },
    }),
  ];
}

const ROLES = { person: "user", agent: "assistant", tool: "tool" } as const;

const noCreators = (): MethodError =>
  new MethodError("INVALID_REQUEST", "this gateway does not record who created a session: leave creatorKey out");

/** The messages of conversations. Reads a transcript again only after the conversation has changed. */
class SessionMessages {
  readonly #sessions: Parts["core"]["sessions"];
  readonly #known = new Map<string, { readonly mark: string; readonly messages: readonly CountedMessage[] }>();

  constructor({ core }: Pick<Parts, "core">) {
    this.#sessions = core.sessions;
  }

  async of(key: SessionKey): Promise<readonly CountedMessage[]> {
    const entry = this.#sessions.peek(key);
    if (!entry) return [];
    const mark = `${entry.sessionId} ${entry.updatedAt}`;
    const known = this.#known.get(key);
    if (known?.mark === mark) return known.messages;
    const messages = countMessages((await this.#sessions.history(key, MOST_ENTRIES)).entries);
    this.#known.set(key, { mark, messages });
    forgetOldest(this.#known, MOST_REMEMBERED);
    return messages;
  }
}

interface SessionsAsk extends Period {
  readonly key?: SessionKey | undefined;
  readonly agentId?: string | undefined;
  readonly groupBy?: "instance" | "family" | undefined;
  readonly limit?: number | undefined;
}

/** A session with its lines of the ledger and its messages in the asked days. */
interface CountedSession {
  readonly key: SessionKey;
  readonly lines: readonly SpendLine[];
  readonly messages: readonly CountedMessage[];
}

/** Conversations with what they took, the dearest first; with `family`, each with its subagents. */
async function sessionsUsage(parts: Parts, asked: SessionsAsk, messages: SessionMessages): Promise<SessionsUsage> {
  const { core, live } = parts;
  const days = daysOf(asked, parts);
  const name = asked.key;
  const { spend } = core.journal;
  const own = await spend.lines({ scope: "session", name, ...days });
  const family = asked.groupBy === "family" ? await spend.lines({ scope: "family", name, ...days }) : [];
  const isWanted = (line: SpendLine) =>
    asked.agentId === undefined || agentOf(sessionKey(line.name), live.defaultAgent.id) === asked.agentId;
  const lines = [...own, ...family].filter(isWanted);
  const bySession = Map.groupBy(lines, (line) => line.name);
  const dearest = usageRows(lines, (line) => line.name)
    .toSorted((a, b) => b.totalTokens - a.totalTokens)
    .slice(0, asked.limit ?? MOST_SESSIONS);
  const sessions: CountedSession[] = [];
  for (const row of dearest) {
    const key = sessionKey(row.name);
    const isWithin = ({ at }: CountedMessage) => isDayIn(dayOf(at, parts), days);
    sessions.push({ key, lines: bySession.get(row.name) ?? [], messages: (await messages.of(key)).filter(isWithin) });
  }
  return {
    updatedAt: Date.now(),
    startDate: days.since,
    endDate: days.until,
    sessions: sessions.map((session) => shownSession(session, asked.groupBy, parts)),
    totals: figuresOf(sumOf(lines)),
    aggregates: await aggregatesOf(parts, { days, lines, sessions, isAll: isEverything(asked) }),
    creatorOptions: [],
  };
}

const isEverything = ({ key, agentId }: SessionsAsk): boolean => key === undefined && agentId === undefined;

const dayOf = (at: number, { live }: Parts): string => dayAt(at, live.config.budgets.timezone);

const isDayIn = (day: string, { since, until }: UsageDays): boolean => day >= since && day <= until;

function shownSession({ key, lines, messages }: CountedSession, groupBy: SessionsAsk["groupBy"], parts: Parts) {
  const entry = parts.core.sessions.peek(key);
  const { sessionId, updatedAt, chatType = "direct", channel = channelIn(key) } = entry ?? {};
  const { providerOverride: modelProvider, modelOverride: model } = entry ?? {};
  return {
    key,
    agentId: agentOf(key, parts.live.defaultAgent.id),
    scope: groupBy ?? "instance",
    ...(groupBy === "family" && { sessionFamilyKey: key }),
    chatType,
    ...defined({ sessionId, updatedAt, label: shownTitle(entry ?? {}), channel, modelProvider, model }),
    usage: { ...figuresOf(sumOf(lines)), ...defined({ sessionId }), ...activityOf(messages, lines, parts) },
  };
}

function activityOf(messages: readonly CountedMessage[], lines: readonly SpendLine[], parts: Parts) {
  const [firstActivity, lastActivity] = [messages[0]?.at, messages.at(-1)?.at];
  const byDay = [...Map.groupBy(messages, ({ at }) => dayOf(at, parts))];
  return {
    messageCounts: sumCounts(messages),
    toolUsage: toolUsageOf(messages),
    dailyBreakdown: dailyOf(lines).map(({ date, tokens, cost }) => ({ date, tokens, cost })),
    dailyMessageCounts: byDay.map(([date, all]) => ({ date, ...sumCounts(all) })),
    dailyLatency: byDay.flatMap(([date, all]) => withDate(date, latencyOf(all))),
    activityDates: byDay.map(([date]) => date),
    ...defined({ firstActivity, lastActivity, latency: latencyOf(messages) }),
    ...(firstActivity !== undefined && { durationMs: (lastActivity ?? firstActivity) - firstActivity }),
  };
}

const withDate = <T extends object>(date: string, values: T | undefined) => (values ? [{ date, ...values }] : []);

function channelIn(key: SessionKey): string | undefined {
  const parsed = parseKey(key);
  return "channel" in parsed ? parsed.channel : undefined;
}

const dailyOf = (lines: readonly SpendLine[]) =>
  [...Map.groupBy(lines, ({ day }) => day)]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([date, all]) => {
      const sum = sumOf(all);
      return { date, tokens: tokensIn(sum), cost: sum.costUsd };
    });

interface Counted {
  readonly days: UsageDays;
  readonly lines: readonly SpendLine[];
  readonly sessions: readonly CountedSession[];
  /** Whether no session and no agent was asked for: the ledger knows models of all calls together only. */
  readonly isAll: boolean;
}

async function aggregatesOf(parts: Parts, { days, lines, sessions, isAll }: Counted) {
  const { spend } = parts.core.journal;
  const models = isAll ? await spend.lines({ scope: "model", ...days }) : [];
  const agents = isAll ? (await usageReport(spend, "agent", days)).rows : agentRows(lines, parts);
  const messages = sessions.flatMap((session) => session.messages);
  const byDay = [...Map.groupBy(messages, ({ at }) => dayOf(at, parts))].toSorted(([a], [b]) => a.localeCompare(b));
  const durations = sessions.map(({ messages: own }) => (own.at(-1)?.at ?? 0) - (own[0]?.at ?? 0));
  const latency = latencyOf(messages);
  return {
    sessionCount: sessions.length,
    longestSessionDurationMs: Math.max(0, ...durations),
    messages: sumCounts(messages),
    tools: toolUsageOf(messages),
    ...modelsOf(models),
    byAgent: agents.map(({ name, ...totals }) => ({ agentId: name, totals })),
    byChannel: usageRows(lines, channelOf).map(({ name, ...totals }) => ({ channel: name, totals })),
    byCreator: [],
    costDaily: usageRows(lines, ({ day }) => day).map(({ name, ...figures }) => ({ date: name, ...figures })),
    ...(latency && { latency }),
    dailyLatency: byDay.flatMap(([date, all]) => withDate(date, latencyOf(all))),
    daily: withMessages(dailyOf(lines), byDay),
  };
}

const agentRows = (lines: readonly SpendLine[], { live }: Parts) =>
  usageRows(lines, ({ name }) => agentOf(sessionKey(name), live.defaultAgent.id));

/** Conversations without a channel belong to the gateway itself: jobs, hooks and subagents. */
const channelOf = ({ name }: SpendLine): string => channelIn(sessionKey(name)) ?? "internal";

function modelsOf(lines: readonly SpendLine[]) {
  const provider = ({ name }: SpendLine) => refOf(name).provider;
  return {
    byModel: usageRows(lines, ({ name }) => name).map(({ name, ...totals }) => ({
      ...refOf(name),
      count: totals.calls,
      totals,
    })),
    byProvider: usageRows(lines, provider).map(({ name, ...totals }) => ({
      provider: name,
      count: totals.calls,
      totals,
    })),
    modelDaily: lines.map((line) => {
      const { day: date, name, costUsd: cost, calls: count } = line;
      return { date, ...refOf(name), tokens: tokensIn(line), cost, count };
    }),
  };
}

function refOf(name: string) {
  const slash = name.indexOf("/");
  return { provider: name.slice(0, slash), model: name.slice(slash + 1) };
}

function withMessages(
  daily: ReturnType<typeof dailyOf>,
  byDay: readonly (readonly [string, readonly CountedMessage[]])[],
) {
  const counts = new Map(byDay.map(([date, all]) => [date, sumCounts(all)] as const));
  return daily.map((day) => {
    const { total: messages = 0, toolCalls = 0, errors = 0 } = counts.get(day.date) ?? {};
    return { ...day, messages, toolCalls, errors };
  });
}

/** The newest calls of a session, each with the sums up to it. */
async function timeseries({ core }: Parts, key: SessionKey) {
  const sessionId = core.sessions.peek(key)?.sessionId;
  let [cumulativeTokens, cumulativeCost] = [0, 0];
  const calls = await core.journal.spend.calls(key, MOST_POINTS);
  const points = calls.map((call) => {
    const { endedAt: timestamp, input, output, cacheRead, cacheWrite, costUsd: cost } = call;
    const totalTokens = tokensIn(call);
    cumulativeTokens += totalTokens;
    cumulativeCost += cost;
    return { timestamp, input, output, cacheRead, cacheWrite, totalTokens, cost, cumulativeTokens, cumulativeCost };
  });
  return { ...defined({ sessionId }), points };
}
