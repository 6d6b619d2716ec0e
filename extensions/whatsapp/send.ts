import type { AnyMessageContent, MiscMessageGenerationOptions, WAMessageKey } from "@whiskeysockets/baileys";
import {
  type ChannelHost,
  type ChannelLink,
  type OutboundFiles,
  type OutboundText,
  type Peer,
  type Poll,
  type SendOptions,
  type SendResult,
  fileNameOf,
} from "openclaw/plugin-sdk";
import type { WhatsAppConfig } from "./config.ts";
import { type AccountConnection, codeOf } from "./link/connection.ts";
import { addressOf, isGroup, isOwnId, ownId, readMessageId } from "./jid.ts";
import { namesSomebody, withMentions } from "./inbound/mentions.ts";
import { type WaSocket, NoAnswer, type ServerAnswer } from "./link/port.ts";

/** How long a send waits for a reconnect. */
const READY_MS = 3000;
/** WhatsApp shows edits for 15 minutes after the message and drops later ones (faq.whatsapp.com, "edit messages"). */
const EDITABLE_MS = 14 * 60_000;

const NOT_CONNECTED: SendResult = { kind: "retry", reason: "WhatsApp is not connected" };

export interface Sending {
  readonly connection: AccountConnection;
  readonly config: WhatsAppConfig;
  readonly host: ChannelHost;
  /** Epoch milliseconds at which this connection, or one before, sent a message; undefined when it was days ago. */
  sentAt(messageId: string): number | undefined;
}

type Link = Pick<ChannelLink, "send" | "actions"> &
  Required<Pick<ChannelLink, "edit" | "remove" | "react" | "typing" | "endTyping">>;

/** The calls of a link that send. Never rejects. */
export function createSender(sending: Sending): Link {
  const { connection, host } = sending;

  /** Sends one message. The same seed gives the same id. */
  async function post(to: Peer, content: AnyMessageContent, seed: string, quote?: Quote): Promise<SendResult> {
    const socket = await connection.ready(READY_MS);
    if (!socket) return NOT_CONNECTED;
    const chat = addressOf(to.chat.id);
    const messageId = ownId(`${host.account}\n${chat}\n${seed}`);
    await markRead(sending, socket, to);
    const seconds = await connection.intake.timerOf(to.chat.id);
    const timer = seconds > 0 ? { ephemeralExpiration: seconds } : {};
    return attempt(messageId, () => socket.send(chat, content, { messageId, ...quote, ...timer }));
  }

  /** Changes an existing message. A repeat is harmless, so each call has a new id. */
  async function change(
    to: Peer,
    messageId: string,
    content: (key: WAMessageKey) => AnyMessageContent,
  ): Promise<SendResult> {
    const result = await post(to, content(keyOf(to, messageId)), `${messageId}\n${crypto.randomUUID()}`);
    return result.kind === "sent" ? { kind: "sent", messageId } : result;
  }

  return {
    async send(to, part, options) {
      if (!(await connection.ready(READY_MS))) return NOT_CONNECTED;
      const quote = quoteOf(connection, to, options);
      if (part.kind === "text") return post(to, await textContent(connection, part, to), options.idempotencyKey, quote);
      return sendFile(sending, to, part, {
        file: (content) => post(to, content, options.idempotencyKey, quote),
        caption: (text) => post(to, text, `${options.idempotencyKey}\ncaption`, quote),
      });
    },
    async edit(to, messageId, part) {
      if (!(await connection.ready(READY_MS))) return NOT_CONNECTED;
      const whyNot = whyNotEditable(sending, messageId);
      if (whyNot !== undefined) return { kind: "refused", reason: whyNot };
      const text = await textContent(connection, part, to);
      return change(to, messageId, (edit) => ({ ...text, edit }));
    },
    remove: (to, messageId) => change(to, messageId, (key) => ({ delete: key })),
    react: (to, messageId, emoji) => change(to, messageId, (key) => ({ react: { text: emoji ?? "", key } })),
    actions: { poll: (to, poll) => post(to, pollContent(poll), crypto.randomUUID()) },
    ...typingSigns(sending),
  };
}

