import type { Models } from "../providers/catalog.ts";
import type { Clock } from "../types/clock.ts";
import type { Log } from "../types/log.ts";
import type { ImageContent, ModelInfo, ModelRef, ThinkLevel } from "../types/model.ts";
import type { RunFacts } from "../types/run.ts";
import type { Session } from "../types/session.ts";
import type { AgentSettings } from "../types/settings.ts";
import type { ApprovalDesk, Tool } from "../types/tool.ts";

/** What a run needs of a session; a one-shot request brings one that lives in memory. */
export type Conversation = Pick<Session, "window" | "after" | "append" | "leafId">;

/** The user's turn. Its id comes from the inbox row, so that a second boot finds it again. */
export interface UserTurn {
  readonly entryId: string;
  readonly text: string;
  readonly images: readonly ImageContent[];
  readonly at: number;
}

export interface RunRequest {
  readonly facts: RunFacts;
  readonly settings: AgentSettings;
  readonly conversation: Conversation;
  readonly turn: UserTurn;
  /** In the order in which they are tried. */
  readonly candidates: readonly ModelRef[];
  readonly thinking: ThinkLevel;
  readonly timeoutMs: number;
  readonly tools: readonly Tool[];
  /** Asked once per attempt, since it names the model. */
  systemPrompt(model: ModelInfo): Promise<string>;
}

export interface RunDeps {
  readonly models: Models;
  readonly approvals: ApprovalDesk;
  readonly log: Log;
  readonly clock: Clock;
}
