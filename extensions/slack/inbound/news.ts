import type { ChatNews, InboundMessage, Sender } from "openclaw/plugin-sdk";
import type { DeletedEvent, MessageEvent, PinEvent, SlackEvent } from "../events.ts";
import { peerOf } from "./place.ts";
import { threadOf, toMillis } from "./message-parts.ts";
import type { ReadContext } from "./read-context.ts";
import { isOwn } from "./threads.ts";

const JOINED = new Set(["channel_join", "group_join"]);
const LEFT = new Set(["channel_leave", "group_leave"]);
const RENAMED = new Set(["channel_name", "group_name"]);

/** Whether an event reports something that happened in a channel, rather than a message. */
export const isNews = (event: SlackEvent): event is DeletedEvent | PinEvent | MessageEvent =>
  "deleted_ts" in event || "channel_id" in event || ("ts" in event && isNotice(event.subtype));

const isNotice = (subtype: string | null | undefined): boolean =>
  [JOINED, LEFT, RENAMED].some((kinds) => kinds.has(subtype ?? ""));

/** News in an event. Undefined when the bot itself did it, or when the person who did it is unknown. */
export async function readNews(
  event: DeletedEvent | PinEvent | MessageEvent,
  teamId: string,
  context: ReadContext,
): Promise<InboundMessage | undefined> {
  const told = toldBy(event, context);
  if (told === undefined || told.user === context.self.userId) return undefined;
  const { channel, at, user, thread, ...more } = told;
  const [from, sender, news] = await Promise.all([
    peerOf(channel, thread, context),
    context.people.sender(user),
    more.news(async (id) => nameOf(await context.people.sender(id))),
  ]);
  return {
    id: at,
    eventKey: `n:${channel}:${news.kind}:${news.messageId ?? ""}:${at}`,
    from,
    sender,
    text: "",
    media: [],
    mentionsBot: from.chat.kind === "direct",
    event: "news",
    news,
    teamId,
    receivedAt: context.now(),
    sentAt: toMillis(at),
  };
}

interface Told {
  readonly channel: string;
  readonly thread?: string;
  readonly at: string;
  readonly user: string;
  news(nameOf: (id: string) => Promise<string>): Promise<ChatNews>;
}

const nameOf = ({ name, id }: Sender): string => name ?? id;

function toldBy(event: DeletedEvent | PinEvent | MessageEvent, context: ReadContext): Told | undefined {
  if ("deleted_ts" in event) return deletion(event, context);
  return "channel_id" in event ? pinning(event) : notice(event);
}

function deletion(
  { channel, deleted_ts: messageId, previous_message: before, ts }: DeletedEvent,
  context: ReadContext,
) {
  const { user } = before ?? {};
  if (!before || user == null || isOwn(before, context.self)) return undefined;
  const thread = threadOf({ ts: messageId, thread_ts: before.thread_ts });
  const news = async (): Promise<ChatNews> => ({ kind: "deleted", messageId });
  return { channel, at: ts, user, news, ...(thread !== undefined && { thread }) };
}

function pinning({ channel_id: channel, type, user, event_ts: at, item }: PinEvent): Told {
  const thread = threadOf(item.message);
  const kind = type === "pin_added" ? "pinned" : "unpinned";
  const news = async (): Promise<ChatNews> => ({ kind, messageId: item.message.ts });
  return { channel, at, user, news, ...(thread !== undefined && { thread }) };
}

function notice({ channel, ts: at, subtype, user, inviter, name }: MessageEvent): Told | undefined {
  if (user == null) return undefined;
  const where = { channel, at };
  if (RENAMED.has(subtype ?? ""))
    return { ...where, user, news: async () => ({ kind: "renamed", subject: name ?? "" }) };
  if (LEFT.has(subtype ?? "")) return { ...where, user, news: async () => ({ kind: "left" }) };
  if (inviter == null || inviter === user) return { ...where, user, news: async () => ({ kind: "joined" }) };
  return { ...where, user: inviter, news: async (nameOf) => ({ kind: "joined", subject: await nameOf(user) }) };
}
