import type { InboundMessage, ChatNews, Sender, Peer } from "openclaw/plugin-sdk";
import { isDirect, isPerson } from "../channel-ids.ts";
import { BUTTON } from "../buttons.ts";
import { emojiOf } from "./emoji.ts";
import {
  actionsShape,
  callbackShape,
  commandShape,
  eventShape,
  interactionShape,
  type Delivery,
  type SlackCommand,
  type SlackEvent,
  type SlackMessage,
  type MessageEvent,
  type DeletedEvent,
  type PinEvent,
} from "../events.ts";
import { fileLines, mediaOf } from "./media.ts";
import {
  filesOf,
  forwardedIn,
  forwardedText,
  senderOf,
  textOf,
  threadOf,
  toMillis,
  wholeText,
  writtenIn,
} from "./message-parts.ts";
import { isOwn, type Thread } from "./threads.ts";
import type { ReadContext } from "./read-context.ts";
import { readableText, isMentioned } from "./message-text.ts";
import { SLACK } from "../config.ts";

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

const JOINED = new Set(["channel_join", "group_join"]);
const LEFT = new Set(["channel_leave", "group_leave"]);
const RENAMED = new Set(["channel_name", "group_name"]);

/** Whether an event reports something that happened in a channel, rather than a message. */
const isNews = (event: SlackEvent): event is DeletedEvent | PinEvent | MessageEvent =>
  "deleted_ts" in event || "channel_id" in event || ("ts" in event && isNotice(event.subtype));

const isNotice = (subtype: string | null | undefined): boolean =>
  [JOINED, LEFT, RENAMED].some((kinds) => kinds.has(subtype ?? ""));

/** News in an event. Undefined when the bot itself did it, or when the person who did it is unknown. */
async function readNews(
  event: DeletedEvent | PinEvent | MessageEvent,
  teamId: string,
  context: ReadContext,
): Promise<InboundMessage | undefined> {
  const told = toldBy(event, context);
  if (told === undefined || told.user === context.self.userId) return undefined;
  const { channel, at, user, thread, ...more } = told;
  const [from, sender, news] = await Promise.all([
    peerOf(channel, thread, context),
    context.people.sender(user),
    more.news(async (id) => nameOf(await context.people.sender(id))),
  ]);
  return {
    id: at,
    eventKey: `n:${channel}:${news.kind}:${news.messageId ?? ""}:${at}`,
    from,
    sender,
    text: "",
    media: [],
    mentionsBot: from.chat.kind === "direct",
    event: "news",
    news,
    teamId,
    receivedAt: context.now(),
    sentAt: toMillis(at),
  };
}

interface Told {
  readonly channel: string;
  readonly thread?: string;
  readonly at: string;
  readonly user: string;
  news(nameOf: (id: string) => Promise<string>): Promise<ChatNews>;
}

const nameOf = ({ name, id }: Sender): string => name ?? id;

function toldBy(event: DeletedEvent | PinEvent | MessageEvent, context: ReadContext): Told | undefined {
  if ("deleted_ts" in event) return deletion(event, context);
  return "channel_id" in event ? pinning(event) : notice(event);
}

function deletion(
  { channel, deleted_ts: messageId, previous_message: before, ts }: DeletedEvent,
  context: ReadContext,
) {
  const { user } = before ?? {};
  if (!before || user == null || isOwn(before, context.self)) return undefined;
  const thread = threadOf({ ts: messageId, thread_ts: before.thread_ts });
  const news = async (): Promise<ChatNews> => ({ kind: "deleted", messageId });
  return { channel, at: ts, user, news, ...(thread !== undefined && { thread }) };
}

function pinning({ channel_id: channel, type, user, event_ts: at, item }: PinEvent): Told {
  const thread = threadOf(item.message);
  const kind = type === "pin_added" ? "pinned" : "unpinned";
  const news = async (): Promise<ChatNews> => ({ kind, messageId: item.message.ts });
  return { channel, at, user, news, ...(thread !== undefined && { thread }) };
}

function notice({ channel, ts: at, subtype, user, inviter, name }: MessageEvent): Told | undefined {
  if (user == null) return undefined;
  const where = { channel, at };
  if (RENAMED.has(subtype ?? ""))
    return { ...where, user, news: async () => ({ kind: "renamed", subject: name ?? "" }) };
  if (LEFT.has(subtype ?? "")) return { ...where, user, news: async () => ({ kind: "left" }) };
  if (inviter == null || inviter === user) return { ...where, user, news: async () => ({ kind: "joined" }) };
  return { ...where, user: inviter, news: async (nameOf) => ({ kind: "joined", subject: await nameOf(user) }) };
}

