import { prepend, turnMessages, type BodyContext, type BodyStage } from "../draft.ts";
import { neutralise } from "../untrusted.ts";

function note(context: BodyContext): string | undefined {
  const history = context.threadHistory?.trim() ?? "";
  if (history !== "") {
    return `[Thread history - for context]\n${neutralise(history)}`;
  }
  const starter = turnMessages(context).find((message) => (message.threadStarter?.trim() ?? "") !== "")?.threadStarter;
  return starter === undefined ? undefined : `[Thread starter - for context]\n${neutralise(starter.trim())}`;
}

/** What stood in the thread before; only for a new session, since an old one has it in its transcript. */
export const threadNotes: BodyStage = {
  name: "threadNotes",
  source: "the channel's thread",
  apply: (draft, context) => (context.isNewSession ? prepend(draft, note(context)) : draft),
};
