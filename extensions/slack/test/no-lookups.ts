import type { ReadContext } from "../inbound/read-context.ts";

const threads: ReadContext["threads"] = {
  read: async () => undefined,
  firstSeen: (_channel, _ts, { ts }) => ts,
  claimsHistory: () => true,
  hasBot: async () => false,
  join: () => undefined,
  noteOwnMessage: () => undefined,
  threadOfOwn: async () => undefined,
  own: async () => [],
  claimsChannelHistory: () => false,
  before: async () => [],
};

/** A view for which Slack is asked nothing. */
export const NO_LOOKUPS: Pick<ReadContext, "threads" | "mentions" | "outsideCommands" | "until"> = {
  until: 0,
  threads,
  outsideCommands: {
    directChatFor: async () => undefined,
    privateChatFor: async () => undefined,
    heardFrom: () => undefined,
    refuse: () => undefined,
  },
  mentions: { withFiles: async (mention) => mention, hasLateFiles: async () => false },
};