/** "typing…", before which the chat is marked as read. */
function typingSigns(sending: Sending): Pick<Link, "typing" | "endTyping"> {
  const { connection, host } = sending;
  return {
    async typing(to) {
      const socket = await connection.ready(0);
      if (!socket) return;
      await markRead(sending, socket, to);
      await socket.composing(addressOf(to.chat.id)).catch((error: unknown) => {
        host.log.info("typing was not shown", { reason: String(error) });
      });
    },
    async endTyping(to) {
      const socket = await connection.ready(0);
      await socket?.paused(addressOf(to.chat.id)).catch((error: unknown) => {
        host.log.info("typing was not ended", { reason: String(error) });
      });
    },
  };
}

const pollContent = ({ question, options, isMulti }: Poll): AnyMessageContent => ({
  poll: { name: question, values: [...options], selectableCount: isMulti ? options.length : 1 },
});

/** Why a message cannot be edited: WhatsApp would silently drop the edit. Undefined when it can. */
function whyNotEditable({ sentAt }: Sending, messageId: string): string | undefined {
  if (!isOwnId(messageId)) return "it is not a message of ours";
  const at = sentAt(messageId);
  const isYoung = at !== undefined && Date.now() - at <= EDITABLE_MS;
  return isYoung ? undefined : "WhatsApp shows no edits of a message that old";
}

/** Marks a chat as read when the gateway answers in it, and not already when a message arrives. */
async function markRead({ connection, config, host }: Sending, socket: WaSocket, to: Peer): Promise<void> {
  const unread = connection.intake.takeUnread(to.chat.id);
  if (!config.sendReadReceipts || unread.length === 0) return;
  await socket.markRead([...unread]).catch((error: unknown) => {
    host.log.info("a chat was not marked as read", { reason: String(error) });
  });
}

type Quote = Pick<MiscMessageGenerationOptions, "quoted">;

function quoteOf(connection: AccountConnection, to: Peer, { replyTo }: SendOptions): Quote | undefined {
  if (replyTo === undefined) return undefined;
  const conversation = connection.intake.textOf(to.chat.id, replyTo) ?? "";
  return { quoted: { key: keyOf(to, replyTo), message: { conversation } } };
}

function keyOf(to: Peer, messageId: string): WAMessageKey {
  const { id, author } = readMessageId(messageId);
  const remoteJid = addressOf(to.chat.id);
  return { remoteJid, id, fromMe: author === undefined && isOwnId(id), ...(author && { participant: author }) };
}

/** Content of a text. In a group, an `@` with a member's number or LID becomes a mention, as in WhatsApp itself. */
async function textContent({ intake }: AccountConnection, part: OutboundText, to: Peer): Promise<TextContent> {
  const text = part.format === "whatsapp" ? part.body : part.plain;
  if (!isGroup(to.chat.id) || !namesSomebody(text)) return { text, linkPreview: null };
  const named = withMentions(text, await intake.membersOf(to.chat.id));
  if (named.mentions.length === 0) return { text, linkPreview: null };
  return { text: named.text, linkPreview: null, mentions: [...named.mentions] };
}

interface TextContent {
  readonly text: string;
  readonly linkPreview: null;
  readonly mentions?: string[];
}

interface Posts {
  file(content: AnyMessageContent): Promise<SendResult>;
  caption(content: TextContent): Promise<SendResult>;
}

/** Sends a file. A caption that WhatsApp does not allow below it is sent before it. */
async function sendFile(
  { host, connection }: Sending,
  to: Peer,
  part: OutboundFiles,
  posts: Posts,
): Promise<SendResult> {
  const text = part.caption && (await textContent(connection, part.caption, to));
  const { text: caption, mentions } = text ?? {};
  const below = { ...(caption !== undefined && { caption }), ...(mentions && { mentions }) };
  const opened = await fileContent(host, part, below);
  if (opened.kind === "refused") return opened;
  if (text && opened.isBare) {
    const sent = await posts.caption(text);
    if (sent.kind !== "sent") return sent;
  }
  return posts.file(opened.content);
}

/** Makes one call that sends a message. Never rejects. */
async function attempt(messageId: string, call: () => Promise<ServerAnswer>): Promise<SendResult> {
  try {
    const answer = await call();
    return answer.kind === "taken" ? { kind: "sent", messageId } : refusal(answer.error);
  } catch (error) {
    if (error instanceof NoAnswer) return { kind: "unknown", reason: error.message };
    return failureOf(error);
  }
}

