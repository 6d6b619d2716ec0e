import { prepend, type BodyStage } from "../draft.ts";

const ABORT_NOTE = "Note: The previous agent run was aborted by the user. Resume carefully or ask for clarification.";

/** Tells of a run that the user stopped. The caller forgets the mark afterwards, so that it is told once. */
export const abortHint: BodyStage = {
  name: "abortHint",
  source: "the run before",
  apply: (draft, context) => (context.abortedLastRun ? prepend(draft, ABORT_NOTE) : draft),
};
