import type { ChatMessage } from "../types/run/model.ts";
import type { TranscriptEntry } from "../types/session.ts";

/** How the last run ended; `none` when there was none. */
export type EndedHow = "aborted" | "failed" | "unknown" | "none";

/** Treatment of unanswered user turns when the next turn comes. */
export type OrphanPlan =
  /** The turns stay, and the passes merge them with the new turn, so that no text is lost. */
  | { readonly kind: "merge"; readonly entryIds: readonly string[] }
  /** The new turn follows `parentId`. The unanswered turns stay in the file, but not in the branch. */
  | { readonly kind: "branch"; readonly entryIds: readonly string[]; readonly parentId: string | null };

type MessageEntry = Extract<TranscriptEntry, { type: "message" }>;

/**
 * The unanswered user turns at the end of a branch, oldest first. An answer that was cut off does not count as one. Entries
 * that are no messages are skipped.
 */
export function trailingUserTurns(entries: readonly TranscriptEntry[]): readonly MessageEntry[] {
  return trailing(entries).filter(({ message }) => message.role === "user");
}

function trailing(entries: readonly TranscriptEntry[]): readonly MessageEntry[] {
  const messages = entries.filter((entry) => entry.type === "message");
  return messages.slice(messages.findLastIndex(({ message }) => isSettled(message)) + 1);
}

/** Whether nothing is left unanswered because the last entry is an answer. */
export function endsAnswered(entries: readonly TranscriptEntry[]): boolean {
  const last = entries.at(-1);
  return last?.type === "message" && isSettled(last.message);
}

const isSettled = (message: ChatMessage): boolean =>
  message.role === "toolResult" || (message.role === "assistant" && !isBroken(message));

const isBroken = (message: ChatMessage): boolean =>
  message.role === "assistant" && (message.stopReason === "error" || message.stopReason === "aborted");

/**
 * Plan for the unanswered user turns at the end of a branch; undefined when there are none. The turns are kept, since
 * their sender still waits for an answer, unless that sender stopped the run before anything was said: then the sender
 * took the turns back. Entries that no message follows, such as a model change, are left where they are.
 */
export function orphanPlan(entries: readonly TranscriptEntry[], endedHow: EndedHow): OrphanPlan | undefined {
  const turns = trailingUserTurns(entries);
  const last = turns.at(-1);
  if (!last) return undefined;
  const said = trailing(entries).some(({ message }) => message.role === "assistant" && message.content.length > 0);
  if (endedHow !== "aborted" || said) return { kind: "merge", entryIds: turns.map(({ id }) => id) };
  // The stop applies only to the run's own turn. Earlier turns were already waiting.
  return { kind: "branch", entryIds: [last.id], parentId: last.parentId };
}
