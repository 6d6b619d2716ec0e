import type { AgentId, RunId, SessionKey } from "./ids.ts";
import type { ModelRef, Usage } from "./model.ts";

/** The closed list of what can go wrong in a run; each has a row in the harness's `POLICY`. */
export const FAILURE_KINDS = [
  "auth",
  "billing",
  "rate_limit",
  "overloaded",
  "timeout",
  "context_overflow",
  "thinking_unsupported",
  "image_size",
  "format",
  "refusal",
  "cut_off",
  "network",
  "model_missing",
  "unknown",
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

export interface Failure {
  readonly kind: FailureKind;
  /** For the operator; holds no secret. */
  readonly message: string;
  readonly retryAfterMs?: number;
}

export type RunResult =
  | { readonly kind: "replied"; readonly stop: "stop" | "length" }
  | { readonly kind: "aborted"; readonly by: "user" | "timeout" | "shutdown" }
  | { readonly kind: "failed"; readonly failure: Failure };

export type RunTrigger = "message" | "heartbeat" | "cron" | "subagent" | "api";

export interface RunFacts {
  readonly runId: RunId;
  readonly sessionKey: SessionKey;
  readonly sessionId: string;
  readonly agentId: AgentId;
  readonly trigger: RunTrigger;
}

/** What a run cost and who answered. */
export interface Receipt {
  readonly model: ModelRef;
  readonly usage: Usage;
  readonly calls: number;
  readonly durationMs: number;
}
