import type { BodyStage } from "../draft.ts";

const DIRECTIVES = ["low", "medium", "high", "xhigh"] as const;

/**
 * Removes a thinking level from the start of the user's text. A level that is the whole message stays: it is more often the
 * answer to a question than a request to think.
 */
export const thinkLevel: BodyStage = {
  name: "thinkLevel",
  source: "the message",
  apply(draft) {
    const found = /^\s*(\S+)\s+(?=\S)/.exec(draft.user);
    const thinking = DIRECTIVES.find((level) => level === found?.[1]);
    if (found === null || thinking === undefined) {
      return draft;
    }
    return { ...draft, user: draft.user.slice(found[0].length), thinking };
  },
};