/** Where an answer to an event goes. */
async function peerOf(channel: string, thread: string | undefined, context: ReadContext): Promise<Peer> {
  const where = { channel: SLACK, account: context.account };
  const inThread = thread === undefined ? {} : { thread };
  if (isDirect(channel) || isPerson(channel)) return { ...where, chat: { kind: "direct", id: channel }, ...inThread };
  const title = await context.people.channel(channel);
  return { ...where, chat: { kind: "group", id: channel, ...(title !== undefined && { title }) }, ...inThread };
}

type ThreadContext = Pick<InboundMessage, "mentionsBot" | "replyTo" | "context">;

/** Whether a message addresses the bot, and the context of the message in its thread. */
async function threadContext(message: SlackMessage, channel: string, context: ReadContext): Promise<ThreadContext> {
  const isNamed = isDirect(channel) || isMentioned(writtenIn(message), context.self.userId);
  const thread = threadOf(message);
  return thread === undefined ? { mentionsBot: isNamed } : inThread({ message, isNamed, channel, thread }, context);
}

interface Answer {
  readonly message: SlackMessage;
  readonly isNamed: boolean;
  readonly channel: string;
  readonly thread: string;
}

const UNREAD: Thread = { messages: [], hasBot: false, hasAnswer: false };

async function inThread({ message, isNamed, channel, thread }: Answer, context: ReadContext): Promise<ThreadContext> {
  const { messages: known, hasAnswer } = (await context.threads.read(channel, thread, context.until)) ?? UNREAD;
  const starter = await starterOf(known, thread, context);
  const firstSeen = context.threads.firstSeen(channel, thread, message);
  const isByBot = message.parent_user_id === context.self.userId;
  const hasBot = isByBot || (await context.threads.hasBot(channel, thread, context.until));
  const isAddressed = hasBot && !context.config.thread.requireExplicitMention;
  const mentionsBot = isNamed || isAddressed;
  const threadHistory = [
    ...(mentionsBot ? await parentLines({ message, channel, thread, hasAnswer }, context) : []),
    ...(isNamed && !hasBot && context.threads.claimsHistory(channel, thread, message)
      ? await earlierLines(known, firstSeen, context)
      : []),
  ];
  return {
    mentionsBot,
    ...(isByBot && isAddressed && { replyTo: quote(thread, starter) }),
    ...contextFact(starter, threadHistory),
  };
}

function contextFact(
  threadStarter: string | undefined,
  threadHistory: readonly string[],
): Pick<InboundMessage, "context"> {
  const context = {
    ...(threadStarter !== undefined && { threadStarter }),
    ...(threadHistory.length > 0 && { threadHistory }),
  };
  return Object.keys(context).length > 0 ? { context } : {};
}

type Place = Pick<Answer, "message" | "channel" | "thread"> & Pick<Thread, "hasAnswer">;

/** The channel's messages before a thread, when the bot is addressed there and has not answered yet. */
async function parentLines(
  { message, channel, thread, hasAnswer }: Place,
  context: ReadContext,
): Promise<readonly string[]> {
  const { inheritParent, historyScope, initialHistoryLimit: limit } = context.config.thread;
  if (hasAnswer || !inheritParent || historyScope === "channel" || limit === 0) return [];
  if (!context.threads.claimsChannelHistory(channel, thread, message)) return [];
  const before = await context.threads.before(channel, thread, { limit, until: context.until });
  return linesOf(before, "Earlier in the channel", context);
}

async function starterOf(
  messages: readonly SlackMessage[],
  thread: string,
  context: ReadContext,
): Promise<string | undefined> {
  const starter = messages.find(({ ts }) => ts === thread);
  return starter && readableText(wholeText(starter), context.self.userId, context.people);
}

const quote = (id: string, text: string | undefined): NonNullable<InboundMessage["replyTo"]> => ({
  id,
  fromBot: true,
  ...(text !== undefined && { text }),
});

/** The messages of a thread before the first one that came here. */
async function earlierLines(
  messages: readonly SlackMessage[],
  firstSeen: string,
  context: ReadContext,
): Promise<string[]> {
  const before = messages.filter(({ ts, thread_ts: thread }) => ts !== thread && Number(ts) < Number(firstSeen));
  const limit = context.config.thread.initialHistoryLimit;
  return linesOf(limit === 0 ? [] : before.slice(-limit), "Earlier in the thread", context);
}

function linesOf(lines: readonly SlackMessage[], where: string, context: ReadContext): Promise<string[]> {
  return Promise.all(
    lines.map(async (line) => {
      const { id, name } = await senderOf(line, context.people);
      return `${where}, ${name ?? id}: ${await readableText(wholeText(line), context.self.userId, context.people)}`;
    }),
  );
}
