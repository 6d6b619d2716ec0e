import { createHash } from "node:crypto";
import type { RawFile } from "@discordjs/rest";
import type { APIMessage, RESTPostAPIChannelMessageJSONBody, APIChannel } from "discord-api-types/v10";
import {
  fileNameOf,
  type MediaItem,
  type OutboundFiles,
  type OutboundPart,
  type Peer,
  type ReplyButton,
  type SendOptions,
  type SendResult,
} from "openclaw/plugin-sdk";
import { BUTTON_LIMITS, BUTTONS_PER_ROW, ROWS } from "./button-limits.ts";
import { isForgotten, isRefused, mayNotQuote, outcomeOf, isGone, UNKNOWN_CHANNEL } from "./failures.ts";
import { EPHEMERAL, type DeferredReply } from "./deferred-reply.ts";
import type { Bot } from "./bot.ts";

/** docs.discord.com/developers/resources/message#message-object-message-flags */
const SUPPRESS_EMBEDS = 1 << 2;
const SUPPRESS_NOTIFICATIONS = 1 << 12;

type Body = Pick<RESTPostAPIChannelMessageJSONBody, "content" | "allowed_mentions" | "flags" | "components">;

/** A key as the 25 characters of a nonce. For some minutes, Discord answers a second send with the first one's message. */
export const nonceOf = (idempotencyKey: string): string =>
  createHash("sha256").update(idempotencyKey).digest("base64url").slice(0, 25);

/** The model's text notifies nobody. */
export const NO_MENTIONS = { parse: [], replied_user: true };

/** Makes a call that changes something in one chat. Never rejects. */
export async function changeAt(
  to: Peer,
  bot: Bot,
  change: (target: string) => Promise<SendResult>,
): Promise<SendResult> {
  const target = await targetOf(to, bot).catch(outcomeOf);
  // A chat that could not be opened got nothing, so a retry is safe.
  if (typeof target !== "string") return target.kind === "unknown" ? { ...target, kind: "retry" } : target;
  const result = await change(target).catch(outcomeOf);
  if (result.kind !== "refused" || to.thread !== undefined) return result;
  const right = await bot.directs.reopen(to.chat.id, target);
  return right === undefined ? result : change(right).catch(outcomeOf);
}

/** Sends a message. The answer to a command of the menu takes the place of "thinking…" below that command. Never rejects. */
export async function send(to: Peer, part: OutboundPart, options: SendOptions, bot: Bot): Promise<SendResult> {
  const files: RawFile[] = [];
  for (const item of part.kind === "media" ? outboundFiles(part) : []) {
    const opened = await open(item, bot);
    if (opened.kind === "refused") return opened;
    files.push(opened.file);
  }
  const text = part.kind === "text" ? part : part.caption;
  return sendOne(to, { body: bodyOf(text?.body, options, bot), files }, { options, bot });
}

async function sendOne(
  to: Peer,
  content: Content,
  { options, bot }: { options: SendOptions; bot: Bot },
): Promise<SendResult> {
  return changeAt(to, bot, async (target) => {
    const reply = await deferredReplyFor(target, options, bot);
    const filled = reply && (await fill(reply, { ...content, options }, bot));
    const message = filled ?? (await post(target, { ...content, options }, bot));
    bot.known.own.set(message.id, true);
    return { kind: "sent", messageId: message.id };
  });
}

interface Content {
  readonly body: Body;
  readonly files: RawFile[];
}

async function post(target: string, what: Content & { options: SendOptions }, bot: Bot): Promise<APIMessage> {
  const { replyTo, idempotencyKey } = what.options;
  const body = {
    ...what.body,
    nonce: nonceOf(idempotencyKey),
    enforce_nonce: true,
  };
  const ask = async (more: Pick<RESTPostAPIChannelMessageJSONBody, "message_reference">): Promise<APIMessage> =>
    bot.api.ask("POST", `/channels/${target}/messages`, { body: { ...body, ...more }, files: what.files });
  const quote = isSnowflake(replyTo) ? { message_reference: { message_id: replyTo, fail_if_not_exists: false } } : {};
  const message = await ask(quote).catch((error: unknown) => {
    if (replyTo === undefined || !mayNotQuote(error)) throw error;
    return ask({});
  });
  bot.nonces.set(body.nonce, message.id);
  return message;
}

/** A model may write anything as the id of the message that it answers, and Discord refuses a message with a wrong one. */
const isSnowflake = (id: string | undefined): id is string => id !== undefined && /^\d{15,20}$/.test(id);

type Answering = Pick<SendOptions, "answers" | "idempotencyKey">;

/**
 * The reply of the command that a send answers, in the chat of that command. One send fills a reply, and may fill it again; a private
 * reply takes the other sends too, as messages of its own.
 */
async function deferredReplyFor(
  target: string,
  { answers, idempotencyKey }: Answering,
  { deferred }: Bot,
): Promise<DeferredReply | undefined> {
  const reply = answers === undefined ? undefined : deferred.get(answers);
  if (reply?.channel !== target) return undefined;
  if ((reply.filledBy ?? idempotencyKey) !== idempotencyKey && !reply.isPrivate) return undefined;
  reply.filledBy ??= idempotencyKey;
  return (await reply.open()) ? reply : undefined;
}

