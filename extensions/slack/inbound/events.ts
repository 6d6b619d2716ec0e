import { z } from "zod";

/** Shapes of docs.slack.dev: reference/events, reference/objects/file-object, interactivity/implementing-slash-commands. */
const text = z.string();

const fileShape = z.object({
  id: text,
  name: text.nullish(),
  title: text.nullish(),
  mimetype: text.nullish(),
  size: z.number().nullish(),
  mode: text.nullish(),
  subtype: text.nullish(),
  duration_ms: z.number().nullish(),
  url_private: text.nullish(),
});
export type SlackFile = z.output<typeof fileShape>;

const attachmentShape = z.object({
  text: text.nullish(),
  fallback: text.nullish(),
  author_name: text.nullish(),
  is_share: z.boolean().nullish(),
  is_msg_unfurl: z.boolean().nullish(),
  from_url: text.nullish(),
});

/** A message in an event, in an edit or in a history. */
export const messageShape = z.object({
  subtype: text.nullish(),
  user: text.nullish(),
  bot_id: text.nullish(),
  username: text.nullish(),
  bot_profile: z.object({ name: text.nullish() }).nullish(),
  text: text.nullish(),
  ts: text,
  thread_ts: text.nullish(),
  parent_user_id: text.nullish(),
  latest_reply: text.nullish(),
  files: z.array(fileShape).nullish(),
  attachments: z.array(attachmentShape).nullish(),
  edited: z.object({ ts: text }).nullish(),
  /** Of a notice that somebody joined, or that the channel has a new name. */
  inviter: text.nullish(),
  name: text.nullish(),
  metadata: z.object({ event_type: text, event_payload: z.record(z.string(), z.unknown()) }).nullish(),
});
export type SlackMessage = z.output<typeof messageShape>;

const messageEventShape = messageShape.extend({ type: z.enum(["message", "app_mention"]), channel: text });
export type MessageEvent = z.output<typeof messageEventShape>;
const editEventShape = z.object({
  type: z.literal("message"),
  subtype: z.literal("message_changed"),
  channel: text,
  message: messageShape,
  previous_message: messageShape.partial().nullish(),
});
const deletedEventShape = z.object({
  type: z.literal("message"),
  subtype: z.literal("message_deleted"),
  channel: text,
  ts: text,
  deleted_ts: text,
  previous_message: messageShape.partial().nullish(),
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
  item_user: text.nullish(),
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
  team_id: text.nullish(),
  channel_id: text,
  channel_name: text.nullish(),
  user_id: text,
  user_name: text.nullish(),
  trigger_id: text,
  response_url: text.nullish(),
});
export type SlackCommand = z.output<typeof commandShape>;

export const actionsShape = z.object({
  type: z.literal("block_actions"),
  team: z.object({ id: text }).nullish(),
  user: z.object({ id: text, username: text.nullish(), name: text.nullish() }),
  channel: z.object({ id: text }),
  message: z.object({ ts: text, thread_ts: text.nullish() }),
  actions: z.array(z.object({ action_id: text, value: text.nullish(), action_ts: text })),
});

/** One delivery of Slack, over a socket or a webhook. */
export interface Delivery {
  readonly kind: "events_api" | "slash_commands" | "interactive";
  readonly payload: unknown;
}
