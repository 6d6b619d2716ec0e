import type { RunEvent, RunStream } from "../run/events.ts";
import type { AgentId, RunId, SessionKey } from "../ids.ts";
import type { MediaItem } from "./message.ts";
import type { ChatMessage, ThinkLevel } from "../run/model.ts";
import type { RunFacts } from "../run/run.ts";
import type { Approval, ApprovalDecision } from "../run/tool.ts";

/** A message of a web, RPC, HTTP or command-line client. */
export interface ChatRequest {
  readonly sessionKey: SessionKey;
  readonly text: string;
  readonly media: readonly MediaItem[];
  /** Becomes the run id. The same one again starts nothing. */
  readonly idempotencyKey: string;
  readonly thinking?: ThinkLevel;
  readonly model?: string;
  readonly timeoutMs?: number;
  readonly senderName?: string;
  /** The answer also goes to the chat that the session belongs to. */
  readonly deliver?: boolean;
}

/** A request that brings its own history and leaves none (OpenAI-compatible endpoints). */
export interface OneShotRequest {
  readonly agentId: AgentId;
  readonly system?: string;
  /** Ends with the user's turn. */
  readonly messages: readonly ChatMessage[];
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

/** An event of a compaction outside of any run: one that somebody asked for, or behind a turn. */
export interface CompactionUpdate {
  readonly facts: RunFacts;
  readonly event: RunEvent;
}

/** What `server/` may ask of `dispatch/`. */
export interface ChatPort {
  /** Durable when it resolves. `queued`: waits behind a run of the session. `duplicate`: known key. */
  send(request: ChatRequest): Promise<{ readonly runId: RunId; readonly status: "started" | "queued" | "duplicate" }>;
  oneShot(request: OneShotRequest): Promise<RunStream>;
  /** Ends runs of a session; the ids of those that it ended. */
  abort(key: SessionKey, only?: RunId): Promise<readonly RunId[]>;
  /** Makes the older part of a conversation a summary, once its lane is free; `reason` tells why not. */
  compact(key: SessionKey): Promise<{
    readonly compacted: boolean;
    readonly reason?: string;
    readonly tokensBefore?: number;
    readonly tokensAfter?: number;
  }>;
  active(key?: SessionKey): readonly RunFacts[];
  /** A running or lately ended run. */
  stream(runId: RunId): RunStream | undefined;
  /** Every run from now on, as it begins. */
  runs(signal: AbortSignal): AsyncIterable<RunStream>;
  /** Compactions outside of runs, from now on. */
  compactions(signal: AbortSignal): AsyncIterable<CompactionUpdate>;
  /** An answer's words without directives for channels; empty when it was to be silent. */
  plain(text: string): string;
  approvals: {
    list(): readonly Approval[];
    /** False when nothing waits under this id. */
    resolve(id: string, decision: Extract<ApprovalDecision, "allow-once" | "allow-always" | "deny">): boolean;
  };
}
