import { withoutTags } from "../../../harness/run/unanswered.ts";
import { parseReply } from "../../../reply/plain-reply.ts";
import { joinAnswers } from "../../../sessions/shown/joined-answers.ts";
import { noticeIn } from "../../../sessions/shown/notice.ts";
import { shownText } from "../../../sessions/shown/shown-text.ts";
import { callTopic } from "../../../tools/call-topic.ts";
import type { AssistantMessage, UserMessage } from "../../../types/run/model.ts";
import type { TranscriptEntry } from "../../../types/session.ts";
import { Secret } from "../../../utils/secrets/secret.ts";

/** A line of a conversation as people read it. */
export interface ConversationLine {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly by: "person" | "agent" | "tool";
  /** The name of the person, if the turn has one, or of the tool. */
  readonly name?: string;
  readonly text: string;
  /** Whether a turn begins with the line. */
  readonly opens?: true;
}

/** Whether an entry is a message of a person or an agent, and no line of the gateway itself. */
export const isMessage = ({ type }: TranscriptEntry): boolean => type === "message";

/**
 * The lines that people see of transcript entries, oldest first: without the text that the gateway writes for the
 * model, and with secrets masked. A call of a tool is one line, its result none. `all`: also turns that nobody wrote,
 * such as the task of a subagent. Pure.
 */
export const conversationLines = (entries: readonly TranscriptEntry[], all = false): readonly ConversationLine[] =>
  joinAnswers(entries).flatMap((entry) => linesOf(entry, all).filter(({ by, text }) => by === "tool" || text !== ""));

function linesOf(entry: TranscriptEntry, all: boolean): readonly ConversationLine[] {
  const at = Date.parse(entry.timestamp) || 0;
  if (entry.type === "message") {
    const { message } = entry;
    if (message.role === "user") return all || isOfPerson(message) ? [personLine(message, at)] : [];
    return message.role === "assistant" ? agentLines(message, at) : [];
  }
  const notice = noticeIn(entry);
  // The answer to a command is no part of the conversation between the agent and a person.
  if (!notice || notice.said !== undefined) return [];
  const files = (notice.media ?? []).map(({ name = "file" }) => `[${name}]`);
  return [{ at, by: "agent", text: readable([notice.text, ...files].join("\n")) }];
}

const isOfPerson = ({ provenance }: UserMessage): boolean =>
  provenance === undefined || provenance.kind === "third-party_user";

function personLine({ content, steered }: UserMessage, at: number): ConversationLine {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const first = parts.findIndex(({ type }) => type === "text");
  let name: string | undefined;
  const texts = parts.map((part, index) => {
    if (part.type !== "text") return "[image]";
    if (index !== first) return part.text;
    const shown = shownText(part.text);
    name = shown.sender;
    return shown.text;
  });
  const text = readable(texts.join("\n"));
  return { at, by: "person", text, ...(name !== undefined && { name }), ...(steered !== true && { opens: true }) };
}

function agentLines(message: AssistantMessage, at: number): readonly ConversationLine[] {
  return message.content.flatMap((part): readonly ConversationLine[] => {
    if (part.type === "text") return [{ at, by: "agent", text: answerText(part.text, message) }];
    if (part.type !== "toolCall") return [];
    return [{ at, by: "tool", name: part.name, text: callTopic(part.name, part.arguments) ?? "" }];
  });
}

function answerText(text: string, message: AssistantMessage): string {
  const { text: plain, silent } = parseReply(withoutTags(text, message));
  return silent ? "" : readable(plain);
}

const readable = (text: string): string => Secret.mask(text).trim();
