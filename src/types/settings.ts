import type { AgentId } from "./ids.ts";
import type { ModelRef, ThinkLevel } from "./model.ts";

export interface ChunkLimits {
  readonly minChars: number;
  readonly maxChars: number;
  readonly breakPreference: "paragraph" | "newline" | "sentence";
}

/** Everything a run needs to know of one agent, resolved once out of `agents.defaults` and its entry; frozen. */
export interface AgentSettings {
  readonly id: AgentId;
  readonly name?: string;
  /** Absolute path. */
  readonly workspace: string;
  readonly model: { readonly primary?: ModelRef; readonly fallbacks: readonly ModelRef[] };
  readonly thinking: ThinkLevel;
  /** Milliseconds a run may take. */
  readonly timeoutMs: number;
  /** Cap on the model's window, tokens. */
  readonly contextTokens?: number;
  readonly dmHistoryLimit?: number;
  /** The usual figures when unset. */
  readonly compaction?: CompactionSettings;
  readonly timezone: string;
  readonly prompt: {
    readonly override?: string;
    readonly bootstrapMaxChars: number;
    readonly bootstrapTotalMaxChars: number;
    readonly skipBootstrap: boolean;
    readonly skills?: readonly string[];
  };
  readonly tools: ToolPolicySettings;
  readonly exec: ExecSettings;
  readonly streaming: {
    readonly blocks: boolean;
    readonly breakAt: "text_end" | "message_end";
    readonly chunk: ChunkLimits;
  };
}

/** How a conversation is made smaller. */
export interface CompactionSettings {
  /** Tokens of the window that stay free for the next turn and its answer. */
  readonly reserveTokens: number;
  /** Tokens of the newest turns that stay as they are. */
  readonly keepRecentTokens: number;
  /** The model that writes the summary; the conversation's own when unset. */
  readonly model?: ModelRef;
  /** Milliseconds that a compaction may take. */
  readonly timeoutMs: number;
  readonly instructions?: string;
}

export interface ToolPolicySettings {
  readonly profile: "minimal" | "coding" | "messaging" | "full";
  readonly allow: readonly string[];
  readonly alsoAllow: readonly string[];
  readonly deny: readonly string[];
  /** File tools stay inside the workspace. */
  readonly workspaceOnly: boolean;
}

export interface ExecSettings {
  readonly security: "deny" | "allowlist" | "full";
  readonly ask: "off" | "on-miss" | "always";
  readonly timeoutMs: number;
  readonly safeBins: readonly string[];
  readonly pathPrepend: readonly string[];
}
