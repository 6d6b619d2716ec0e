import type { BodyStage } from "../draft.ts";

const DIRECTIVES = ["low", "medium", "high", "xhigh"] as const;

/**
 * Takes a thinking level off the front of the user's own words. A level that is the whole message is left alone:
 * it answers a question more often than it asks for thought.
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
