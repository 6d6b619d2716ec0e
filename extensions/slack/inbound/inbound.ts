import type { InboundMessage, Peer } from "openclaw/plugin-sdk";
import { BUTTON } from "../outbound/buttons.ts";
import { SLACK } from "../config.ts";
import { emojiOf } from "./emoji.ts";
import { actionsShape, callbackShape, commandShape, eventShape } from "./events.ts";
import type { Delivery, SlackCommand, SlackEvent, SlackMessage, Written } from "./events.ts";
import { fileLines, mediaOf } from "./media.ts";
import { millis, senderOf, shared, threadOf, wordsOf } from "../parts.ts";
import { surroundings } from "./surroundings.ts";
import { isOwn } from "./threads.ts";
import type { View } from "./view.ts";
import { readable } from "./words.ts";

/** The message in a delivery, or undefined when there is nothing in it for an agent. Never rejects for a known shape. */
export async function readDelivery({ kind, payload }: Delivery, view: View): Promise<InboundMessage | undefined> {
  if (kind === "slash_commands") return commanded(payload, view);
  if (kind === "interactive") return pressed(payload, view);
  const callback = callbackShape.safeParse(payload).data;
  const event = eventShape.safeParse(callback?.event).data;
  if (!event) return undefined;
  const teamId = callback?.team_id ?? view.self.teamId;
  return readEvent(event, teamId, view);
}

async function readEvent(event: SlackEvent, teamId: string, view: View): Promise<InboundMessage | undefined> {
  if ("reaction" in event) return reacted(event, teamId, view);
  if (!("message" in event)) return readWritten(event, teamId, view);
  const { message, previous_message: before, channel } = event;
  // Unfurled links and our own buttons change a message as well, but nobody edited it.
  if (!message.edited || message.text === before?.text) return undefined;
  const edited = await readMessage(message, { channel, teamId }, view);
  const at = message.edited.ts;
  return edited && { ...edited, eventKey: `e:${channel}:${edited.id}:${at}`, isEdit: true, sentAt: millis(at) };
}

async function readWritten(event: Written, teamId: string, view: View): Promise<InboundMessage | undefined> {
  const { channel, type } = event;
  const where = { channel, teamId };
  return type === "app_mention"
    ? readMessage(await view.mentions.whole(event), where, view)
    : readLate(event, where, view);
}

/** A message that may bring the files of its mention, which came before. */
export async function readLate(message: SlackMessage, where: Where, view: View): Promise<InboundMessage | undefined> {
  const read = await readMessage(message, where, view);
  const { channel } = where;
  const isLate = read !== undefined && (await view.mentions.isLate({ ...message, channel }));
  return isLate ? { ...read, eventKey: `f:${channel}:${message.ts}`, isEdit: true } : read;
}

/** Notices such as "joined the channel" have a subtype that is not listed. */
const SUBTYPES = new Set([undefined, null, "file_share", "thread_broadcast", "me_message", "bot_message"]);

export interface Where {
  readonly channel: string;
  readonly teamId: string;
}

/** A message of an event or of a history. `app_mention` and `message` of the same words give the same; the first is taken. */
async function readMessage(
  message: SlackMessage,
  { channel, teamId }: Where,
  view: View,
): Promise<InboundMessage | undefined> {
  const thread = threadOf(message);
  if (isOwn(message, view.self)) {
    // Slack may tell what people answer before it answers our own call.
    view.threads.wrote(channel, message.ts, thread);
    return undefined;
  }
  if (!SUBTYPES.has(message.subtype)) return undefined;
  const files = message.files ?? [];
  const words = await readable(wordsOf(message), view.self.userId, view.people);
  const untrusted = [...shared(message), ...fileLines(files)];
  const media = mediaOf(files);
  if (words === "" && media.length === 0 && untrusted.length === 0) return undefined;
  const from = await peerOf(channel, thread, view);
  const around = await surroundings(message, from, view);
  return {
    id: message.ts,
    eventKey: `m:${channel}:${message.ts}`,
    from,
    sender: await senderOf(message, view.people),
    text: words,
    media,
    teamId,
    receivedAt: view.now(),
    sentAt: millis(message.ts),
    ...around.facts,
    ...(untrusted.length > 0 && { untrusted }),
  };
}

