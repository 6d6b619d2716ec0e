import type { View } from "../inbound/view.ts";

const threads: View["threads"] = {
  read: async () => undefined,
  isFirstSight: () => true,
  hasBot: async () => false,
  join: () => undefined,
  wrote: () => undefined,
  ofOwn: async () => undefined,
  inherits: () => false,
  before: async () => [],
};

/** A view for which Slack is asked nothing. */
export const UNASKED: Pick<View, "threads" | "mentions" | "elsewhere"> = {
  threads,
  elsewhere: { homeFor: async () => undefined },
  mentions: { whole: async (mention) => mention, isLate: async () => false },
};
