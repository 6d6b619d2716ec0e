import type { HistoryLine, InboundMessage, MediaKind } from "../types/chat/message.ts";
import type { ThinkLevel } from "../types/run/model.ts";

/** A file that lies beside the turn, as the model may be told about it. */
export interface AttachedFile {
  /** Absolute path on this machine. */
  readonly path: string;
  readonly mime?: string;
  readonly url?: string;
  readonly kind: MediaKind;
  /** Of a recording. */
  readonly durationSeconds?: number;
  /** Its words already stand in the text. */
  readonly transcribed?: boolean;
  /** It came with the message that is answered, not with the turn's own. */
  readonly quoted?: boolean;
}

/** A file that came with the turn and cannot be had. */
export interface MissingFile {
  readonly kind: MediaKind;
  readonly name?: string;
  readonly mime?: string;
  readonly durationSeconds?: number;
  readonly quoted?: boolean;
  /** What is in the way, for the model. */
  readonly why: string;
}

/** Everything that the stages may look at. Plain data, so that one context always makes one body. */
export interface BodyContext {
  readonly message: InboundMessage;
  /** Later messages collected into the same turn, in order. */
  readonly also: readonly InboundMessage[];
  /** How many messages of one turn are told whole; all when unset. */
  readonly queueCap?: number;
  /** The text of `message` before a command was cut off it. */
  readonly rawText: string;
  readonly isNewSession: boolean;
  readonly abortedLastRun: boolean;
  readonly systemEvents: readonly { readonly at: number; readonly text: string }[];
  /** What was said in the chat since the last reply and is in no transcript. */
  readonly pendingHistory: readonly HistoryLine[];
  readonly media: readonly AttachedFile[];
  readonly missing?: readonly MissingFile[];
  readonly hasMessageTool: boolean;
  /** IANA name; UTC when it is unknown. */
  readonly timezone: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** A user turn in the making. Kept in parts, so that a stage can still see which words are the user's. */
export interface BodyDraft {
  readonly before: readonly string[];
  readonly user: string;
  readonly after: readonly string[];
  readonly thinking?: ThinkLevel;
}

/** One step: looks only at its two arguments and returns a new draft. */
export interface BodyStage {
  readonly name: string;
  /** Where what it adds comes from. */
  readonly source: string;
  apply(draft: BodyDraft, context: BodyContext): BodyDraft;
}

/** The draft as the model will read it: its parts with one empty line between them. */
export function draftText(draft: BodyDraft): string {
  return [...draft.before, draft.user, ...draft.after].filter((part) => part.trim() !== "").join("\n\n");
}

/** The draft with blocks put before everything that is there; empty ones fall out. */
export function prepend(draft: BodyDraft, ...blocks: readonly (string | undefined)[]): BodyDraft {
  const added = blocks.filter((block): block is string => block !== undefined && block !== "");
  return { ...draft, before: [...added, ...draft.before] };
}

/** All messages of the turn, in order. */
export function turnMessages(context: BodyContext): readonly InboundMessage[] {
  return [context.message, ...context.also];
}

/** True when every word of the turn comes from the operator, who needs no warning about himself. */
export function fromOperator(context: BodyContext): boolean {
  return turnMessages(context).every((message) => message.options?.operator === true);
}
