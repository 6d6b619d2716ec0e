import { callsOf, interruptedResult, isWhole, textOfAnswer, unbegunResult } from "../../history/parts.ts";
import type { AssistantMessage, ChatMessage, UserMessage } from "../../types/run/model.ts";
import type { TranscriptEntry } from "../../types/session.ts";
import { asksForRest, withRest } from "../../types/run/turns.ts";
import { isFields } from "../../utils/fields.ts";
import { askedIn } from "../asked-in.ts";
import type { RunLog } from "../log/run-log.ts";
import type { Conversation, UserTurn } from "../request.ts";
import { unbegunCalls } from "../tools/tools.ts";
import { type AnswerRequest, isUnanswered, withoutTags } from "./unanswered.ts";

/** An answer in the transcript from an earlier process. */
export interface StoredAnswer {
  readonly entryId: string;
  readonly message: AssistantMessage;
  /** The text that the answer continues; usually empty. */
  readonly before: string;
}

/** How far an earlier process got with a turn, by the transcript. */
export type Progress =
  | { readonly kind: "fresh" }
  /** `carried`: the first part of an answer whose rest was just requested; usually empty. */
  | { readonly kind: "underway"; readonly said: readonly StoredAnswer[]; readonly carried: string }
  | { readonly kind: "finished"; readonly said: readonly StoredAnswer[]; readonly last: AssistantMessage };

/** Reads how far the turn got. With `asked`, an answer without text may count as none. */
export async function progressOf(conversation: Conversation, turnId: string, asked?: AnswerRequest): Promise<Progress> {
  const entries = await conversation.after(turnId);
  if (!entries) return { kind: "fresh" };
  const { said, carried } = saidIn(entries);
  const messages = messagesIn(entries);
  const last = messages.at(-1);
  const handedOver = asked && handedOverBy(messages, asked);
  if (handedOver) return { kind: "finished", said, last: handedOver };
  // A steered turn or a tool's result after the last answer still waits for an answer.
  const isOpen = endsInJoined(entries) || (asked !== undefined && isUnanswered(messages, asked));
  return last?.role === "assistant" && isFinal(last) && !isOpen
    ? { kind: "finished", said, last }
    : { kind: "underway", said, carried };
}

/** The last answer, when the turn ended with calls of it that the client makes. */
function handedOverBy(messages: readonly ChatMessage[], { tools }: AnswerRequest): AssistantMessage | undefined {
  const at = messages.findLastIndex(({ role }) => role !== "toolResult");
  const last = messages[at];
  if (last?.role !== "assistant" || !isWhole(last)) return undefined;
  const clients = new Set(tools.flatMap((tool) => (tool.isClients ? [tool.name] : [])));
  const answered = messages.slice(at + 1).flatMap((one) => (one.role === "toolResult" ? [one.toolCallId] : []));
  return callsOf(last).some(({ id, name }) => clients.has(name) && !answered.includes(id)) ? last : undefined;
}

/** Whether a prompt joined after the last answer that the transcript does not keep. */
function endsInJoined(entries: readonly TranscriptEntry[]): boolean {
  const last = entries.findLast((entry) => entry.type === "message" || isInstead(entry));
  return last !== undefined && last.type !== "message";
}

/** Finished answers, each with the first part that it continues, and the part that still waits for its rest. */
function saidIn(entries: readonly TranscriptEntry[]): { said: readonly StoredAnswer[]; carried: string } {
  const said: StoredAnswer[] = [];
  let before = "";
  for (const [at, entry] of entries.entries()) {
    if (entry.type !== "message" || entry.message.role !== "assistant") continue;
    const { message } = entry;
    const next = entries[at + 1];
    if (next?.type === "message" && asksForRest(next.message)) before += textOfAnswer(message);
    else if (isWhole(message)) said.push({ entryId: entry.id, message, before });
    if (isWhole(message)) before = "";
  }
  return { said, carried: before };
}

const isInstead = (entry: TranscriptEntry): boolean =>
  entry.type === "custom_message" && isFields(entry.details) && entry.details["insteadOf"] !== undefined;

const messagesIn = (entries: readonly TranscriptEntry[]): readonly ChatMessage[] =>
  entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));

const isFinal = (message: AssistantMessage) => isWhole(message) && callsOf(message).length === 0;

/** Repeats the answers of an earlier process to the run's watchers, so that they deliver the whole answer. */
export function repeat(said: readonly StoredAnswer[], log: RunLog): void {
  for (const { entryId, message, before } of said) {
    const text = withoutTags(withRest(before, textOfAnswer(message)), message);
    if (text === "") continue;
    log.emit({ type: "message_start" });
    log.emit({ type: "text_delta", delta: text, text });
    log.emit({ type: "message_end", message, text, entryId, ...askedIn(text) });
  }
}

/** Repeats the first part of an answer that is continued. Returns the part as watchers see it. */
export function repeatPart(carried: string, log: RunLog): string {
  const text = withoutTags(carried);
  if (text === "") return "";
  log.emit({ type: "message_start" });
  log.emit({ type: "text_delta", delta: text, text, carried: true });
  return text;
}

/** The turn as a message. */
export function userMessage({ text, images, sent, at, provenance, events: internalEvents }: UserTurn): UserMessage {
  const content = [{ type: "text" as const, text }, ...images];
  return {
    role: "user",
    content,
    timestamp: at,
    ...(provenance && { provenance }),
    ...(internalEvents && { internalEvents }),
    ...(sent && { __openclaw: sent }),
  };
}

/** The messages with which the turn begins: results of the client's calls, then the user's text. */
const messagesOf = (turn: UserTurn): readonly ChatMessage[] => {
  const { results = [], text, images } = turn;
  return results.length > 0 && text === "" && images.length === 0 ? results : [...results, userMessage(turn)];
};

/** Makes the transcript end in the user's turn, or in the results of the calls that an earlier process began. */
export async function openTurn(conversation: Conversation, turn: UserTurn, progress: Progress): Promise<void> {
  if (progress.kind === "fresh") {
    // The entries are not synced: the journal has the message until the turn is over, and the first answer syncs them too.
    const messages = messagesOf(turn);
    // The turn is found by its first entry, or by its text where it has one.
    const named = turn.text === "" && turn.images.length === 0 ? 0 : messages.length - 1;
    for (const [at, message] of messages.entries())
      await conversation.append({ type: "message", message }, at === named ? { id: turn.entryId } : {});
  } else if (progress.kind === "underway") {
    await closeCalls(conversation, turn.entryId);
  }
}

/** Adds a result to each call without one, which says that the tool may or may not have done its work. */
async function closeCalls(conversation: Conversation, turnId: string): Promise<void> {
  const entries = (await conversation.after(turnId)) ?? [];
  const messages = messagesIn(entries);
  const unbegun = unbegunCalls(entries);
  const answered = new Set(messages.flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : [])));
  const open = messages.flatMap(callsOf).filter((call) => !answered.has(call.id));
  const resultOf = (call: (typeof open)[number], at: number) =>
    unbegun.has(call.id) ? unbegunResult(call, at) : interruptedResult(call, at);
  for (const call of open) {
    await conversation.append({ type: "message", message: resultOf(call, Date.now()) }, { durable: true });
  }
}