async function peerOf(channel: string, thread: string | undefined, view: View): Promise<Peer> {
  const where = { channel: SLACK, account: view.account };
  const inThread = thread === undefined ? {} : { thread };
  // Ids of chats between two begin with D (docs.slack.dev/reference/objects/conversation-object).
  if (channel.startsWith("D")) return { ...where, chat: { kind: "direct", id: channel }, ...inThread };
  const title = await view.people.channel(channel);
  return { ...where, chat: { kind: "group", id: channel, ...(title !== undefined && { title }) }, ...inThread };
}

type Reacted = Extract<SlackEvent, { reaction: string }>;

async function reacted(event: Reacted, teamId: string, view: View): Promise<InboundMessage | undefined> {
  if (event.user === view.self.userId) return undefined;
  const { channel, ts } = event.item;
  const isBots = event.item_user === view.self.userId;
  const from = await peerOf(channel, isBots ? await view.threads.ofOwn(channel, ts) : undefined, view);
  return {
    id: ts,
    eventKey: `r:${channel}:${ts}:${event.user}:${event.reaction}:${event.event_ts}`,
    from,
    sender: await view.people.sender(event.user),
    text: "",
    media: [],
    mentionsBot: from.chat.kind === "direct",
    event: "reaction",
    reaction: {
      emoji: emojiOf(event.reaction),
      messageId: ts,
      ...(event.type === "reaction_removed" && { removed: true }),
      ...(isBots && { toBot: true }),
    },
    teamId,
    receivedAt: view.now(),
    sentAt: millis(event.event_ts),
  };
}

async function commanded(payload: unknown, view: View): Promise<InboundMessage | undefined> {
  const command = commandShape.safeParse(payload).data;
  const { enabled, name } = view.config.slashCommand;
  if (!command || !enabled || command.command !== `/${name}`) return undefined;
  // All at once, as Slack waits for its acknowledgement.
  const [home, there, sender] = await Promise.all([
    view.elsewhere.homeFor(command),
    peerOf(command.channel_id, undefined, view),
    view.people.sender(command.user_id),
  ]);
  return {
    id: command.trigger_id,
    eventKey: `c:${command.trigger_id}`,
    from: home === undefined ? there : await peerOf(home, undefined, view),
    sender,
    text: commandText(command, view),
    media: [],
    mentionsBot: true,
    event: "command",
    teamId: command.team_id ?? view.self.teamId,
    receivedAt: view.now(),
  };
}

/** `/openclaw status` is the gateway's `/status`; other words are a message. */
function commandText({ text }: SlackCommand, { commands }: View): string {
  const words = text.trim();
  const [first] = words.split(/\s/, 1);
  return commands.some(({ name }) => name === first) ? `/${words}` : words || "/help";
}

async function pressed(payload: unknown, view: View): Promise<InboundMessage | undefined> {
  const press = actionsShape.safeParse(payload).data;
  const action = press?.actions.find(({ action_id: id }) => id.startsWith(BUTTON));
  if (!press || action?.value == null) return undefined;
  const { channel, message, user } = press;
  return {
    id: message.ts,
    eventKey: `b:${channel.id}:${message.ts}:${user.id}:${action.action_id}:${action.action_ts}`,
    from: await peerOf(channel.id, threadOf(message), view),
    sender: await view.people.sender(user.id),
    text: action.value,
    media: [],
    mentionsBot: true,
    event: "button",
    teamId: press.team?.id ?? view.self.teamId,
    receivedAt: view.now(),
    sentAt: millis(action.action_ts),
  };
}
