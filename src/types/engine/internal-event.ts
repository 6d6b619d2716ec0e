/** Something that ended behind the conversation's back, told to the agent as a turn of its own. */
export interface AgentInternalEvent {
  type: "task_completion";
  /** `subagent`, `cron`, … */
  source: string;
  childSessionKey: string;
  childSessionId?: string;
  announceType: string;
  taskLabel: string;
  status: "ok" | "timeout" | "error" | "unknown";
  statusLabel: string;
  /** What the child said last: foreign text. */
  result: string;
  mediaUrls?: string[];
  statsLine?: string;
  replyInstruction: string;
}
