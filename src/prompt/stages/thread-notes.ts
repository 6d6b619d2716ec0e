import { prepend, threadLines, turnMessages, type BodyContext, type BodyStage } from "../draft.ts";
import { neutralise, oneLine } from "../untrusted.ts";

function note(context: BodyContext): string | undefined {
  const facts = turnMessages(context).flatMap((message) => message.context ?? []);
  const starter = facts.find(({ threadStarter = "" }) => threadStarter.trim() !== "")?.threadStarter?.trim();
  const lines = threadLines(context).map(oneLine);
  if (lines.length === 0)
    return starter === undefined ? undefined : `[Thread starter - for context]\n${neutralise(starter)}`;
  const first = starter === undefined ? [] : [`Thread starter: ${oneLine(starter)}`];
  return ["[Thread history - for context]", ...first, ...lines].join("\n");
}

/** The earlier messages of the thread. Only for a new session, since the transcript of an old one has them. */
export const threadNotes: BodyStage = {
  name: "threadNotes",
  source: "the channel's thread",
  apply: (draft, context) => (context.isNewSession ? prepend(draft, note(context)) : draft),
};
