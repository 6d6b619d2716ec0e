import { z } from "zod";
import { agentOf } from "../../../sessions/keys.ts";
import { keyField, keyParam } from "../../../types/key-field.ts";
import type { RunRecord } from "../../../types/journal.ts";
import { ofAgent } from "../../../types/run/agent-filter.ts";
import { defineMethod, type Method } from "../../../types/method.ts";
import type { Parts } from "../parts/parts.ts";

/** The latest runs that are looked at. */
const MOST_RUNS = 1000;

const status = z.enum(["started", "succeeded", "failed", "cancelled", "timed_out", "blocked", "unknown"]);
type Status = z.infer<typeof status>;

const asked = z.looseObject({
  agentId: z.string().min(1).optional(),
  sessionKey: keyParam().optional(),
  runId: z.string().min(1).optional(),
  kind: z.enum(["agent_run", "tool_action", "message"]).optional(),
  status: status.optional(),
  direction: z.enum(["inbound", "outbound"]).optional(),
  channel: z.string().optional(),
  after: z.int().min(0).optional(),
  before: z.int().min(0).optional(),
  limit: z.int().min(1).max(500).default(100),
  cursor: z.string().regex(/^\d+$/).optional(),
});
type Asked = z.infer<typeof asked>;

const ERROR_CODES = ["run_failed", "run_cancelled", "run_timed_out"] as const;

const event = z.looseObject({
  eventId: z.string(),
  sequence: z.number(),
  sourceSequence: z.number(),
  occurredAt: z.number(),
  redaction: z.literal("metadata_only"),
  agentId: z.string(),
  sessionKey: keyField(),
  runId: z.string(),
  kind: z.literal("agent_run"),
  action: z.enum(["agent.run.started", "agent.run.finished"]),
  status,
  errorCode: z.enum(ERROR_CODES).optional(),
  actor: z.looseObject({ type: z.literal("agent"), id: z.string() }),
});
const page = z.looseObject({ events: z.array(event), nextCursor: z.string().optional() });
const activity = event.extend({ schemaVersion: z.literal(1), eventType: z.literal("agent_run") });

/** The beginnings and ends of runs, without their texts. Events of tools and messages have lists of their own. */
export const auditMethods = (parts: Pick<Parts, "live" | "core">): readonly Method[] => [
  defineMethod({
    name: "audit.list",
    scope: "operator.read",
    params: asked,
    result: page,
    run: (params) => eventsOf(params, parts),
  }),
  defineMethod({
    name: "audit.activity.list",
    scope: "operator.read",
    params: asked,
    result: page.extend({ events: z.array(activity) }),
    run: async (params) => {
      const { events, ...more } = await eventsOf(params, parts);
      return { events: events.map((one) => ({ ...one, schemaVersion: 1 as const, eventType: one.kind })), ...more };
    },
  }),
];

async function eventsOf(params: Asked, { live, core }: Pick<Parts, "live" | "core">) {
  const { kind = "agent_run", direction, channel } = params;
  // A run has neither a direction nor a channel.
  if (kind !== "agent_run" || direction !== undefined || channel !== undefined) return { events: [] };
  const defaultAgent = live.defaultAgent.id;
  const { sessionKey, agentId } = params;
  const runs = await core.journal.runs.recent(MOST_RUNS, { sessionKey, ...ofAgent(agentId, defaultAgent) });
  const all = runs
    .flatMap((run) => eventsOfRun(run, run.agentId ?? agentOf(run.sessionKey, defaultAgent)))
    .filter((one) => isAsked(one, params))
    .toSorted((a, b) => b.sequence - a.sequence);
  const last = all[params.limit - 1]?.sequence;
  // Events of one millisecond stay on one page.
  const events = last === undefined ? all : all.filter(({ sequence }) => sequence >= last);
  return { events, ...(events.length < all.length && { nextCursor: String(last) }) };
}

type AuditEvent = ReturnType<typeof eventsOfRun>[number];

function isAsked(one: AuditEvent, { runId, status: wanted, after, before, cursor }: Asked): boolean {
  if (cursor !== undefined && one.sequence >= Number(cursor)) return false;
  if (after !== undefined && one.occurredAt < after) return false;
  if (before !== undefined && one.occurredAt > before) return false;
  return (runId === undefined || one.runId === runId) && (wanted === undefined || one.status === wanted);
}

function eventsOfRun({ runId, sessionKey, at, result, receipt }: RunRecord, agent: string) {
  const about = {
    redaction: "metadata_only" as const,
    agentId: agent,
    sessionKey,
    runId,
    kind: "agent_run" as const,
    actor: { type: "agent" as const, id: agent },
  };
  const begun = Math.max(0, Math.round(at - receipt.durationMs));
  const ended = ENDS.get(result) ?? ENDS.get(result.split(":")[0] ?? "") ?? { status: "succeeded" as const };
  return [
    { ...about, ...place(runId, begun, 1), action: "agent.run.started" as const, status: "started" as Status },
    { ...about, ...place(runId, at, 2), action: "agent.run.finished" as const, ...ended },
  ];
}

/** The number of an event is its time, the end of a run after its beginning. */
const place = (runId: string, occurredAt: number, sourceSequence: 1 | 2) => ({
  eventId: `${runId}:${sourceSequence}`,
  sequence: occurredAt * 2 + sourceSequence,
  sourceSequence,
  occurredAt,
});

/** By the result in a receipt, `failed:<kind>` for failures. What is missing has succeeded. */
const ENDS: ReadonlyMap<string, { readonly status: Status; readonly errorCode: (typeof ERROR_CODES)[number] }> =
  new Map([
    ["failed:timeout", { status: "timed_out", errorCode: "run_timed_out" }],
    ["failed", { status: "failed", errorCode: "run_failed" }],
    ["interrupted", { status: "failed", errorCode: "run_failed" }],
    ["aborted", { status: "cancelled", errorCode: "run_cancelled" }],
  ]);
