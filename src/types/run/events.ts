import type { AssistantMessage, ModelRef, ThinkLevel, Usage } from "./model.ts";
import type { FailureKind, PromptRecord, Receipt, RunFacts, RunResult, SideCost } from "./run.ts";
import type { Plan } from "../plan.ts";
import type { NoticeCause, ReplyTarget } from "../chat/reply.ts";
import type { Approval, ApprovalDecision, ApprovalQuestion } from "./tool.ts";
import type { Unasked } from "./unasked.ts";
import { systemClock, type Clock } from "../clock.ts";

/** The older part of a conversation is replaced by a summary. Tokens are estimates. */
export type CompactionEvent =
  | { readonly type: "compaction"; readonly phase: "start"; readonly tokensBefore: number }
  | {
      readonly type: "compaction";
      readonly phase: "end";
      /** False: nothing was changed. */
      readonly ok: boolean;
      readonly tokensBefore: number;
      readonly tokensAfter?: number;
      /** The model is asked again at once. */
      readonly willRetry: boolean;
      /** Why no model wrote the summary, so that a plain list of the messages replaces it. */
      readonly listedBecause?: string;
      /** Models that wrote nothing, and why. */
      readonly passedOver?: readonly string[];
      /** The summary's model calls, one item for each model. */
      readonly costs: readonly SideCost[];
    };

/** A part of a tool's result as watchers see it. Of an image they learn type and size; its `bytes` are not sent. */
export type ResultPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly mimeType: string; readonly bytes: number; readonly omitted: true };

/** Events of a run, in order. Text is already free of think and final tags. */
export type RunEventBody =
  | { readonly type: "run_start"; readonly facts: RunFacts; readonly startedAt: number }
  | {
      readonly type: "attempt_start";
      readonly number: number;
      readonly model: ModelRef;
      readonly thinking: ThinkLevel;
      /** Id of the key's `AuthProfile`. */
      readonly profile?: string;
      /** Tokens that the model may be sent: its own window, or the part that the config allows. */
      readonly window: number;
      readonly messages: number;
      readonly estimatedTokens: number;
    }
  | { readonly type: "prompt"; readonly record: PromptRecord }
  | { readonly type: "message_start" }
  | {
      readonly type: "text_delta";
      readonly delta: string;
      /** All earlier text of the message turned out to be a thought: it is replaced by `delta`. */
      readonly anew?: true;
      /** The text so far may still turn out to be a thought. */
      readonly unsure?: true;
      readonly text: string;
      /** Text of an earlier process, which this run continues. */
      readonly carried?: boolean;
    }
  | { readonly type: "thinking_delta"; readonly delta: string }
  | {
      readonly type: "message_end";
      readonly message: AssistantMessage;
      readonly text: string;
      readonly entryId: string;
      /** URLs and paths of the files that the answer brings, in order; unset without any. */
      readonly media?: readonly string[];
      /** The sounds among the files are voice messages. */
      readonly audioAsVoice?: true;
      /** The message that the model answers, where the model names one. */
      readonly replyTo?: ReplyTarget;
    }
  | {
      readonly type: "tool_start";
      readonly callId: string;
      readonly name: string;
      readonly args: Record<string, unknown>;
    }
  | { readonly type: "tool_update"; readonly callId: string; readonly name: string; readonly partial: string }
  | {
      readonly type: "tool_end";
      readonly callId: string;
      readonly name: string;
      readonly isError: boolean;
      readonly text: string;
      /** The result part by part, where it is more than one text. */
      readonly content?: readonly ResultPart[];
      /** The topic of the call, see `callTopic`. */
      readonly meta?: string;
      readonly durationMs: number;
      /** The command ran outside the sandbox, since somebody permitted that. */
      readonly elevated?: boolean;
    }
  /** The agent has replaced the conversation's plan. */
  | { readonly type: "plan"; readonly callId: string; readonly plan: Plan }
  | { readonly type: "approval_request"; readonly approval: Approval }
  /** `by`: as in `QuestionEnd`. */
  | ApprovalEnd
  /** The question was not asked, because nobody could have answered it. */
  | { readonly type: "approval_unasked"; readonly question: ApprovalQuestion; readonly cause: Unasked }
  | { readonly type: "usage"; readonly usage: Usage; readonly model: ModelRef }
  | {
      readonly type: "retry";
      readonly because: FailureKind;
      readonly remedy: string;
      readonly message: string;
      /** The next text continues where the broken answer ended. */
      readonly continues: boolean;
    }
  | CompactionEvent
  | {
      readonly type: "notice";
      readonly text: string;
      readonly because: "window" | "steered" | "repair" | "engine" | "keys" | "image";
    }
  /** A model other than the requested one answers, or the requested one does again. One line, for the user. */
  | { readonly type: "model_change"; readonly from: ModelRef; readonly to: ModelRef; readonly text: string }
  /** Text for the user that no model wrote: a command's answer or an error notice. */
  | { readonly type: "answer"; readonly text: string; readonly because: NoticeCause }
  | { readonly type: "run_end"; readonly result: RunResult; readonly receipt: Receipt; readonly endedAt: number };

interface ApprovalEnd {
  readonly type: "approval_end";
  readonly id: string;
  readonly askedBy?: NonNullable<Approval["askedBy"]> | undefined;
  readonly decision: ApprovalDecision;
  readonly by?: string;
}

/**
 * `seq` starts at 1 and grows with each event of a run; `ts` is epoch milliseconds. A watcher that comes late or is slow
 * sees gaps in `seq`: see `RunStream`.
 */
export type RunEvent = RunEventBody & { readonly seq: number; readonly ts: number };

/**
 * Pace of deltas for a watcher. The first delta comes at once. Deltas that come before the time is over are given as
 * one afterwards, and before any event of another kind.
 */
export interface DeltaPace {
  readonly clock: Pick<Clock, "after">;
  /**
   * Milliseconds from one delta to the next, for a text of so many UTF-16 units. Undefined: deltas are given only before an
   * event of another kind.
   */
  everyMs(length: number): number | undefined;
  /**
   * Whether a delta, of which `text` is the whole text so far, is to be given at once, together with the deltas that
   * wait. Never when unset.
   */
  isUrgent?(delta: string, text: string): boolean;
  /**
   * Calls `giveNow` whenever the deltas that wait are to be given at once, until the returned function is called. Never
   * when unset.
   */
  onWanted?(giveNow: () => void): () => void;
}

/** Pace of a watcher that needs texts only when their message is complete. */
export const WHOLE_MESSAGES: DeltaPace = { clock: systemClock, everyMs: () => undefined };

/**
 * The event log of one run. Each watcher has its own cursor and sees the events from `from` on, in order; it ends after
 * `run_end`. Deltas that a watcher was not given yet may come as one, with the `seq` of the last one, and a partial
 * result that a later one of the same call has replaced does not come at all. The texts are the same for every watcher.
 */
export interface RunStream {
  readonly facts: RunFacts;
  /** Follows the events. Without a `pace`, each delta is given as soon as it comes. */
  watch(from?: number, pace?: DeltaPace): AsyncIterable<RunEvent>;
  /** Resolves with the result when the run has ended. Never rejects. */
  readonly done: Promise<RunResult>;
}
