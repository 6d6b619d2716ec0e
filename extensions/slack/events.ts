import { z } from "zod";

/** Shapes of docs.slack.dev: reference/events, reference/objects/file-object, interactivity/implementing-slash-commands. */
const text = z.string();
/** A field of another type counts as missing: one odd field costs that field. */
const maybe = <T>(shape: z.ZodType<T>) => shape.nullish().catch(undefined);
const words = maybe(text);
/** The valid entries of a list. */
const listOf = <T>(shape: z.ZodType<T>) =>
  maybe(z.array(z.unknown()).transform((entries) => entries.flatMap((entry) => shape.safeParse(entry).data ?? [])));

const fileShape = z.object({
  id: text,
  name: words,
  title: words,
  mimetype: words,
  size: maybe(z.number()),
  mode: words,
  subtype: words,
  duration_ms: maybe(z.number()),
  url_private: words,
});
export type SlackFile = z.output<typeof fileShape>;

const blocks = maybe(z.array(z.unknown()));
/** docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments */
const attachmentShape = z.object({
  pretext: words,
  author_name: words,
  title: words,
  title_link: words,
  text: words,
  fields: listOf(z.object({ title: words, value: words })),
  image_url: words,
  footer: words,
  fallback: words,
  blocks,
  files: listOf(fileShape),
  /** The blocks of a message that is shared. */
  message_blocks: listOf(z.object({ message: z.object({ blocks }) })),
  is_share: maybe(z.boolean()),
  is_msg_unfurl: maybe(z.boolean()),
  is_app_unfurl: maybe(z.boolean()),
  from_url: words,
});
export type Attachment = z.output<typeof attachmentShape>;

/** A message in an event, in an edit or in a history. */
export const messageShape = z.object({
  subtype: text.nullish(),
  user: text.nullish(),
  bot_id: text.nullish(),
  username: words,
  bot_profile: maybe(z.object({ name: words })),
  text: words,
  ts: text,
  thread_ts: text.nullish(),
  parent_user_id: words,
  latest_reply: words,
  blocks,
  files: listOf(fileShape),
  attachments: listOf(attachmentShape),
  edited: maybe(z.object({ ts: text })),
  /** Fields of a notice that somebody joined, or that the channel has a new name. */
  inviter: words,
  name: words,
  metadata: maybe(z.object({ event_type: text, event_payload: z.record(z.string(), z.unknown()) })),
});
export type SlackMessage = z.output<typeof messageShape>;

const messageEventShape = messageShape.extend({ type: z.enum(["message", "app_mention"]), channel: text });
export type MessageEvent = z.output<typeof messageEventShape>;
const editEventShape = z.object({
  type: z.literal("message"),
  subtype: z.literal("message_changed"),
  channel: text,
  message: messageShape,
  previous_message: maybe(messageShape.partial()),
});
const deletedEventShape = z.object({
  type: z.literal("message"),
  subtype: z.literal("message_deleted"),
  channel: text,
  ts: text,
  deleted_ts: text,
  previous_message: maybe(messageShape.partial()),
});
export type DeletedEvent = z.output<typeof deletedEventShape>;
const pinEventShape = z.object({
  type: z.enum(["pin_added", "pin_removed"]),
  user: text,
  channel_id: text,
  item: z.object({ type: z.literal("message"), message: z.object({ ts: text, thread_ts: text.nullish() }) }),
  event_ts: text,
});
export type PinEvent = z.output<typeof pinEventShape>;
const reactionEventShape = z.object({
  type: z.enum(["reaction_added", "reaction_removed"]),
  user: text,
  reaction: text,
  item: z.object({ type: z.literal("message"), channel: text, ts: text }),
  item_user: words,
  event_ts: text,
});

/** The events that have something for an agent. Other events do not match. */
export const eventShape = z.union([
  editEventShape,
  deletedEventShape,
  pinEventShape,
  reactionEventShape,
  messageEventShape,
]);
export type SlackEvent = z.output<typeof eventShape>;

export const callbackShape = z.object({ team_id: text.nullish(), event: z.unknown() });

export const commandShape = z.object({
  command: text,
  text: text.default(""),
  team_id: words,
  channel_id: text,
  channel_name: words,
  user_id: text,
  user_name: words,
  trigger_id: text,
  response_url: words,
});
export type SlackCommand = z.output<typeof commandShape>;

export const actionsShape = z.object({
  type: z.literal("block_actions"),
  team: z.object({ id: text }).nullish(),
  user: z.object({ id: text, username: words, name: words }),
  channel: z.object({ id: text }),
  message: z.object({ ts: text, thread_ts: words }),
  actions: z.array(z.object({ action_id: text, value: words, action_ts: text })),
});

/** Something that a person did with a part of a message, a form or a shortcut. docs.slack.dev/reference/interaction-payloads */
export const interactionShape = z.object({
  type: text,
  trigger_id: words,
  response_url: words,
  actions: listOf(z.object({ type: words, value: words })),
});
export type Interaction = Pick<z.output<typeof interactionShape>, "trigger_id" | "response_url">;

/** A delivery of Slack, over a socket or a webhook. */
export interface Delivery {
  readonly kind: "events_api" | "slash_commands" | "interactive";
  readonly payload: unknown;
}
