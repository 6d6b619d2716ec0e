import { prepend, type BodyStage } from "../draft.ts";

const ABORT_NOTE = "Note: The previous agent run was aborted by the user. Resume carefully or ask for clarification.";

/** Mentions a run that the user stopped. The caller clears the flag afterwards, so that it is mentioned once. */
export const abortHint: BodyStage = {
  name: "abortHint",
  source: "the run before",
  apply: (draft, context) => (context.abortedLastRun ? prepend(draft, ABORT_NOTE) : draft),
};
