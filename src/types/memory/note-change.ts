import type { AgentId, SessionKey } from "../ids.ts";
import type { Principal } from "../run/principal.ts";
import type { UntrustedSource } from "../run/untrusted.ts";

/** A change that a tool has made in a note of an agent. */
export interface NoteChange {
  /** Relative to the workspace, with `/`. */
  readonly path: string;
  /** Lines that are new, and lines that are gone; unset when the change was too large to be compared. */
  readonly lines?: { readonly added: readonly string[]; readonly removed: readonly string[] };
  readonly tool: string;
  readonly agentId: AgentId;
  readonly sessionKey: SessionKey;
  readonly runId: string;
  readonly callId: string;
  /** The principal of the turn. */
  readonly principal: Principal;
  /** Untrusted content that, as far as this run knows, its conversation has read. */
  readonly sources: readonly UntrustedSource[];
}

/** Lines that a tool shows of a note. */
export interface ShownNote {
  readonly agentId: AgentId;
  /** Relative to the workspace, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** Keeps where the lines of notes come from. Neither method rejects: a note that was written stays written. */
export interface NoteChanges {
  record(change: NoteChange): Promise<void>;
  /** Whether a conversation that had read untrusted content wrote one of the lines. True when that cannot be found out. */
  isUntrusted(note: ShownNote): Promise<boolean>;
}
