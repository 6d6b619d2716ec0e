/** States of a task. In a file of its own, because `--help` names them and loads no schema. */
export const TASK_STATUSES = ["queued", "running", "completed", "failed", "cancelled", "timed_out"] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];
