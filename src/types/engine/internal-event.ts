import { isFields } from "../../utils/fields.ts";

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

const TEXTS = ["source", "childSessionKey", "announceType", "taskLabel", "statusLabel", "result", "replyInstruction"];
const MAYBE_TEXTS = ["childSessionId", "statsLine"];
const STATUSES: ReadonlySet<unknown> = new Set(["ok", "timeout", "error", "unknown"]);

/** Whether a value of another program is such an event. */
export function isInternalEvent(value: unknown): value is AgentInternalEvent {
  if (!isFields(value) || value["type"] !== "task_completion" || !STATUSES.has(value["status"])) return false;
  const { mediaUrls } = value;
  const hasUrls =
    mediaUrls === undefined || (Array.isArray(mediaUrls) && mediaUrls.every((url) => typeof url === "string"));
  const isText = (name: string) => typeof value[name] === "string";
  return hasUrls && TEXTS.every(isText) && MAYBE_TEXTS.every((name) => value[name] === undefined || isText(name));
}
