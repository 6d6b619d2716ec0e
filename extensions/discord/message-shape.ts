import { z } from "zod";

/** A field of another type counts as missing: one odd field costs that field. */
const maybe = <T>(shape: z.ZodType<T>) => shape.optional().catch(undefined);
const text = z.string().catch("");
/** The valid entries of a list. */
const listOf = <T>(shape: z.ZodType<T>) =>
  z
    .array(z.unknown())
    .catch([])
    .transform((entries) => entries.flatMap((entry) => shape.safeParse(entry).data ?? []));

/**
 * Ids of a message's author and place are passed on unchanged, so that the gateway sees and lists a message whose
 * author or place is unknown.
 */
const identity = z.preprocess(
  (value) => (Number.isSafeInteger(value) ? String(value) : value),
  z.custom<string>((value) => value != null),
);

const personShape = z.object({
  id: identity,
  username: maybe(z.string()),
  global_name: maybe(z.string()),
  bot: maybe(z.boolean()),
});
/** Somebody who has an account: a person, a bot or a webhook. */
export type Person = z.output<typeof personShape>;

export const memberShape = z.object({
  nick: maybe(z.string()),
  roles: maybe(listOf(z.string())),
  user: maybe(personShape),
});
export type Member = z.output<typeof memberShape>;

const attachmentShape = z.object({
  id: text,
  url: z.string(),
  filename: maybe(z.string()),
  size: maybe(z.number()),
  content_type: maybe(z.string()),
  duration_secs: maybe(z.number()),
});
export type Attachment = z.output<typeof attachmentShape>;

const embedShape = z.object({
  title: maybe(z.string()),
  description: maybe(z.string()),
  url: maybe(z.string()),
  author: maybe(z.object({ name: text })),
  footer: maybe(z.object({ text })),
  image: maybe(z.object({ url: text })),
  fields: listOf(z.object({ name: text, value: text })),
});
export type Embed = z.output<typeof embedShape>;

const stickerShape = z.object({ id: z.string(), name: text, format_type: z.number().catch(0) });
const pollShape = z.object({
  question: z.object({ text }).catch({ text: "" }),
  answers: listOf(z.object({ poll_media: z.object({ text }) })),
});

/** Flag of a message that has its whole content in components: docs.discord.com/developers/components/reference */
const IS_COMPONENTS_V2 = 1 << 15;
const MOST_LEVELS = 6;
const mediaShape = z.object({ media: maybe(z.object({ url: text })), description: maybe(z.string()) });
const componentShape = z.object({
  content: maybe(z.string()),
  label: maybe(z.string()),
  url: maybe(z.string()),
  ...mediaShape.shape,
  items: listOf(mediaShape),
  components: z.array(z.unknown()).catch([]),
  accessory: z.unknown().optional(),
});

/**
 * The texts of components in their order: written texts, labels of buttons, and pictures by their description and
 * address.
 */
function linesOf(component: unknown, level = 0): readonly string[] {
  const read = componentShape.safeParse(component).data;
  if (!read || level > MOST_LEVELS) return [];
  const { content, label, url, media, description, items, components, accessory } = read;
  const link = label !== undefined && url !== undefined ? `${label} (${url})` : label;
  const own = [content ?? "", link ?? "", ...[{ media, description }, ...items].map(pictured)];
  const below = [...components, accessory].flatMap((one) => linesOf(one, level + 1));
  return [...own, ...below].filter((line) => line !== "");
}

const pictured = ({ media, description }: z.output<typeof mediaShape>): string =>
  [description, media?.url].filter(Boolean).join(" ");

const contentShape = z.object({
  content: text,
  flags: z.number().catch(0),
  components: z.array(z.unknown()).catch([]),
  attachments: listOf(attachmentShape),
  embeds: listOf(embedShape),
  sticker_items: listOf(stickerShape),
  mentions: listOf(personShape),
});
type Content = z.output<typeof contentShape>;

/** The written text is in `content`, wherever Discord has it. */
function withWrittenText<T extends Content>(message: T): T {
  const { content, flags, components } = message;
  if (content !== "" || (flags & IS_COMPONENTS_V2) === 0) return message;
  return { ...message, content: components.flatMap((component) => linesOf(component)).join("\n") };
}

const snapshotShape = contentShape.transform(withWrittenText);
/** A message as another one forwards it. */
export type Snapshot = z.output<typeof snapshotShape>;

const plainShape = contentShape.extend({
  id: identity,
  channel_id: identity,
  type: z.number().catch(0),
  author: personShape,
  timestamp: text,
  mention_roles: listOf(z.string()),
  poll: maybe(pollShape),
  message_reference: maybe(z.object({ message_id: maybe(z.string()) })),
  message_snapshots: listOf(z.object({ message: snapshotShape })),
  nonce: maybe(z.union([z.string(), z.number()])),
  webhook_id: maybe(z.string()),
});

/** A message of a history, or of an event, which has more fields. Needs no field but the ids and the author. */
export const messageShape = plainShape
  .extend({
    guild_id: maybe(z.string()),
    channel_type: maybe(z.number()),
    member: maybe(memberShape),
    edited_timestamp: maybe(z.string()),
    /** Null when it was deleted; undefined when Discord did not look. */
    referenced_message: z
      .union([z.null(), plainShape.transform(withWrittenText)])
      .optional()
      .catch(undefined),
  })
  .transform(withWrittenText);
export type Message = z.output<typeof messageShape>;
/** A message without what only its event has. */
export type PlainMessage = Omit<Message, "referenced_message">;

/** The messages of an answer that have an id and an author. */
export const messagesOf = (answer: readonly unknown[]): readonly Message[] =>
  answer.flatMap((message) => messageShape.safeParse(message).data ?? []).filter(({ id }) => isId(id));

/** Whether a text is the id of something on Discord. docs.discord.com/developers/reference#snowflakes */
export const isId = (value: string): boolean => typeof value === "string" && /^\d{1,20}$/.test(value);

/** A reaction that somebody put below a message, or took away. */
export const reactionShape = z.object({
  user_id: identity,
  channel_id: identity,
  message_id: identity,
  guild_id: maybe(z.string()),
  member: maybe(memberShape),
  message_author_id: maybe(z.string()),
  emoji: z.object({ id: maybe(z.string()), name: maybe(z.string()) }).catch({ id: undefined, name: undefined }),
});
export type Reaction = z.output<typeof reactionShape>;
