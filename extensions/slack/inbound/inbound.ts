import type { InboundMessage } from "openclaw/plugin-sdk";
import { isDirect } from "../channel-ids.ts";
import { BUTTON } from "../buttons.ts";
import { emojiOf } from "./emoji.ts";
import { actionsShape, callbackShape, commandShape, eventShape, interactionShape } from "../events.ts";
import type { Delivery, SlackCommand, SlackEvent, SlackMessage, MessageEvent } from "../events.ts";
import { fileLines, mediaOf } from "./media.ts";
import { filesOf, forwardedIn, forwardedText, senderOf, textOf, threadOf, toMillis } from "./message-parts.ts";
import { isNews, readNews } from "./news.ts";
import { peerOf } from "./place.ts";
import { threadContext } from "./thread-context.ts";
import type { ThreadContext } from "./thread-context.ts";
import { isOwn } from "./threads.ts";
import type { ReadContext } from "./read-context.ts";
import { readableText } from "./message-text.ts";

/** The message in a delivery, undefined when it has nothing for an agent. Never rejects for a known shape. */
export async function readDelivery(
  { kind, payload }: Delivery,
  context: ReadContext,
): Promise<InboundMessage | undefined> {
  if (kind === "slash_commands") return readCommand(payload, context);
  if (kind === "interactive") return readButtonPress(payload, context);
  const callback = callbackShape.safeParse(payload).data;
  const event = eventShape.safeParse(callback?.event).data;
  if (!event) return undefined;
  const teamId = callback?.team_id ?? context.self.teamId;
  return readEvent(event, teamId, context);
}

async function readEvent(event: SlackEvent, teamId: string, context: ReadContext): Promise<InboundMessage | undefined> {
  if ("reaction" in event) return readReaction(event, teamId, context);
  if (isNews(event)) return readNews(event, teamId, context);
  if (!("message" in event)) return readMessageEvent(event, teamId, context);
  const { message, previous_message: before, channel } = event;
  // Unfurled links and our own buttons also change a message, but no person edited it.
  if (!message.edited || message.text === before?.text) return undefined;
  const edited = await readMessage(message, { channel, teamId }, context);
  const at = message.edited.ts;
  return edited && { ...edited, eventKey: `e:${channel}:${edited.id}:${at}`, isEdit: true, sentAt: toMillis(at) };
}

async function readMessageEvent(
  event: MessageEvent,
  teamId: string,
  context: ReadContext,
): Promise<InboundMessage | undefined> {
  const { channel, type } = event;
  const where = { channel, teamId };
  return type === "app_mention"
    ? readMessage(await context.mentions.withFiles(event, context.until), where, context)
    : readMessageOrLateFiles(event, where, context);
}

/** A message, which may have the files that its earlier mention lacked. It is read as an edit then. */
export async function readMessageOrLateFiles(
  message: SlackMessage,
  where: Where,
  context: ReadContext,
): Promise<InboundMessage | undefined> {
  const read = await readMessage(message, where, context);
  const { channel } = where;
  const isLate = read !== undefined && (await context.mentions.hasLateFiles({ ...message, channel }));
  return isLate ? { ...read, eventKey: `f:${channel}:${message.ts}`, isEdit: true } : read;
}

/** Notices such as a change of the channel's topic have a subtype that is not listed. */
const SUBTYPES = new Set([undefined, null, "file_share", "thread_broadcast", "me_message", "bot_message"]);

/** Whether a message addresses the bot, and its surroundings. */
async function contextOf(message: SlackMessage, channel: string, context: ReadContext): Promise<ThreadContext> {
  const found = await threadContext(message, channel, context);
  return forwardedIn(message).length > 0 ? { ...found, context: { ...found.context, isForwarded: true } } : found;
}

export interface Where {
  readonly channel: string;
  readonly teamId: string;
}

/** A message of an event or of a history. `app_mention` and `message` of one text give equal results; the first one counts. */
async function readMessage(
  message: SlackMessage,
  { channel, teamId }: Where,
  context: ReadContext,
): Promise<InboundMessage | undefined> {
  const thread = threadOf(message);
  context.outsideCommands.heardFrom(channel);
  if (isOwn(message, context.self)) {
    // Slack may deliver people's answers before it answers the call that sent this message.
    context.threads.noteOwnMessage(channel, message.ts, thread);
    return undefined;
  }
  if (!SUBTYPES.has(message.subtype)) return undefined;
  const files = filesOf(message);
  const media = mediaOf(files);
  const written = [textOf(message), ...forwardedIn(message).map(forwardedText), ...fileLines(files)];
  if (written.every((text) => text === "") && media.length === 0) return undefined;
  const readable = (text: string) => readableText(text, context.self.userId, context.people);
  // The lookups run at once, because Slack waits for the acknowledgement.
  const [text, forwarded, from, sender, around] = await Promise.all([
    readable(textOf(message)),
    Promise.all(forwardedIn(message).map((one) => readable(forwardedText(one)))),
    peerOf(channel, thread, context),
    senderOf(message, context.people),
    contextOf(message, channel, context),
  ]);
  const untrusted = [...forwarded, ...fileLines(files)];
  return {
    id: message.ts,
    eventKey: `m:${channel}:${message.ts}`,
    from,
    sender,
    text,
    media,
    teamId,
    receivedAt: context.now(),
    sentAt: toMillis(message.ts),
    ...around,
    ...(untrusted.length > 0 && { untrusted }),
  };
}

