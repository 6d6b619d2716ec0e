import type { HistoryLine, InboundMessage, MediaKind } from "../types/chat/message.ts";
import type { ThinkLevel } from "../types/run/model.ts";
import type { DailyNote } from "./startup-notes.ts";

/** A file of the turn, as described to the model. */
export interface AttachedFile {
  /** Absolute path on this machine. */
  readonly path: string;
  readonly mime?: string;
  readonly url?: string;
  readonly kind: MediaKind;
  /** Length of a recording. */
  readonly durationSeconds?: number;
  /** The transcription of the file is already in the text. */
  readonly transcribed?: boolean;
  /** The file belongs to the quoted message, not to the turn's own. */
  readonly quoted?: boolean;
}

/** A file of the turn that is not available. */
export interface MissingFile {
  readonly kind: MediaKind;
  readonly name?: string;
  readonly mime?: string;
  readonly durationSeconds?: number;
  readonly quoted?: boolean;
  /** The reason, for the model. */
  readonly why: string;
}

/** The state of the session. */
interface SessionStart {
  readonly isNewSession: boolean;
  /** Notes for a session that was reset without any further text. */
  readonly dailyNotes?: readonly DailyNote[];
}

/** Everything that the stages may read. Plain data, so that the same context always makes the same body. */
export interface BodyContext extends SessionStart {
  readonly message: InboundMessage;
  /** Later messages collected into the same turn, in order. */
  readonly also: readonly InboundMessage[];
  /** How many messages of one turn are not shortened. Unset when the agent was idle as they came: they are one text. */
  readonly queueCap?: number;
  /** The text of `message` before its command was removed. */
  readonly rawText: string;
  readonly abortedLastRun: boolean;
  readonly systemEvents: readonly { readonly at: number; readonly text: string }[];
  /** Messages in the chat since the last reply that no transcript has. */
  readonly pendingHistory: readonly HistoryLine[];
  readonly media: readonly AttachedFile[];
  readonly missing?: readonly MissingFile[];
  hasMessageTool(): boolean;
  /** IANA name; UTC when it is unknown. */
  readonly timezone: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** A user turn in the making. Kept in parts, so that a stage can still find the user's text. */
export interface BodyDraft {
  readonly before: readonly string[];
  readonly user: string;
  readonly after: readonly string[];
  readonly thinking?: ThinkLevel;
}

/** A stage of the user's text. Pure: reads only its two arguments and returns a new draft. */
export interface BodyStage {
  readonly name: string;
  /** The origin of the text that the stage adds. */
  readonly source: string;
  apply(draft: BodyDraft, context: BodyContext): BodyDraft;
}

/** The draft as the model reads it: its parts with one empty line between them. */
export function draftText(draft: BodyDraft): string {
  return [...draft.before, draft.user, ...draft.after].filter((part) => part.trim() !== "").join("\n\n");
}

/** The draft with blocks before everything else. Empty blocks are left out. */
export function prepend(draft: BodyDraft, ...blocks: readonly (string | undefined)[]): BodyDraft {
  const added = blocks.filter((block): block is string => block !== undefined && block !== "");
  if (added.length === 0) return draft;
  return { ...draft, before: [...added, ...draft.before] };
}

/** All messages of the turn, in order. */
export function turnMessages(context: BodyContext): readonly InboundMessage[] {
  return [context.message, ...context.also];
}

/**
 * Lines of the thread before the turn, each line once. A line that is also in the chat's history, because the gateway
 * received it, is left to the history.
 */
export function threadLines(context: BodyContext): readonly string[] {
  const heard = context.pendingHistory.map(({ sender, text }) => `${sender}: ${text}`);
  const lines = turnMessages(context).flatMap((message) => message.context?.threadHistory ?? []);
  return [...new Set(lines)].filter((line) => !heard.some((said) => line.endsWith(said)));
}

/** True when the whole turn comes from the operator, whose text needs no marking as untrusted. */
export function fromOperator(context: BodyContext): boolean {
  return turnMessages(context).every((message) => message.options?.operator === true);
}
