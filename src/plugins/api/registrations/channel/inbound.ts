import { createHash, randomUUID } from "node:crypto";
import type { InboundMessage, Peer, QuotedMessage, Sender } from "../../../../types/chat/message.ts";
import { accountId, channelId } from "../../../../types/ids.ts";
import { defined } from "../../../../utils/defined.ts";
import type { Fields } from "../../../../utils/fields.ts";
import { numberIn, textIn, textsIn } from "../../foreign.ts";
import type { ConnectedAccount } from "./accounts.ts";

/** Seconds since 1970 are below this number, milliseconds above it. */
const FIRST_MILLISECONDS = 100_000_000_000;

/** The message of a `MsgContext`, without its files. */
export function messageOf(context: Fields, { channel, account }: ConnectedAccount, now: number): InboundMessage {
  const from = peerOf(context, { channel: channelId(channel), account: accountId(account) });
  const sender = senderOf(context);
  const text = firstText(context, ["RawBody", "CommandBody", "BodyForAgent", "Body"]) ?? "";
  const sentAt = millisecondsOf(numberIn(context, "Timestamp"));
  const id = firstText(context, ["MessageSidFull", "MessageSid"]) ?? madeId([from.chat.id, sender.id, text], sentAt);
  const replyTo = quoteOf(context);
  const untrusted = [
    ...(textsIn(context, "UntrustedContext") ?? []),
    ...(textsIn(context, "ChannelPromptContext") ?? []),
  ];
  return {
    id,
    eventKey: `${from.chat.id}:${id}`,
    from,
    sender,
    text,
    media: [],
    mentionsBot: from.chat.kind === "direct" || context["WasMentioned"] === true,
    receivedAt: now,
    ...defined({ replyTo, sentAt }),
    ...(untrusted.length > 0 && { untrusted }),
    ...(context["CommandSource"] === "native" && { event: "command" as const }),
  };
}

/** The chat is where the answer goes: `OriginatingTo`, else `To`. */
function peerOf(context: Fields, place: Pick<Peer, "channel" | "account">): Peer {
  const id = firstText(context, ["OriginatingTo", "To", "From"]) ?? "";
  if (id === "") throw new TypeError("a message needs the text OriginatingTo or To, the chat that it came from");
  const type = textIn(context, "ChatType");
  const isGroup = type === "group" || type === "channel" || type === "thread";
  const title = isGroup ? firstText(context, ["GroupSubject", "ConversationLabel"]) : undefined;
  const thread = context["MessageThreadId"];
  return {
    ...place,
    chat: { kind: isGroup ? "group" : "direct", id, ...defined({ title }) },
    ...((typeof thread === "string" || typeof thread === "number") && { thread: String(thread) }),
  };
}

function senderOf(context: Fields): Sender {
  const facts = {
    name: firstText(context, ["SenderName"]),
    username: firstText(context, ["SenderUsername"]),
    e164: firstText(context, ["SenderE164"]),
  };
  const id = firstText(context, ["SenderId", "From"]);
  if (id === undefined) throw new TypeError("a message needs the text SenderId or From");
  return { id, ...defined(facts), ...(context["SenderIsBot"] === true && { isBot: true }) };
}

function quoteOf(context: Fields): QuotedMessage | undefined {
  const id = firstText(context, ["ReplyToIdFull", "ReplyToId"]);
  const text = firstText(context, ["ReplyToQuoteText", "ReplyToBody"]);
  if (id === undefined && text === undefined) return undefined;
  const fromBot = context["ReplyToIsBot"] === true ? true : undefined;
  return { id: id ?? "", ...defined({ text, sender: firstText(context, ["ReplyToSender"]), fromBot }) };
}

/** A file that a message names: a path of this machine, or an address. */
export interface NamedFile {
  readonly path?: string | undefined;
  readonly url?: string | undefined;
  readonly mime?: string | undefined;
}

export function filesIn(context: Fields): readonly NamedFile[] {
  const listOf = (many: string, one: string): readonly (string | undefined)[] =>
    textsIn(context, many) ?? [firstText(context, [one])];
  const paths = listOf("MediaPaths", "MediaPath");
  const urls = listOf("MediaUrls", "MediaUrl");
  const types = listOf("MediaTypes", "MediaType");
  return Array.from({ length: Math.max(paths.length, urls.length) }, (_, at) => ({
    path: paths[at],
    url: urls[at],
    mime: types[at],
  })).filter(({ path, url }) => (path ?? url) !== undefined);
}

/** Undefined for an empty text. */
export function firstText(context: Fields, keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const text = textIn(context, key);
    if (text !== undefined && text.trim() !== "") return text;
  }
  return undefined;
}

const millisecondsOf = (at: number | undefined): number | undefined =>
  at !== undefined && at < FIRST_MILLISECONDS ? at * 1000 : at;

/** A message without an id is recognised by its content and time; without a time nothing says whether it came before. */
function madeId(parts: readonly string[], sentAt: number | undefined): string {
  if (sentAt === undefined) return randomUUID();
  return createHash("sha256")
    .update(JSON.stringify([...parts, sentAt]))
    .digest("hex")
    .slice(0, 32);
}
