import {
  type AccountId,
  type ChatNews,
  type InboundMessage,
  type MediaItem,
  type Peer,
  type QuotedMessage,
  openingMentionEnd,
} from "openclaw/plugin-sdk";
import { SIGNAL, type SignalConfig } from "../config.ts";
import { mediaOf, originOf, quotedMediaOf } from "./media.ts";
import { addressOf, idOf, isSame, personOf, refText, type Person } from "../people.ts";
import type { DataMessage, Envelope, Quote, Reaction, Mention, Contact, LinkPreview } from "./schema.ts";

/** Facts about this account that the conversion of an envelope needs. */
export interface MessageView extends Readers {
  readonly account: AccountId;
  readonly config: Pick<SignalConfig, "selfChatMode" | "ignoreAttachments">;
  readonly now: number;
  /** The files of a message of this chat, if it is known. */
  filesOf(from: Peer, messageId: string): readonly MediaItem[];
}

/** A message with its envelope and author. */
interface Written {
  readonly envelope: Envelope;
  readonly author: Person;
  readonly data: DataMessage;
  /** The timestamp of the message that this one edits. */
  readonly replaces?: number;
}

/** The message in an envelope; undefined when it has nothing for an agent. */
export function readEnvelope(envelope: Envelope, view: MessageView): InboundMessage | undefined {
  const written = openEnvelope(envelope, view);
  if (!written) return undefined;
  const { reaction } = written.data;
  if (reaction) return reactionMessage(written, reaction, view);
  const news = newsOf(written, view);
  return news ? newsMessage(written, news, view) : textMessage(written, view);
}

function openEnvelope(envelope: Envelope, view: MessageView): Written | undefined {
  const author = personOf(envelope.sourceUuid, envelope.sourceNumber, envelope.source);
  if (addressOf(author) === undefined) return undefined;
  const written = isSame(author, view.self) ? noteToSelf(envelope, view) : openMessage(envelope);
  return written && { envelope, author, ...written };
}

type Content = Pick<Written, "data" | "replaces">;

function openMessage({ dataMessage, editMessage }: Pick<Envelope, "dataMessage" | "editMessage">): Content | undefined {
  if (editMessage) return { data: editMessage.dataMessage, replaces: editMessage.targetSentTimestamp };
  return dataMessage ? { data: dataMessage } : undefined;
}

/** A message that the owner wrote to themself on another device; undefined for our other own messages. */
function noteToSelf({ timestamp, syncMessage }: Envelope, { self, config }: MessageView): Content | undefined {
  const sent = syncMessage?.sentMessage;
  if (!sent || !config.selfChatMode) return undefined;
  const to = personOf(sent.destinationUuid, sent.destinationNumber, sent.destination);
  if (!isSame(to, self)) return undefined;
  return openMessage({
    dataMessage: { ...sent, timestamp: sent.timestamp ?? timestamp },
    editMessage: sent.editMessage,
  });
}

function textMessage(written: Written, view: MessageView): InboundMessage | undefined {
  const { data, author, replaces } = written;
  if (!hasContent(data)) return undefined;
  const { text, named } = withNames(data.message, data.mentions, view);
  const untrusted = untrustedOf(data, view.config);
  const replyTo = data.quote ? quoteOf(data.quote, written, view) : undefined;
  return {
    id: refOf(author, replaces ?? data.timestamp, view),
    ...frame(written, view),
    text,
    media: view.config.ignoreAttachments ? [] : mediaOf(data, originOf(author, data)),
    mentionsBot: isDirect(written) || named || replyTo?.fromBot === true,
    ...(replyTo && { replyTo }),
    ...(replaces !== undefined && { isEdit: true }),
    ...(untrusted.length > 0 && { untrusted }),
  };
}

/** False for updates of a group or its timer, and votes. */
const hasContent = ({ message, attachments, sticker, contacts, pollCreate, payment }: DataMessage): boolean =>
  Boolean(message || attachments?.length || sticker || contacts?.length || pollCreate || payment);

function reactionMessage(written: Written, reaction: Reaction, view: MessageView): InboundMessage {
  const target = personOf(reaction.targetAuthorUuid, reaction.targetAuthorNumber, reaction.targetAuthor);
  const messageId = refOf(target, reaction.targetSentTimestamp, view);
  const toBot = isSame(target, view.self);
  return {
    id: refOf(written.author, written.data.timestamp, view),
    ...frame(written, view),
    text: "",
    media: [],
    mentionsBot: isDirect(written) || toBot,
    event: "reaction",
    reaction: {
      emoji: reaction.emoji,
      messageId,
      ...(reaction.isRemove && { removed: true }),
      ...(toBot && { toBot }),
    },
  };
}

/** Only authors can delete a message by `remoteDelete`. */
function newsOf({ author, data }: Written, view: MessageView): ChatNews | undefined {
  const { remoteDelete, pinMessage, unpinMessage } = data;
  if (remoteDelete) return { kind: "deleted", messageId: refOf(author, remoteDelete.timestamp, view) };
  const pin = pinMessage ?? unpinMessage;
  if (!pin) return undefined;
  const target = personOf(pin.targetAuthorUuid, pin.targetAuthorNumber, pin.targetAuthor);
  const messageId = refOf(target, pin.targetSentTimestamp, view);
  return { kind: pinMessage ? "pinned" : "unpinned", messageId };
}

const newsMessage = (written: Written, news: ChatNews, view: MessageView): InboundMessage => ({
  id: refOf(written.author, written.data.timestamp, view),
  ...frame(written, view),
  text: "",
  media: [],
  mentionsBot: isDirect(written),
  event: "news",
  news,
});

