import type { OutboundPart, Peer, SendOptions, SendResult } from "openclaw/plugin-sdk";
import type { SlackMessage } from "../events.ts";
import { reasonOf, errorCodeOf } from "../transport/failures.ts";
import { keyIn } from "./metadata.ts";
import type { AccountContext } from "./account-context.ts";
import { isTs, NO_THREAD } from "./send.ts";
import { isOwn, messagesOf } from "../inbound/threads.ts";
import { findFile } from "./upload.ts";

/** Messages per page, and the maximum number of pages. */
const PAGE = 200;
const PAGES = 3;
/** No send older than this is ever looked for. */
const LOOKBACK_SECONDS = 2 * 24 * 60 * 60;

type SendIdentity = Pick<SendOptions, "idempotencyKey" | "replyTo">;

/** Looks in the chat's history for a send whose outcome is unknown. Never rejects. */
export async function find(
  account: AccountContext,
  to: Peer,
  part: OutboundPart,
  options: SendIdentity,
): Promise<SendResult> {
  try {
    if (part.kind === "media") return await findFile(account, to, options.idempotencyKey);
    return await findText(account, to, options);
  } catch (error) {
    return { kind: "unknown", reason: reasonOf(error) };
  }
}

async function findText(
  account: AccountContext,
  to: Peer,
  { idempotencyKey, replyTo }: SendIdentity,
): Promise<SendResult> {
  const self = account.self();
  if (!self) return { kind: "unknown", reason: "the identity of the bot is not known yet" };
  const channel = await account.channelIds.of(to);
  const places = await Promise.all(placesOf(to, replyTo).map((thread) => recentMessages(account, channel, thread)));
  const isWhole = places.every((place) => place.isWhole);
  const mine = places.flatMap(({ messages }) => messages).filter((message) => isOwn(message, self));
  const found = mine.find(({ metadata }) => keyIn(metadata) === idempotencyKey);
  if (found) return { kind: "sent", messageId: found.ts };
  // A message of ours without a key may be the wanted one: Slack hides keys from an app that lacks a scope.
  const allHaveKeys = mine.every(({ metadata, files }) => keyIn(metadata) !== undefined || files != null);
  const kind = allHaveKeys && isWhole ? "retry" : "unknown";
  return { kind, reason: "Slack's history does not have the message" };
}

interface History {
  readonly messages: readonly SlackMessage[];
  /** True when all messages since `oldest` are included. */
  readonly isWhole: boolean;
}

/** Where the send may be: in its thread, or in the main stream. Slack may have refused to put it below a message. */
function placesOf(to: Peer, replyTo: string | undefined): readonly (string | undefined)[] {
  if (to.thread !== undefined) return [to.thread];
  return isTs(replyTo) ? [replyTo, undefined] : [undefined];
}

/** The messages of the last two days in a chat's main stream or in one of its threads. */
async function recentMessages(account: AccountContext, channel: string, thread: string | undefined): Promise<History> {
  try {
    return await readBack(account, channel, thread);
  } catch (error) {
    if (thread === undefined || !NO_THREAD.has(errorCodeOf(error) ?? "")) throw error;
    return { messages: [], isWhole: true };
  }
}

async function readBack({ slack }: AccountContext, channel: string, thread: string | undefined): Promise<History> {
  const { history, replies } = slack.calls.conversations;
  const oldest = String(Date.now() / 1000 - LOOKBACK_SECONDS);
  const messages: SlackMessage[] = [];
  let cursor = "";
  for (let page = 0; page < PAGES; page++) {
    const request = { channel, oldest, limit: PAGE, include_all_metadata: true, ...(cursor !== "" && { cursor }) };
    const answer = await (thread === undefined ? history(request) : replies({ ...request, ts: thread }));
    messages.push(...messagesOf(answer.messages));
    cursor = answer.response_metadata?.next_cursor ?? "";
    if (cursor === "") return { messages, isWhole: true };
  }
  return { messages, isWhole: false };
}
