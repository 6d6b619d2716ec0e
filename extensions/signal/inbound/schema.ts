/**
 * The events of signal-cli: the records in `org.asamk.signal.json` of https://github.com/AsamK/signal-cli, with the fields that are
 * read here. Any field may be null.
 */
import { z } from "zod";

const text = z.string().nullish();
const time = z.number();

const mention = z.looseObject({ name: text, number: text, uuid: text, start: z.int(), length: z.int() });
export type Mention = z.output<typeof mention>;

const attachment = z.looseObject({
  contentType: text,
  filename: text,
  id: text,
  size: z.number().nullish(),
  caption: text,
  voiceNote: z.boolean().nullish(),
});
export type Attachment = z.output<typeof attachment>;

/** A file in a quote: at most a small picture of the original. */
const quotedFile = z.looseObject({ contentType: text, filename: text, thumbnail: attachment.nullish() });

const quote = z.looseObject({
  id: time,
  author: text,
  authorNumber: text,
  authorUuid: text,
  text,
  mentions: z.array(mention).nullish(),
  attachments: z.array(quotedFile).nullish(),
});
export type Quote = z.output<typeof quote>;

const reaction = z.looseObject({
  emoji: z.string(),
  targetAuthor: text,
  targetAuthorNumber: text,
  targetAuthorUuid: text,
  targetSentTimestamp: time,
  isRemove: z.boolean().nullish(),
});
export type Reaction = z.output<typeof reaction>;

const deleted = z.looseObject({ timestamp: time });

/** A pinned or unpinned message. */
const pin = z.looseObject({
  targetAuthor: text,
  targetAuthorNumber: text,
  targetAuthorUuid: text,
  targetSentTimestamp: time,
});
export type Pin = z.output<typeof pin>;

const contact = z.looseObject({
  name: z.looseObject({ nickname: text, given: text, family: text, display: text }).nullish(),
  phone: z.array(z.looseObject({ value: text })).nullish(),
  email: z.array(z.looseObject({ value: text })).nullish(),
  organization: text,
});
export type Contact = z.output<typeof contact>;

const preview = z.looseObject({ url: text, title: text, description: text });
export type LinkPreview = z.output<typeof preview>;

const dataMessage = z.looseObject({
  timestamp: time,
  message: text,
  expiresInSeconds: z.number().nullish(),
  isExpirationUpdate: z.boolean().nullish(),
  viewOnce: z.boolean().nullish(),
  reaction: reaction.nullish(),
  remoteDelete: deleted.nullish(),
  pinMessage: pin.nullish(),
  unpinMessage: pin.nullish(),
  quote: quote.nullish(),
  payment: z.looseObject({ note: text }).nullish(),
  mentions: z.array(mention).nullish(),
  attachments: z.array(attachment).nullish(),
  sticker: z.looseObject({ packId: z.string(), stickerId: z.int() }).nullish(),
  contacts: z.array(contact).nullish(),
  pollCreate: z.looseObject({ question: text, options: z.array(z.string()).nullish() }).nullish(),
  previews: z.array(preview).nullish(),
  groupInfo: z.looseObject({ groupId: z.string(), groupName: text, type: text }).nullish(),
  storyContext: z.looseObject({}).nullish(),
});
export type DataMessage = z.output<typeof dataMessage>;

const editMessage = z.looseObject({ targetSentTimestamp: time, dataMessage });

// A message from one of our other devices is in the same object as its recipient.
const sentMessage = dataMessage.partial().extend({
  destination: text,
  destinationNumber: text,
  destinationUuid: text,
  editMessage: editMessage.nullish(),
});

const envelope = z.looseObject({
  source: text,
  sourceNumber: text,
  sourceUuid: text,
  sourceName: text,
  sourceDevice: z.number().nullish(),
  timestamp: time,
  dataMessage: dataMessage.nullish(),
  editMessage: editMessage.nullish(),
  syncMessage: z.looseObject({ sentMessage: sentMessage.nullish() }).nullish(),
});
export type Envelope = z.output<typeof envelope>;

const received = z.looseObject({
  account: text,
  envelope: envelope.nullish(),
  exception: z.looseObject({ message: text, type: text }).nullish(),
});
export type Received = z.output<typeof received>;

const wrapped = z.looseObject({ params: z.looseObject({ result: z.unknown().optional() }) });

/** Parses an event's data: the received record, alone or as the parameters of a JSON-RPC notification. Throws when it is neither. */
export function readReceived(data: string): Received {
  const value: unknown = JSON.parse(data);
  const { success, data: notification } = wrapped.safeParse(value);
  return received.parse(success ? (notification.params.result ?? notification.params) : value);
}
