import { createHash, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { mediaKindOf } from "../../../../types/chat/media-kind.ts";
import type { InboundMessage, MediaItem, Peer, QuotedMessage, Sender } from "../../../../types/chat/message.ts";
import { backoff } from "../../../../utils/backoff.ts";
import type { Fields } from "../../../../utils/fields.ts";
import { pause } from "../../../../utils/pause.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import type { CommandTarget } from "../../../ports.ts";
import type { PluginScope } from "../../scope.ts";
import type { ConnectedAccount } from "../../accounts.ts";
import type { TypingCallbacks } from "../../dispatcher.ts";
import { followMessage } from "./follow-reply.ts";
import { accountId, channelId } from "../../../../types/ids.ts";
import { defined } from "../../../../utils/defined.ts";
import { numberIn, textIn, textsIn } from "../../foreign.ts";

interface DispatchOptions {
  readonly typing?: TypingCallbacks | undefined;
  /** Options with the callbacks that follow the run. */
  readonly replyOptions?: Fields | undefined;
}

/**
 * Passes a message of the field's form to the gateway. Resolves when it is durable. Many plugins have acknowledged it by
 * then, so a message that cannot be stored is tried again until the account stops; only then it rejects.
 */
export async function dispatchInbound(
  scope: PluginScope,
  context: Fields,
  { typing, replyOptions = {} }: DispatchOptions,
): Promise<void> {
  const channel = firstText(context, ["OriginatingChannel", "Provider", "Surface"]);
  const account = scope.accounts.find(channel, firstText(context, ["AccountId"]));
  const options = targetOf(scope, context, account.channel);
  const message = { ...messageOf(context, account, scope.ports.clock.now()), ...(options && { options }) };
  const media = await Promise.all(filesIn(context).map((file) => itemOf(scope, file)));
  // The turn may begin before the message is reported as durable.
  if (typing) {
    account.typing.set(message.from.chat.id, typing);
    account.showTyping();
  }
  const stored = store(scope, account, { ...message, media: media.filter((item) => item !== undefined) });
  followMessage(scope, { account, eventKey: message.eventKey, stored }, replyOptions);
  await stored;
}

/** A command of a button or menu names the conversation that it is for; its own chat need not exist. */
function targetOf(scope: PluginScope, context: Fields, channel: string): CommandTarget | undefined {
  const target = context["CommandSource"] === "native" ? firstText(context, ["CommandTargetSessionKey"]) : undefined;
  return target === undefined ? undefined : scope.ports.channels.commandTarget(channel, target);
}

async function store(scope: PluginScope, { host }: ConnectedAccount, message: InboundMessage): Promise<void> {
  const signal = AbortSignal.any([host.signal, scope.signal]);
  for (let failures = 0; ; failures++) {
    try {
      return await scope.outside(() => host.receive([message]));
    } catch (error) {
      if (signal.aborted) throw error;
      const retryInMs = backoff(failures);
      host.report({ kind: "trouble", reason: errorText(error), retryInMs });
      await pause(retryInMs, { clock: scope.ports.clock, signal });
      if (signal.aborted) throw error;
    }
  }
}

/** A file of this machine goes into the media store, since the plugin may remove it; an address is fetched with the turn. */
async function itemOf(scope: PluginScope, { path, url, mime }: NamedFile): Promise<MediaItem | undefined> {
  const local = path ?? (url !== undefined && !/^https?:/.test(url) ? url : undefined);
  if (local === undefined) return { kind: mediaKindOf(mime ?? ""), source: { at: "platform", ref: url ?? "" } };
  try {
    const file = local.startsWith("file:") ? fileURLToPath(local) : local;
    const facts = { name: basename(file), ...(mime !== undefined && { mime }) };
    const kept = await scope.ports.channels.saveMedia(await readFile(file), facts);
    return {
      kind: mediaKindOf(kept.mime),
      mime: kept.mime,
      bytes: kept.bytes,
      name: facts.name,
      source: { at: "store", id: kept.id },
    };
  } catch (error) {
    scope.log.warn("file of a message cannot be read", { file: local, error });
    return undefined;
  }
}

/** Seconds since 1970 are below this number, milliseconds above it. */
const FIRST_MILLISECONDS = 100_000_000_000;

/** The message of a `MsgContext`, without its files. */
function messageOf(context: Fields, { channel, account }: ConnectedAccount, now: number): InboundMessage {
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
interface NamedFile {
  readonly path?: string | undefined;
  readonly url?: string | undefined;
  readonly mime?: string | undefined;
}

function filesIn(context: Fields): readonly NamedFile[] {
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
function firstText(context: Fields, keys: readonly string[]): string | undefined {
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
