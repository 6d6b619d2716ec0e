import type { Method } from "./slack-streaming.ts";
import { Refusal } from "./slack-world.ts";

/**
 * A thread from its beginning, page by page; its first message comes with every page. An answer alone stands for itself.
 * docs.slack.dev/reference/methods/conversations.replies
 */
export const replies: Method = (slack, { channel, ts, include_all_metadata: metadata, cursor = "0", ...span }) => {
  const parent = slack.messages.find((each) => each.channel === channel && each.ts === ts);
  const isBehind = slack.hides > 0;
  if (isBehind) slack.hides -= 1;
  if (!parent || isBehind) throw new Refusal("thread_not_found");
  const { oldest = "0", latest = "Infinity", inclusive, limit = slack.page } = span;
  const isIn = (at: number) =>
    (at > Number(oldest) && at < Number(latest)) || (inclusive === "true" && [oldest, latest].map(Number).includes(at));
  const all = slack.messages.filter(
    (each) => each.channel === channel && each.thread_ts === ts && isIn(Number(each.ts)),
  );
  const from = Number(cursor);
  const end = from + Math.min(slack.page, Number(limit));
  const messages = [parent, ...all.slice(from, end)].map((each) => slack.shape(each, metadata === "true"));
  const hasMore = end < all.length;
  return { messages, has_more: hasMore, response_metadata: { next_cursor: hasMore ? String(end) : "" } };
};