type ReactionEvent = Extract<SlackEvent, { reaction: string }>;

async function readReaction(
  event: ReactionEvent,
  teamId: string,
  context: ReadContext,
): Promise<InboundMessage | undefined> {
  if (event.user === context.self.userId) return undefined;
  const { channel, ts } = event.item;
  const isBots = event.item_user === context.self.userId;
  const from = await peerOf(
    channel,
    isBots ? await context.threads.threadOfOwn(channel, ts, context.until) : undefined,
    context,
  );
  return {
    id: ts,
    eventKey: `r:${channel}:${ts}:${event.user}:${event.reaction}:${event.event_ts}`,
    from,
    sender: await context.people.sender(event.user),
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
    receivedAt: context.now(),
    sentAt: toMillis(event.event_ts),
  };
}

const NO_COMMANDS =
  "I do not take this command. Please write to me directly, or mention me in a channel. (`channels.slack.slashCommand` of the gateway says which command I take.)";
const UNKNOWN = "I do not know this. Please write to me directly, or mention me in a channel.";

async function readCommand(payload: unknown, context: ReadContext): Promise<InboundMessage | undefined> {
  const command = commandShape.safeParse(payload).data;
  const { enabled, name, ephemeral } = context.config.slashCommand;
  if (!command) return undefined;
  if (!enabled || command.command !== `/${name}`) {
    context.outsideCommands.refuse(command, NO_COMMANDS);
    return undefined;
  }
  const isPrivate = ephemeral && !isDirect(command.channel_id);
  const { outsideCommands } = context;
  // The lookups run in parallel, because Slack waits for the acknowledgement.
  const [directChat, commandChat, sender] = await Promise.all([
    isPrivate
      ? outsideCommands.privateChatFor(command, context.until)
      : outsideCommands.directChatFor(command, context.until),
    peerOf(command.channel_id, undefined, context),
    context.people.sender(command.user_id),
  ]);
  if (isPrivate && directChat === undefined) return undefined;
  return {
    id: command.trigger_id,
    eventKey: `c:${command.trigger_id}`,
    from: directChat === undefined ? commandChat : await peerOf(directChat, undefined, context),
    sender,
    text: commandText(command, context),
    media: [],
    mentionsBot: true,
    event: "command",
    teamId: command.team_id ?? context.self.teamId,
    receivedAt: context.now(),
  };
}

/** `/openclaw status` and `/openclaw /status` are the gateway's `/status`; any other text is a message. */
function commandText(command: SlackCommand, { commands }: ReadContext): string {
  const text = command.text.trim();
  const [first] = text.split(/\s/, 1);
  return commands.some(({ name }) => name === first) ? `/${text}` : text || "/help";
}

async function readButtonPress(payload: unknown, context: ReadContext): Promise<InboundMessage | undefined> {
  const press = actionsShape.safeParse(payload).data;
  const action = press?.actions.find(({ action_id: id }) => id.startsWith(BUTTON));
  if (!press || action?.value == null) {
    const other = interactionShape.safeParse(payload).data;
    // Slack also reports a press of a button that opens a page.
    const isLink =
      other?.type === "block_actions" && other.actions?.every(({ type, value }) => type === "button" && !value);
    if (other && isLink !== true) context.outsideCommands.refuse(other, UNKNOWN);
    return undefined;
  }
  const { channel, message, user } = press;
  return {
    id: message.ts,
    eventKey: `b:${channel.id}:${message.ts}:${user.id}:${action.action_id}:${action.action_ts}`,
    from: await peerOf(channel.id, threadOf(message), context),
    sender: await context.people.sender(user.id),
    text: action.value,
    media: [],
    mentionsBot: true,
    event: "button",
    teamId: press.team?.id ?? context.self.teamId,
    receivedAt: context.now(),
    sentAt: toMillis(action.action_ts),
  };
}
