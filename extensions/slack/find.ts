import type { OutboundPart, Peer, SendOptions, SendResult } from "openclaw/plugin-sdk";
import type { SlackMessage } from "./events.ts";
import { reasonOf } from "./failures.ts";
import type { Room } from "./room.ts";
import { MARK, threadFor } from "./send.ts";
import { isOwn, messagesOf } from "./threads.ts";
import { findFile } from "./upload.ts";

/** Messages of one page, and pages that are read at most. */
const PAGE = 200;
const PAGES = 3;

type Key = Pick<SendOptions, "idempotencyKey" | "replyTo">;

/** Looks for a send with unknown end in the chat's own history. Never rejects. */
export async function find(room: Room, to: Peer, part: OutboundPart, options: Key): Promise<SendResult> {
  try {
    if (part.kind === "media") return await findFile(room, to, options.idempotencyKey);
    return await findText(room, to, options);
  } catch (error) {
    return { kind: "unknown", reason: reasonOf(error) };
  }
}

async function findText(room: Room, to: Peer, options: Key): Promise<SendResult> {
  const self = room.self();
  if (!self) return { kind: "unknown", reason: "Slack has not told yet who the bot is" };
  const { messages, isWhole } = await recent(room, await room.channelIds.of(to), threadFor(to, options.replyTo));
  const mine = messages.filter((message) => isOwn(message, self));
  const found = mine.find((message) => keyOf(message) === options.idempotencyKey);
  if (found) return { kind: "sent", messageId: found.ts };
  // One of ours without its key could be the one: the app may lack the scope that shows keys.
  const isTold = mine.every((message) => keyOf(message) !== undefined || message.files != null);
  const kind = isTold && isWhole ? "retry" : "unknown";
  return { kind, reason: "Slack's history does not have the message" };
}

const keyOf = ({ metadata }: SlackMessage): unknown =>
  metadata?.event_type === MARK ? metadata.event_payload["key"] : undefined;

/** The newest messages of a chat, or of a thread in it. `isWhole`: what was sent of late is certainly among them. */
async function recent(
  { slack }: Room,
  channel: string,
  thread: string | undefined,
): Promise<{ messages: readonly SlackMessage[]; isWhole: boolean }> {
  const { history, replies } = slack.calls.conversations;
  const messages: SlackMessage[] = [];
  let cursor = "";
  for (let page = 0; page < PAGES; page++) {
    const request = { channel, limit: PAGE, include_all_metadata: true, ...(cursor !== "" && { cursor }) };
    const answer = await (thread === undefined ? history(request) : replies({ ...request, ts: thread }));
    messages.push(...messagesOf(answer.messages));
    cursor = answer.response_metadata?.next_cursor ?? "";
    if (cursor === "") return { messages, isWhole: true };
    // The newest come first here; those of a thread come last.
    if (thread === undefined && isLongAgo(messages.at(-1))) return { messages, isWhole: true };
  }
  return { messages, isWhole: false };
}

/** Nobody asks for a send of more than a day ago. */
const isLongAgo = (message: SlackMessage | undefined): boolean =>
  message !== undefined && Number(message.ts) * 1000 < Date.now() - 24 * 60 * 60_000;
