import type { InboundMessage } from "../../types/chat/message.ts";
import { turnMessages, type BodyContext } from "../draft.ts";
import { neutralise, oneLine } from "../untrusted.ts";

/** Characters of a message that is shortened to one line. */
const BRIEF = 160;

/**
 * The text of all messages of a turn. Messages that waited together, as in the queue mode `collect`, come under a marker; beyond
 * the cap the oldest have one line each. Messages that one person wrote to an idle agent are one text.
 */
export function joinMessages(context: BodyContext): string {
  const messages = turnMessages(context).filter((message) => message.text.trim() !== "");
  const { queueCap } = context;
  if (messages.length < 2 || queueCap === undefined) return messages.map(safeText).join("\n\n");
  const over = Math.max(0, messages.length - queueCap);
  return [
    headOf(messages),
    ...(over > 0 ? [`[${over} more came before, shortened:]`] : []),
    ...messages.slice(0, over).map((message) => `- ${briefly(message.text)}`),
    ...queued(messages.slice(over)),
  ].join("\n");
}

/** Ends of subagents are only queued with each other. */
const headOf = ([first]: readonly InboundMessage[]): string =>
  first?.options?.announce
    ? "[Queued announce messages while agent was busy]"
    : "[Queued messages while agent was busy]";

/** When several people wrote, each message has its sender's name. */
function queued(messages: readonly InboundMessage[]): string[] {
  const isOne = new Set(messages.map((message) => message.sender.id)).size < 2;
  return messages.map((message, index) => {
    const { sender } = message;
    const name = isOne ? "" : ` (from ${oneLine(sender.name ?? sender.username ?? sender.id)})`;
    return `---\nQueued #${index + 1}${name}\n${safeText(message)}`;
  });
}

function briefly(text: string): string {
  const line = oneLine(text);
  return line.length > BRIEF ? `${line.slice(0, BRIEF)}…` : line;
}

/** The operator's text is passed on unchanged: it may quote a log or a config. */
const safeText = ({ text, options }: InboundMessage): string => (options?.operator === true ? text : neutralise(text));
