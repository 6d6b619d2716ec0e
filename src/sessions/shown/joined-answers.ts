import type { AssistantMessage } from "../../types/run/model.ts";
import type { TranscriptEntry } from "../../types/session.ts";
import { asksForRest, withRest } from "../../types/run/turns.ts";
import { addUsage } from "../../types/run/usage.ts";

type AnswerEntry = Extract<TranscriptEntry, { type: "message" }> & { readonly message: AssistantMessage };

/**
 * Joins the parts of each answer in a conversation. A model stream that broke off and was continued leaves two answers in
 * the transcript, with the gateway's request for the rest between them. The joined answer has the id and time of its first
 * part, the end (stop reason, error, model) of its last, and the usage of all. Pure.
 */
export function joinAnswers(entries: readonly TranscriptEntry[]): readonly TranscriptEntry[] {
  const joined: TranscriptEntry[] = [];
  let last: number | undefined;
  let waitsForRest = false;
  for (const entry of entries) {
    if (entry.type === "message" && asksForRest(entry.message)) {
      waitsForRest = true;
      continue;
    }
    const first = last === undefined ? undefined : joined[last];
    if (waitsForRest && last !== undefined && isAnswer(first) && isAnswer(entry)) {
      joined[last] = { ...first, message: joinedMessage(first.message, entry.message) };
      waitsForRest = false;
      continue;
    }
    joined.push(entry);
    if (entry.type !== "message") continue;
    last = joined.length - 1;
    waitsForRest = false;
  }
  return joined;
}

const isAnswer = (entry: TranscriptEntry | undefined): entry is AnswerEntry =>
  entry?.type === "message" && entry.message.role === "assistant";

function joinedMessage(first: AssistantMessage, rest: AssistantMessage): AssistantMessage {
  const { timestamp } = first;
  return { ...rest, timestamp, content: joinedContent(first, rest), usage: addUsage(first.usage, rest.usage) };
}

/** Joins the two texts at the place of the second. Drops the tool calls of the first part, which were cut off and never made. */
function joinedContent({ content: first }: AssistantMessage, { content: rest }: AssistantMessage) {
  const said = first.filter((part) => part.type !== "toolCall");
  const at = said.findLastIndex((part) => part.type === "text");
  const restAt = rest.findIndex((part) => part.type === "text");
  const begun = said[at];
  const more = rest[restAt];
  if (begun?.type !== "text" || more?.type !== "text") return [...said, ...rest];
  const text = { ...begun, text: withRest(begun.text, more.text) };
  return [...said.slice(0, at), ...said.slice(at + 1), ...rest.slice(0, restAt), text, ...rest.slice(restAt + 1)];
}
