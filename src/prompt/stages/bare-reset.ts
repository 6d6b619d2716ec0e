import { turnMessages, type BodyContext, type BodyStage } from "../draft.ts";
import { neutralise, oneLine } from "../untrusted.ts";

/** What the model is asked when a session was begun anew without a word. */
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

// Several people in one turn need a header each; one person's messages simply follow each other.
function joinMessages(context: BodyContext): string {
  const messages = turnMessages(context).filter((message) => message.text.trim() !== "");
  if (new Set(messages.map((message) => message.sender.id)).size < 2) {
    return messages.map((message) => neutralise(message.text)).join("\n\n");
  }
  const parts = messages.map((message, index) => {
    const name = oneLine(message.sender.name ?? message.sender.username ?? message.sender.id);
    return `---\nQueued #${index + 1} (from ${name})\n${neutralise(message.text)}`;
  });
  return ["[Queued messages while agent was busy]", ...parts].join("\n");
}

/** The first step: the user's words, or a request to greet when the session was reset without any. */
export const bareReset: BodyStage = {
  name: "bareReset",
  apply(draft, context) {
    const user = joinMessages(context);
    return { ...draft, user: isBareReset(context, user.trim()) ? BARE_RESET : user };
  },
};
