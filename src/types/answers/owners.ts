import { z } from "zod";

/** An entry of `commands.ownerAllowFrom`. */
const owner = z.looseObject({
  /** The entry as it is in the config: an id, or `channel:id`. */
  entry: z.string(),
  /** Unset for an entry that counts on every channel. */
  channel: z.string().optional(),
  senderId: z.string(),
});

/** The answers of `owners.*`. */
export const ownerAnswers = {
  list: z.looseObject({
    owners: z.array(owner),
    /** Accounts of people to which channels are linked, and which are no owners yet: the person who linked one writes from it. */
    linked: z.array(
      z.looseObject({
        channel: z.string(),
        channelLabel: z.string(),
        accountId: z.string(),
        senderId: z.string(),
        name: z.string(),
      }),
    ),
  }),
  changed: z.looseObject({ ok: z.boolean(), owners: z.array(owner) }),
};
