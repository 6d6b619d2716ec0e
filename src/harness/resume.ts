import { callsOf, interruptedResult, textOf } from "../history/passes.ts";
import type { AssistantMessage } from "../types/model.ts";
import type { TranscriptEntry } from "../types/session.ts";
import type { Conversation, UserTurn } from "./request.ts";

/** How far an earlier boot got with a turn, read from the transcript. */
export type Progress =
  | { readonly kind: "fresh" }
  | { readonly kind: "underway" }
  | { readonly kind: "finished"; readonly texts: readonly string[]; readonly last: AssistantMessage };

/** A turn that is in the transcript already is never asked twice. */
export async function progressOf(conversation: Conversation, turnId: string): Promise<Progress> {
  const entries = await conversation.after(turnId);
  if (!entries) return { kind: "fresh" };
  const answers = answersIn(entries);
  const last = answers.at(-1);
  if (last === undefined || !isFinal(last) || endsInToolResult(entries)) return { kind: "underway" };
  return { kind: "finished", texts: answers.map(textOf).filter((text) => text !== ""), last };
}

/** The answers of a turn so far, without those that broke off. */
export function answersIn(entries: readonly TranscriptEntry[]): readonly AssistantMessage[] {
  return entries.flatMap((entry) =>
    entry.type === "message" && entry.message.role === "assistant" && isWhole(entry.message) ? [entry.message] : [],
  );
}

const isWhole = (message: AssistantMessage) => message.stopReason !== "error" && message.stopReason !== "aborted";

const isFinal = (message: AssistantMessage) => isWhole(message) && callsOf(message).length === 0;

function endsInToolResult(entries: readonly TranscriptEntry[]): boolean {
  const messages = entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  return messages.at(-1)?.role === "toolResult";
}

/** Makes the transcript end in the user's turn, or in the results of the calls that an earlier boot began. */
export async function openTurn(conversation: Conversation, turn: UserTurn, progress: Progress): Promise<void> {
  if (progress.kind === "fresh") {
    const content = [{ type: "text" as const, text: turn.text }, ...turn.images];
    const message = { role: "user" as const, content, timestamp: turn.at };
    await conversation.append({ type: "message", message }, { id: turn.entryId, durable: true });
  } else if (progress.kind === "underway") {
    await closeCalls(conversation, turn.entryId);
  }
}

/** Calls without a result get one that says so: their tool may or may not have done its work. */
async function closeCalls(conversation: Conversation, turnId: string): Promise<void> {
  const entries = (await conversation.after(turnId)) ?? [];
  const messages = entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  const answered = new Set(messages.flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : [])));
  const open = messages.flatMap(callsOf).filter((call) => !answered.has(call.id));
  for (const call of open) {
    await conversation.append({ type: "message", message: interruptedResult(call, Date.now()) }, { durable: true });
  }
}