/** The reasons for the server's codes (Baileys: `NACK_REASONS`, `SERVER_ERROR_CODES`). */
const REFUSALS: Readonly<Record<number, string>> = {
  401: "WhatsApp does not let this account write there",
  403: "WhatsApp does not let this account write there",
  404: "WhatsApp does not know this chat",
  420: "this number is not a member of the group",
  463: "WhatsApp lets this account begin no new chats for now",
};

function refusal(code: number): SendResult {
  const reason = REFUSALS[code];
  if (reason !== undefined) return { kind: "refused", reason: `${reason} (${code})` };
  if (code === 429) return { kind: "retry", reason: "WhatsApp asks to send less (429)", rateLimited: true };
  // 479: the keys of a device are out of date; the library fetches new ones.
  if (code === 479 || code >= 500) return { kind: "retry", reason: `WhatsApp could not take the message (${code})` };
  return { kind: "refused", reason: `WhatsApp does not take this message (${code})`, isUnfit: true };
}

/**
 * Result of a send for an error of the library. The library sends the message last, so an error occurred while it
 * requested devices, keys or an upload URL. Only a write that timed out may have succeeded.
 */
function failureOf(error: unknown): SendResult {
  const reason = error instanceof Error ? error.message : String(error);
  const code = isRefusal(error) ? error.data : codeOf(error);
  if (code === 408) return { kind: "unknown", reason: "no answer from WhatsApp in time" };
  if (code !== undefined && (code === 429 || REFUSALS[code] !== undefined)) return refusal(code);
  return { kind: "retry", reason: `WhatsApp could not take the message: ${reason}` };
}

/** The library puts the code of a refused request into `data`. */
const isRefusal = (error: unknown): error is { data: number } =>
  typeof error === "object" && error !== null && "data" in error && typeof error.data === "number";

/** A file as a message. `isBare`: it cannot have a caption. */
type FileContent =
  | { readonly kind: "file"; readonly content: AnyMessageContent; readonly isBare: boolean }
  | Extract<SendResult, { kind: "refused" }>;

/** The text below a file. */
interface Caption {
  readonly caption?: string;
  readonly mentions?: string[];
}

/** Reads a file from the store. Never rejects. */
async function fileContent(host: ChannelHost, part: OutboundFiles, caption: Caption): Promise<FileContent> {
  try {
    const bytes = await host.openMedia(part.media);
    return { kind: "file", ...contentOf(part, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), caption) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: "refused", reason: `${part.media.name ?? "the file"} cannot be read: ${reason}` };
  }
}

function contentOf(
  part: OutboundFiles,
  bytes: Buffer,
  caption: Caption,
): { content: AnyMessageContent; isBare: boolean } {
  const mimetype = part.media.mime ?? "application/octet-stream";
  if (isSound(part)) return { content: sound(part, bytes), isBare: true };
  if (isSticker(part)) return { content: { sticker: bytes, mimetype }, isBare: true };
  return { content: { ...pictureOrFile(part, bytes), ...caption }, isBare: false };
}

const isSound = ({ media, asVoice }: OutboundFiles): boolean =>
  (asVoice === true || media.kind === "audio" || media.kind === "voice") && media.mime?.startsWith("audio/") === true;

const isSticker = ({ media }: OutboundFiles): boolean => media.kind === "sticker" && media.mime === "image/webp";

/** WhatsApp only plays voice messages in Opus. */
function sound({ media, asVoice }: OutboundFiles, audio: Buffer): AnyMessageContent {
  const isOpus = /ogg|opus/.test(media.mime ?? "");
  const ptt = isOpus && (asVoice === true || media.kind === "voice");
  const seconds = media.durationSeconds === undefined ? {} : { seconds: Math.round(media.durationSeconds) };
  return { audio, ptt, mimetype: isOpus ? "audio/ogg; codecs=opus" : (media.mime ?? "audio/mpeg"), ...seconds };
}

const PICTURES = new Set(["image/jpeg", "image/png"]);
const FILMS = new Set(["video/mp4", "video/3gpp"]);

function pictureOrFile({ media }: OutboundFiles, bytes: Buffer): AnyMessageContent {
  const mimetype = media.mime ?? "application/octet-stream";
  if (PICTURES.has(mimetype)) return { image: bytes, mimetype };
  if (FILMS.has(mimetype)) return { video: bytes, mimetype };
  return { document: bytes, mimetype, fileName: fileNameOf(media) };
}
