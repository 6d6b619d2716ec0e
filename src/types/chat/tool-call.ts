import type { AgentId, SessionKey } from "../ids.ts";
import type { ToolResult } from "../run/tool.ts";

/** A client's call of one tool, without a model. */
export interface ToolCallRequest {
  /** As the client names it. */
  readonly tool: string;
  /** Becomes the argument `action` of a tool that has one, where the arguments do not set it. */
  readonly action?: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly agentId: AgentId;
  /** The session whose rules, sandbox and settings hold. */
  readonly sessionKey: SessionKey;
  /** Policy and arguments are checked, and nothing runs. */
  readonly isDryRun: boolean;
  readonly signal: AbortSignal;
}

/** How the call ended. */
export type ToolCallOutcome =
  /** The tool ran, or something on the way refused the call: then the result is an error. */
  | { readonly kind: "done"; readonly result: ToolResult }
  /** A dry run: the call would begin. */
  | { readonly kind: "fits"; readonly tool: string }
  /** There is no such tool, or the policy does not leave it to the call. */
  | { readonly kind: "missing" }
  | { readonly kind: "invalid"; readonly why: string }
  /** The same call brought the same result too often. */
  | { readonly kind: "looping"; readonly why: string };
