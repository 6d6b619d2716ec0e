import type { InboundMessage } from "../../types/chat/message.ts";
import { turnMessages, type BodyContext, type BodyStage } from "../draft.ts";
import { neutralise, oneLine } from "../untrusted.ts";

/** The user text when a session was reset without any further text. */
export const BARE_RESET =
  "The user has just opened a fresh session with /new or /reset and said nothing else yet. First go through your " +
  "startup routine: read whatever your workspace files tell you to read at the start. Then say hello as the persona " +
  "those files give you, in its own voice, in one to three sentences, and ask what is wanted. Do not speak of files, " +
  "tools or this note.";

function isBareReset(context: BodyContext, words: string): boolean {
  const raw = context.rawText.trim();
  if (!context.isNewSession || context.also.length > 0) {
    return false;
  }
  return raw === "/new" || raw === "/reset" || (words === "" && raw !== "");
}

/** Characters of a message that is shortened to one line. */
const BRIEF = 160;

function briefly(text: string): string {
  const line = oneLine(text);
  return line.length > BRIEF ? `${line.slice(0, BRIEF)}…` : line;
}

/** The operator's text is passed on unchanged: it may quote a log or a config. */
const safeText = ({ text, options }: InboundMessage): string => (options?.operator === true ? text : neutralise(text));

// Several people in one turn are named.
function queued(messages: readonly InboundMessage[]): string[] {
  const isOne = new Set(messages.map((message) => message.sender.id)).size < 2;
  return messages.map((message, index) => {
    const { sender } = message;
    const name = isOne ? "" : ` (from ${oneLine(sender.name ?? sender.username ?? sender.id)})`;
    return `---\nQueued #${index + 1}${name}\n${safeText(message)}`;
  });
}

// Messages that arrived while the agent was busy, as one text. Beyond the cap the oldest have one line each.
function joinMessages(context: BodyContext): string {
  const messages = turnMessages(context).filter((message) => message.text.trim() !== "");
  if (messages.length < 2) {
    return messages.map(safeText).join("\n\n");
  }
  const over = Math.max(0, messages.length - (context.queueCap ?? messages.length));
  return [
    "[Queued messages while agent was busy]",
    ...(over > 0 ? [`[${over} more came before, shortened:]`] : []),
    ...messages.slice(0, over).map((message) => `- ${briefly(message.text)}`),
    ...queued(messages.slice(over)),
  ].join("\n");
}

/** The first stage: the user's text, or a request to greet when the session was reset without text. */
export const bareReset: BodyStage = {
  name: "bareReset",
  source: "the message",
  apply(draft, context) {
    const user = joinMessages(context);
    return { ...draft, user: isBareReset(context, user.trim()) ? BARE_RESET : user };
  },
};
