import type { InboundMessage } from "../chat/message.ts";
import type { RunId, SessionKey } from "../ids.ts";
import type { Session } from "../session.ts";
import type { ChatMessage, ModelRef, ThinkLevel } from "../run/model.ts";

/** The conversation in whose turn, command or hook a subagent is asked for. */
export interface SubagentRequester {
  readonly sessionKey: SessionKey;
  /** The run that asks, from whose budgets the subagent draws; unset for a command or a hook. */
  readonly runId?: RunId;
  /** The subagent gets an owner's rights; else a guest's. */
  readonly isOwner: boolean;
  /** Names of the tools of the run that asks: the subagent can have no others. Its agent's policy alone counts when unset. */
  readonly tools?: readonly string[];
  /** The session for which the requester works, when it is a subagent's itself. */
  readonly root?: SessionKey;
}

/** A run of an agent in a conversation of its own. None of its output is sent to a channel. */
export interface SubagentRequest {
  /** As the field writes it: `agent:<agent>:subagent:<name>`. The same key again continues the conversation. */
  readonly sessionKey: string;
  readonly message: string;
  /** Joins the system prompt. */
  readonly systemPrompt?: string | undefined;
  /** `provider/model`, asked before the agent's own. The caller has checked that it may be named. */
  readonly model?: string | undefined;
  /** The same request with the same key is one run. */
  readonly idempotencyKey?: string | undefined;
  /** The plugin that asks. Its subagents are apart from those of others. */
  readonly plugin?: string | undefined;
  /** Unset outside of a conversation: then the subagent has a guest's rights. */
  readonly requester?: SubagentRequester | undefined;
  /** Set for one that an agent asked for with a tool. */
  readonly spawn?: SpawnedRun | undefined;
}

/** Properties of a subagent that an agent asked for with a tool. */
export interface SpawnedRun {
  readonly label: string;
  /** Settings of all runs in its conversation; those of its agent when unset. */
  readonly model?: ModelRef | undefined;
  readonly thinking?: ThinkLevel | undefined;
  readonly timeoutMs?: number | undefined;
  /** The only files of the workspace that the system prompt has. */
  readonly files?: readonly string[] | undefined;
  /** Time at which the subagent's conversation is archived; epoch milliseconds. */
  readonly archiveAt?: number | undefined;
  /** The announcement for the asking session. */
  whenEnded(runId: RunId, depth: number): InboundMessage;
  /** Fills the subagent's new conversation. Rejects when that cannot be written. */
  fill?: ((session: Session) => Promise<void>) | undefined;
}

/** `timeout`: the run had not ended when the wait did; it continues. */
export type SubagentEnd =
  | { readonly status: "ok" }
  | { readonly status: "timeout" }
  | { readonly status: "error"; readonly error: string };

export interface SubagentWait {
  readonly runId: string;
  /** Only runs that this plugin asked for are found. */
  readonly plugin?: string | undefined;
  readonly timeoutMs: number;
  /** Ends the wait, not the run. */
  readonly signal: AbortSignal;
}

/** The conversation of a subagent, under the name that its creator gave. */
export interface SubagentSession {
  readonly sessionKey: string;
  readonly plugin?: string | undefined;
}

/** Starts subagents, and waits for them. */
export interface Subagents {
  /** Resolves when the run is durable: a restart continues it. Rejects for a request that is not allowed, with the reason. */
  run(request: SubagentRequest): Promise<{ readonly runId: RunId }>;
  waitFor(wait: SubagentWait): Promise<SubagentEnd>;
  /** Whether the conversation exists and was begun by a request of this plugin. */
  owns(session: SubagentSession): boolean;
  /** The newest messages of any conversation, oldest first; none of one that does not exist. */
  messages(sessionKey: string, limit: number): Promise<readonly ChatMessage[]>;
  /**
   * Ends the runs of a subagent's session, archives its transcript and removes it. False when it does not exist.
   * Rejects unless it is owned.
   */
  remove(session: SubagentSession): Promise<boolean>;
}