/** Whether a send filled a deferred reply. */
export const hasFilled = (target: string, key: string, { deferred }: Bot): boolean =>
  [...deferred.values()].some(({ channel, filledBy, isTooOld }) => channel === target && filledBy === key && !isTooOld);

/** The path of a private message of the bot, undefined for one in a channel. */
export const privateRoute = (messageId: string, { deferred }: Bot): `/webhooks/${string}` | undefined =>
  [...deferred.values()].flatMap((reply) => reply.routeOf(messageId) ?? [])[0];

/**
 * The message of a send that is a further message of a private answer. Undefined for other sends, and before the
 * message is known.
 */
export function privateMessage(key: string, { deferred }: Bot): string | undefined {
  const reply = [...deferred.values()].find(({ filledBy, messages }) => filledBy !== key && messages.has(key));
  return reply?.messages.get(key);
}

/** Undefined when Discord refuses: the reply is dropped then, and the answer becomes its own message. */
async function fill(
  reply: DeferredReply,
  { body, files, options: { answers = "", idempotencyKey: key } }: Content & { options: Answering },
  bot: Bot,
): Promise<APIMessage | undefined> {
  try {
    if (!reply.isPrivate) return await bot.api.ask<APIMessage>("PATCH", reply.route, { body, files });
    reply.messages.set(key, reply.messages.get(key) ?? "");
    const message = await (reply.filledBy === key
      ? bot.api.ask<APIMessage>("PATCH", reply.route, { body, files })
      : bot.api.ask<APIMessage>("POST", reply.more, {
          body: { ...body, flags: (body.flags ?? 0) | EPHEMERAL },
          files,
          // Without `wait`, Discord's answer names no message.
          query: { wait: "true" },
        }));
    reply.messages.set(key, message.id);
    return message;
  } catch (error) {
    if (!isRefused(error)) throw error;
    bot.deferred.delete(answers);
    if (reply.filledBy !== key) return undefined;
    if (!isForgotten(error)) await reply.remove();
    return undefined;
  }
}

function bodyOf(content: string | undefined, options: Partial<SendOptions>, { config }: Bot): Body {
  const { silent, buttons } = options;
  const flags = (config.suppressEmbeds ? SUPPRESS_EMBEDS : 0) | (silent === true ? SUPPRESS_NOTIFICATIONS : 0);
  return {
    allowed_mentions: NO_MENTIONS,
    ...(content !== undefined && { content }),
    ...(flags !== 0 && { flags }),
    ...(buttons && { components: rowsOf(buttons) }),
  };
}

/** Omits buttons whose command is too long for Discord or a duplicate: people can type the command. */
export function rowsOf(buttons: readonly ReplyButton[]): NonNullable<Body["components"]> {
  const commands = new Set<string>();
  const keys = buttons.flatMap(({ label, command }) => {
    if (command.length > BUTTON_LIMITS.command || commands.has(command)) return [];
    commands.add(command);
    return [{ type: 2 as const, style: 2 as const, label: label.slice(0, BUTTON_LIMITS.label), custom_id: command }];
  });
  const rows = Math.min(ROWS, Math.ceil(keys.length / BUTTONS_PER_ROW));
  return Array.from({ length: rows }, (_, row) => ({
    type: 1 as const,
    components: keys.slice(row * BUTTONS_PER_ROW, (row + 1) * BUTTONS_PER_ROW),
  }));
}

type Opened = { readonly kind: "open"; readonly file: RawFile } | Extract<SendResult, { kind: "refused" }>;

async function open(item: MediaItem, { host }: Bot): Promise<Opened> {
  try {
    const data = Buffer.from(await host.openMedia(item));
    const type = item.mime === undefined ? {} : { contentType: item.mime };
    return { kind: "open", file: { name: fileNameOf(item), data, ...type } };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: "refused", reason: `${item.name ?? "the file"} cannot be read: ${reason}` };
  }
}

export const outboundFiles = ({ media, more = [] }: OutboundFiles): readonly MediaItem[] => [media, ...more];

/** The id of a peer's channel or thread. Opens direct chats. Throws the errors of the API. */
export async function targetOf({ thread, chat }: Peer, bot: Bot): Promise<string> {
  if (thread !== undefined) return thread;
  return chat.kind === "direct" ? bot.directs.channelOf(chat.id) : channelOf(chat.id, bot);
}

/** An operator may name a person by the bare id: ids of people and channels look alike, and only Discord knows the kind. */
async function channelOf(id: string, bot: Bot): Promise<string> {
  const { api, places, directs } = bot;
  if (places.has(id)) return id;
  const direct = directs.known(id);
  if (direct !== undefined) return direct;
  try {
    places.note(await api.ask<APIChannel>("GET", `/channels/${id}`));
    return id;
  } catch (error) {
    if (isGone(error, UNKNOWN_CHANNEL)) return directOr(id, bot);
    // The channel exists; the call itself shows the bot's rights in it.
    if (isRefused(error)) return id;
    throw error;
  }
}

/** An id that is no person either is treated as a channel. */
async function directOr(id: string, { directs }: Bot): Promise<string> {
  try {
    return await directs.channelOf(id);
  } catch (error) {
    if (isRefused(error)) return id;
    throw error;
  }
}
