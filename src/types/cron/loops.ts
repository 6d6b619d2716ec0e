import type { AgentId, SessionKey } from "../ids.ts";

/** A task that is repeated in a conversation. */
export interface Loop {
  readonly id: string;
  readonly name: string;
  /** Milliseconds from one run to the next; unset when its runs choose. */
  readonly everyMs?: number | undefined;
}

/** Operations behind `/loop`. */
export interface LoopDesk {
  /** A text is the reason why there is none. `everyMs` unset: its runs choose when the next one comes. */
  begin(wish: {
    readonly key: SessionKey;
    readonly agentId: AgentId;
    readonly task: string;
    readonly everyMs: number | undefined;
  }): Promise<Loop | string>;
  list(key: SessionKey): readonly Loop[];
  remove(id: string): Promise<boolean>;
}
