import { z } from "zod";
import { keyField } from "../key-field.ts";
import type { Answer } from "../method.ts";
import type { AgentFilter } from "../run/agent-filter.ts";
import { TASK_STATUSES, type TaskStatus } from "./task-status.ts";

/**
 * Work that no message of a person waits for: a run of a job, a subagent, a webhook's run, a background command. In the
 * protocol's names. Times are epoch milliseconds.
 */
const summary = z.looseObject({
  id: z.string(),
  taskId: z.string(),
  kind: z.enum(["cron", "subagent", "hook", "exec"]),
  runtime: z.string(),
  status: z.enum(TASK_STATUSES),
  title: z.string(),
  agentId: z.string().optional(),
  /** The conversation that asked for the task. */
  sessionKey: keyField().optional(),
  /** The conversation of a subagent. */
  childSessionKey: keyField().optional(),
  ownerKey: keyField().optional(),
  runId: z.string().optional(),
  /** The scheduled job. */
  sourceId: z.string().optional(),
  createdAt: z.number().optional(),
  updatedAt: z.number().optional(),
  startedAt: z.number().optional(),
  endedAt: z.number().optional(),
  toolUseCount: z.number().optional(),
  lastToolName: z.string().optional(),
  /** Why the task has no answer, in a sentence. */
  error: z.string().optional(),
  terminalSummary: z.string().optional(),
  deliveryStatus: z.enum(["pending", "delivered", "failed", "not_applicable"]).optional(),
});
export type TaskSummary = Answer<z.output<typeof summary>>;

/** A task with its prompt and its result; both may be cut. */
const story = summary.extend({ prompt: z.string().optional(), result: z.string().optional() });
export type TaskStory = Answer<z.output<typeof story>>;

/** The answers of `tasks.*`. `reason`: why a task was not cancelled. */
export const taskAnswers = {
  list: z.looseObject({ tasks: z.array(summary), nextCursor: z.string().optional() }),
  get: z.looseObject({ task: story }),
  cancel: z.looseObject({
    found: z.boolean(),
    cancelled: z.boolean(),
    reason: z.string().optional(),
    task: summary.optional(),
  }),
};

type Answers = { readonly [Name in keyof typeof taskAnswers]: Answer<z.output<(typeof taskAnswers)[Name]>> };

export interface TaskFilter extends AgentFilter {
  /** All when unset. */
  readonly statuses?: readonly TaskStatus[] | undefined;
  /** Only tasks that this conversation asked for, or that work in it. */
  readonly sessionKey?: string | undefined;
  readonly limit: number;
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** Detached work, the latest first. */
export interface TaskDesk {
  list(filter: TaskFilter): Promise<Answers["list"]>;
  get(id: string): Promise<TaskStory | undefined>;
  cancel(id: string): Promise<Answers["cancel"]>;
}
