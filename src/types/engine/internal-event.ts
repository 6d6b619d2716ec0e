/** Work outside the conversation that ended; the agent learns of it in a separate turn. */
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
  /** The child's last answer: untrusted text. */
  result: string;
  mediaUrls?: string[];
  statsLine?: string;
  replyInstruction: string;
}