/** The fields of a message other than its content. */
function frame(
  { envelope, author, data }: Written,
  view: MessageView,
): Pick<InboundMessage, "eventKey" | "from" | "sender" | "receivedAt" | "sentAt"> {
  const { sourceName, sourceDevice } = envelope;
  const id = idOf(author);
  return {
    eventKey: `${addressOf(author)}/${sourceDevice ?? 0}/${envelope.timestamp}`,
    from: peerOf(id, data, view.account),
    sender: {
      id,
      ...(sourceName && { name: sourceName }),
      ...(author.number !== undefined && { e164: author.number }),
    },
    receivedAt: view.now,
    sentAt: data.timestamp,
  };
}

function peerOf(sender: string, { groupInfo }: DataMessage, account: AccountId): Peer {
  if (!groupInfo) return { channel: SIGNAL, account, chat: { kind: "direct", id: sender } };
  const { groupId: id, groupName: title } = groupInfo;
  return { channel: SIGNAL, account, chat: { kind: "group", id, ...(title && { title }) } };
}

const isDirect = ({ data }: Written): boolean => !data.groupInfo;

function quoteOf(quote: Quote, { author: by, data }: Written, view: MessageView): QuotedMessage {
  const author = personOf(quote.authorUuid, quote.authorNumber, quote.author);
  const { text } = withNames(quote.text, quote.mentions, view);
  const sender = view.nameOf(author) ?? author.number;
  const id = refOf(author, quote.id, view);
  const known = view.filesOf(peerOf(idOf(by), data, view.account), id);
  const media = quotedMediaOf(quote, originOf(by, data), known);
  return {
    id,
    ...(sender !== undefined && { sender }),
    ...(text !== "" && { text }),
    ...(media.length > 0 && { media }),
    ...(isSame(author, view.self) && { fromBot: true }),
  };
}

function refOf(author: Person, timestamp: number, { self }: MessageView): string {
  const address = isSame(author, self) ? undefined : addressOf(author);
  return refText({ timestamp, ...(address !== undefined && { author: address }) });
}

const PLACEHOLDER = "\uFFFC";

/** Facts about people that the conversion of a text needs. */
interface Readers {
  readonly self: Person;
  /** The name of a person, if known. */
  nameOf(person: Person): string | undefined;
}

interface Addressed {
  readonly text: string;
  /** The text mentions us. */
  readonly named: boolean;
}

/** Replaces Signal's placeholders (U+FFFC; offsets are UTF-16 units) by names. Our own at the very start is removed. */
function withNames(
  message: string | null | undefined,
  mentions: readonly Mention[] | null | undefined,
  readers: Readers,
): Addressed {
  const text = message ?? "";
  const fitting = (mentions ?? []).filter(({ start, length }) => start >= 0 && start + length <= text.length);
  const ours = fitting.filter((mention) => isSame(whoIn(mention), readers.self));
  const lengthAt = (offset: number) =>
    text[offset] === PLACEHOLDER ? (ours.find(({ start }) => start === offset)?.length ?? 0) : 0;
  const begin = openingMentionEnd(text, lengthAt);
  let readable = text;
  // The loop runs from the end, so that earlier offsets stay valid.
  for (const mention of fitting.toSorted((a, b) => b.start - a.start)) {
    if (mention.start < begin || text[mention.start] !== PLACEHOLDER) continue;
    const after = readable.slice(mention.start + mention.length);
    readable = `${readable.slice(0, mention.start)}@${shown(whoIn(mention), readers)}${after}`;
  }
  return { text: readable.slice(begin), named: ours.length > 0 };
}

const whoIn = ({ uuid, number, name }: Mention): Person => personOf(uuid, number, name);

/** A mention names people by their id alone; our own number is known. */
function shown(person: Person, { nameOf, self }: Readers): string {
  const number = isSame(person, self) ? self.number : person.number;
  return nameOf(person) ?? number ?? person.uuid ?? "?";
}

/** Lines about content that is neither text nor a file, and about limits on keeping the message. */
function untrustedOf(message: DataMessage, config: Pick<SignalConfig, "ignoreAttachments">): readonly string[] {
  const { pollCreate: poll, payment, expiresInSeconds } = message;
  return [
    ...(message.contacts ?? []).map(contactLine),
    ...(message.previews ?? []).flatMap(previewLine),
    ...(poll ? [`Poll: ${poll.question ?? ""} (${(poll.options ?? []).join(" / ")})`] : []),
    ...(payment ? [`Payment: ${payment.note ?? "without a note"}`] : []),
    ...(message.storyContext ? ["Answers a story"] : []),
    ...unloaded(message, config),
    ...(message.viewOnce ? ["To be viewed once"] : []),
    ...(expiresInSeconds ? [`Disappears after ${expiresInSeconds} s`] : []),
  ];
}

function unloaded({ attachments }: DataMessage, config: Pick<SignalConfig, "ignoreAttachments">): readonly string[] {
  return (attachments ?? [])
    .filter(({ id }) => config.ignoreAttachments || !id)
    .map(({ filename, contentType }) => `File, not loaded: ${filename ?? contentType ?? "of unknown type"}`);
}

function previewLine({ title, description }: LinkPreview): readonly string[] {
  const parts = [title, description].filter(Boolean);
  return parts.length === 0 ? [] : [`Link preview: ${parts.join(", ")}`];
}

function contactLine({ name, phone, email, organization }: Contact): string {
  const full = name?.display ?? [name?.given, name?.family].filter(Boolean).join(" ");
  const ways = [...(phone ?? []), ...(email ?? [])].map(({ value }) => value);
  return `Contact: ${[full || name?.nickname, organization, ...ways].filter(Boolean).join(", ")}`;
}
