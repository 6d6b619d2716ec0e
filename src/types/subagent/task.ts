import type { AgentFilter } from "../run/agent-filter.ts";

export const TASK_STATUSES = ["queued", "running", "completed", "failed", "cancelled", "timed_out"] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** Owner of a task, and place of its work. */
interface TaskPlace {
  readonly agentId?: string;
  /** The conversation that asked for the task. */
  readonly sessionKey?: string;
  /** The conversation of a subagent. */
  readonly childSessionKey?: string;
  readonly ownerKey?: string;
  readonly runId?: string;
  /** The scheduled job. */
  readonly sourceId?: string;
}

/** When what happened, epoch milliseconds. */
interface TaskTimes {
  readonly createdAt?: number;
  readonly updatedAt?: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
}

/** How a task went. */
interface TaskFacts {
  readonly toolUseCount?: number;
  readonly lastToolName?: string;
  /** Why the task has no answer, in a sentence. */
  readonly error?: string;
  readonly terminalSummary?: string;
  readonly deliveryStatus?: "pending" | "delivered" | "failed" | "not_applicable";
}

/**
 * Work that no message of a person waits for: a run of a job, a subagent, a webhook's run, a background command. In the
 * protocol's names.
 */
export interface TaskSummary extends TaskPlace, TaskTimes, TaskFacts {
  readonly id: string;
  readonly taskId: string;
  readonly kind: "cron" | "subagent" | "hook" | "exec";
  readonly runtime: string;
  readonly status: TaskStatus;
  readonly title: string;
}

/** A task with its prompt and its result; both may be cut. */
export interface TaskStory extends TaskSummary {
  readonly prompt?: string;
  readonly result?: string;
}

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
  list(filter: TaskFilter): Promise<{ readonly tasks: readonly TaskSummary[]; readonly nextCursor?: string }>;
  get(id: string): Promise<TaskStory | undefined>;
  /** `reason`: why the task was not cancelled. */
  cancel(id: string): Promise<{
    readonly found: boolean;
    readonly cancelled: boolean;
    readonly reason?: string;
    readonly task?: TaskSummary;
  }>;
}
