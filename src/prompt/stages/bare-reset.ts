import type { BodyContext, BodyStage } from "../draft.ts";
import { joinMessages } from "./join-messages.ts";

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

/**
 * The first stage: the text of the turn's messages (`join-messages.ts`), or a request to greet when the session was reset
 * without text.
 */
export const bareReset: BodyStage = {
  name: "bareReset",
  source: "the message",
  apply(draft, context) {
    const user = joinMessages(context);
    return { ...draft, user: isBareReset(context, user.trim()) ? BARE_RESET : user };
  },
};
