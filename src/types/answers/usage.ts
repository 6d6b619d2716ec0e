import { z } from "zod";
import { keyField } from "../key-field.ts";
import type { Answer } from "../method.ts";
import { USAGE_GROUPS } from "../spend/ledger.ts";

/** Figures of calls as OpenClaw's clients know them. Costs are US dollars. */
const figures = z.object({
  calls: z.number(),
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  totalTokens: z.number(),
  totalCost: z.number(),
  inputCost: z.number(),
  outputCost: z.number(),
  cacheReadCost: z.number(),
  cacheWriteCost: z.number(),
  /** Calls of models whose price is not known. */
  missingCostEntries: z.number(),
  /** The most that calls of a killed process may have taken; in no other figure. */
  unknownTokens: z.number(),
  unknownCost: z.number(),
});
export type UsageFigures = Answer<z.output<typeof figures>>;

const row = figures.extend({ name: z.string() });
export type UsageRow = Answer<z.output<typeof row>>;

export const usageReportShape = z.object({
  by: z.enum(USAGE_GROUPS),
  /** First and last day, as `2026-11-27`. */
  since: z.string(),
  until: z.string(),
  /** The rows: by day the oldest first, else the dearest. */
  rows: z.array(row),
  totals: figures,
  /** The holds of calls that have not ended. */
  held: z.object({ calls: z.number(), tokens: z.number(), usd: z.number() }),
});
export type UsageReport = Answer<z.output<typeof usageReportShape>>;
/** Both included. */
export type UsageDays = Pick<UsageReport, "since" | "until">;

const figure = z.looseObject({ taken: z.number(), limit: z.number() });

/** A limit, and the amount that is taken of it. */
const budgetState = z.looseObject({
  /** The config key, such as `budgets.day`. */
  key: z.string(),
  /** Scope of the limit, such as "this conversation today". */
  what: z.string(),
  /** US dollars; unset without a limit in money. Raises are included. */
  usd: figure.optional(),
  /** Unset without a limit in tokens. */
  tokens: figure.optional(),
});
export type BudgetState = Answer<z.output<typeof budgetState>>;

const messageCounts = z.looseObject({
  total: z.number(),
  user: z.number(),
  assistant: z.number(),
  toolCalls: z.number(),
  toolResults: z.number(),
  errors: z.number(),
});
export type MessageCounts = Answer<z.output<typeof messageCounts>>;

const countsOfDay = messageCounts.extend({ date: z.string() });

/** Milliseconds that answers took. */
const latency = z.looseObject({
  count: z.number(),
  avgMs: z.number(),
  minMs: z.number(),
  maxMs: z.number(),
  p95Ms: z.number(),
});
const latencyOfDays = z.array(latency.extend({ date: z.string() }));

const toolUsage = z.looseObject({
  totalCalls: z.number(),
  uniqueTools: z.number(),
  tools: z.array(z.looseObject({ name: z.string(), count: z.number() })),
});

/** A limit of a provider for some time, and its used part. */
const usageWindow = z.looseObject({
  /** As the provider names it: `requests`, `input tokens`, `5h`. */
  label: z.string(),
  /** Used part, from 0 to 100. */
  usedPercent: z.number(),
  /** Epoch milliseconds at which the limit is free again; unset when the provider does not say. */
  resetAt: z.number().optional(),
});
export type UsageWindow = Answer<z.output<typeof usageWindow>>;

const daily = z.array(figures.extend({ date: z.string() }));
const updatedAt = z.number();
const model = { provider: z.string(), model: z.string() };
const amount = { tokens: z.number(), cost: z.number() };

/** The answers of `usage.*` and `sessions.usage`. */
export const usageAnswers = {
  status: z.looseObject({
    updatedAt,
    /** The limits of each provider's key, as its last answer told them. */
    providers: z.array(
      z.looseObject({
        provider: z.string(),
        displayName: z.string(),
        profileId: z.string().optional(),
        fetchedAt: z.number(),
        windows: z.array(usageWindow),
      }),
    ),
    budgets: z.array(budgetState),
    today: figures,
  }),
  cost: usageReportShape.extend({ updatedAt, days: z.number(), daily }),
  sessions: z.looseObject({
    updatedAt,
    startDate: z.string(),
    endDate: z.string(),
    sessions: z.array(
      z.looseObject({
        key: keyField(),
        sessionFamilyKey: keyField().optional(),
        /** `instance`, or `family` with its subagents. */
        scope: z.string(),
        agentId: z.string(),
        sessionId: z.string().optional(),
        updatedAt: updatedAt.optional(),
        chatType: z.string(),
        label: z.string().optional(),
        channel: z.string().optional(),
        /** The session's own model. */
        modelProvider: z.string().optional(),
        model: z.string().optional(),
        usage: figures.extend({
          sessionId: z.string().optional(),
          messageCounts,
          toolUsage,
          dailyBreakdown: z.array(z.looseObject({ date: z.string(), ...amount })),
          dailyMessageCounts: z.array(countsOfDay),
          dailyLatency: latencyOfDays,
          activityDates: z.array(z.string()),
          firstActivity: z.number().optional(),
          lastActivity: z.number().optional(),
          durationMs: z.number().optional(),
          latency: latency.optional(),
        }),
      }),
    ),
    totals: figures,
    aggregates: z.looseObject({
      byModel: z.array(z.looseObject({ ...model, count: z.number(), totals: figures })),
      byProvider: z.array(z.looseObject({ provider: z.string(), count: z.number(), totals: figures })),
      byAgent: z.array(z.looseObject({ agentId: z.string(), totals: figures })),
      byChannel: z.array(z.looseObject({ channel: z.string(), totals: figures })),
      costDaily: daily,
      modelDaily: z.array(z.looseObject({ ...model, date: z.string(), ...amount, count: z.number() })),
      daily: z.array(
        z.looseObject({
          date: z.string(),
          ...amount,
          messages: z.number(),
          toolCalls: z.number(),
          errors: z.number(),
        }),
      ),
      sessionCount: z.number(),
      longestSessionDurationMs: z.number(),
      messages: messageCounts,
      tools: toolUsage,
      /** Empty: the gateway does not record who began a session. */
      byCreator: z.array(z.unknown()),
      latency: latency.optional(),
      dailyLatency: latencyOfDays,
    }),
    creatorOptions: z.array(z.looseObject({ key: z.string() })),
  }),
  timeseries: z.looseObject({
    sessionId: z.string().optional(),
    points: z.array(
      z.looseObject({
        timestamp: z.number(),
        input: z.number(),
        output: z.number(),
        cacheRead: z.number(),
        cacheWrite: z.number(),
        totalTokens: z.number(),
        cost: z.number(),
        cumulativeTokens: z.number(),
        cumulativeCost: z.number(),
      }),
    ),
  }),
  logs: z.looseObject({
    logs: z.array(z.looseObject({ timestamp: z.number(), role: z.string(), content: z.string() })),
  }),
};
type Answers = { readonly [Name in keyof typeof usageAnswers]: Answer<z.output<(typeof usageAnswers)[Name]>> };
export type UsageStatus = Answers["status"];
export type SessionsUsage = Answers["sessions"];
