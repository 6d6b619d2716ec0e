import type { AccountConfig } from "../../../channels/config.ts";
import { channelIn } from "../../../channels/target.ts";
import type { AttachPorts } from "../../../dispatch/media/attach.ts";
import type { Outbox } from "../../../outbox/deliver.ts";
import type { Links } from "../../../outbox/ports.ts";
import { renderText } from "../../../outbox/render.ts";
import { messageTool } from "../../../tools/message/message.ts";
import { MESSAGE_TOOL, postedOf } from "../../../tools/message/message-result.ts";
import { sentText } from "../../../reply/plain-reply.ts";
import type { ChannelLink, ChatActions, SendResult } from "../../../types/chat/channel.ts";
import type { Clock } from "../../../types/clock.ts";
import type { MediaStore, OutboxJournal } from "../../../types/journal.ts";
import type { Peer } from "../../../types/chat/message.ts";
import type { ReplyBlock } from "../../../types/chat/reply.ts";
import type { ChatAct, ChatActs, ChatPost, FileForm, TargetInput } from "../../../types/chat/send.ts";
import type { ToolContribution } from "../../../types/run/tool.ts";
import { own } from "../../../utils/own.ts";
import { accountOf } from "../../accounts/accounts.ts";
import { WEB_CHAT } from "../../contributions/extensions.ts";
import { privateNotes } from "../../../tools/host/prompt-files.ts";
import { deniedPaths } from "./file-places.ts";
import { blocksOf, deliverAndWait, targetPeer, type OutgoingParts } from "../../outgoing.ts";
import type { Live } from "../../live.ts";

interface Sources {
  readonly live: Live;
  readonly around: { readonly links: Links; accounts?: OutgoingParts["channels"]["status"] };
  readonly media: MediaStore;
  readonly outbox: Outbox;
  /** The messages that the gateway has sent. */
  readonly sent: Pick<OutboxJournal, "chatsOf">;
  readonly clock: Clock;
}

/** Milliseconds that a tool waits for the platform to take a message. */
const SEND_WAIT_MS = 20_000;

/** The tools of a run that may write to chats; none in a process without channels. */
export function chatTools(sources: Sources): readonly ToolContribution[] {
  const { accounts } = sources.around;
  if (!accounts) return [];
  const forOwners = chatActs(sources, accounts, () => []);
  const forGuests = chatActs(sources, accounts, () => sources.live.agents.map(({ workspace }) => workspace));
  return [
    {
      name: MESSAGE_TOOL,
      forRun: ({ chat: scene, agent: { messageTool: settings } }) =>
        scene && settings && settings.actions.length > 0 && (scene.peer || accounts().some(isChat))
          ? messageTool({ scene, acts: scene.isOwner ? forOwners : forGuests, settings })
          : undefined,
    },
  ];
}

/** Whether the account's chats can be written to. */
const isChat = ({ channel, enabled }: { readonly channel: string; readonly enabled: boolean }): boolean =>
  enabled && channel !== WEB_CHAT;

function chatActs(
  { live, around, media, outbox, sent, clock }: Sources,
  status: OutgoingParts["channels"]["status"],
  guestOf: () => readonly string[],
): ChatActs {
  const { links } = around;
  const parts: OutgoingParts = {
    live,
    channels: { status, limits: (to) => links.limits(to) },
    core: {
      media,
      outbox,
      ports: {
        clock,
        storage: {
          get closedPaths() {
            return [...deniedPaths(live), ...privateNotes(guestOf())];
          },
        },
      },
    },
  };
  return {
    find: (words, home) => find(words, home, parts),
    can: (to, act) => isOn(accountOf(live.config, to), ACTS[act].groups) && hasMethod(links.link(to), ACTS[act].method),
    actions: (to) => allowedActions(accountOf(live.config, to), links.link(to)?.actions),
    buttons: (to) => links.buttons?.(to),
    send: (post, signal) => send({ ...post, guestOf: guestOf() }, parts, signal),
    isOwn: async (to, messageId) => (await sent.chatsOf(to, messageId)).some(({ chat }) => chat.id === to.chat.id),
    react: (to, messageId, emoji) => through(links.link(to), (link) => link.react?.(to, messageId, emoji)),
    edit: (to, messageId, markdown) => edit(to, messageId, { markdown, links }),
    remove: (to, messageId) => through(links.link(to), (link) => link.remove?.(to, messageId)),
  };
}

/** An act's method, and the names that switch it in an account's `actions`: each platform has its own. */
interface Act<Method> {
  readonly method: Method;
  readonly groups: readonly string[];
}

const ACTS: Readonly<Record<ChatAct, Act<"send" | "react" | "edit" | "remove">>> = {
  send: { method: "send", groups: ["sendMessage", "messages"] },
  react: { method: "react", groups: ["reactions"] },
  edit: { method: "edit", groups: ["editMessage", "messages"] },
  delete: { method: "remove", groups: ["deleteMessage", "messages"] },
};

const GROUPS: Readonly<Record<keyof ChatActions, readonly string[]>> = {
  poll: ["poll", "polls"],
  pin: ["pins"],
  pins: ["pins"],
  read: ["messages"],
  search: ["search"],
  reactions: ["reactions"],
  createThread: ["threads", "createForumTopic"],
  renameThread: ["threads", "editForumTopic"],
  threads: ["threads"],
  member: ["memberInfo"],
  chat: ["channelInfo"],
  sticker: ["sticker", "stickers"],
  emojis: ["emojiList"],
};
/** Actions that are off unless the config switches them on. */
const OFF = ["sticker"];

const isOn = ({ actions }: Pick<AccountConfig, "actions">, groups: readonly string[]): boolean =>
  groups.every((group) => own(actions, group) ?? !OFF.includes(group));

const hasMethod = (link: ChannelLink | undefined, method: "send" | "react" | "edit" | "remove"): boolean =>
  !link || link[method] !== undefined;

/** The actions that a link has and the account's config leaves on. */
const allowedActions = (account: AccountConfig, actions: ChatActions = {}): ChatActions =>
  new Proxy(actions, {
    get: (target, name) =>
      typeof name === "string" && isGroup(name) && isOn(account, GROUPS[name]) ? target[name] : undefined,
  });

const isGroup = (name: string): name is keyof ChatActions => Object.hasOwn(GROUPS, name);

/**
 * The chat that a call names; the run's own chat when it names none. A target that names the run's own chat includes
 * its thread. Throws an error whose message is for the model.
 */
function find(words: TargetInput, home: Peer | undefined, parts: OutgoingParts): Peer {
  const { to, accountId: named, threadId } = words;
  if (!home) {
    if (to === undefined) throw new Error("Name the chat with to, and its channel.");
    return targetPeer({ to, channel: words.channel?.toLowerCase(), accountId: named, threadId }, parts);
  }
  const channel = channelOf(words, home, parts);
  const accountId = named ?? (channel === home.channel ? home.account : undefined);
  const isHere = channel === home.channel && accountId === home.account;
  if (to === undefined && !isHere) throw new Error("Name the chat with to.");
  const found = to === undefined ? home : targetPeer({ to, channel, accountId, threadId }, parts);
  return isHere && found.chat.id === home.chat.id ? inThread(home, threadId ?? found.thread) : found;
}

function channelOf({ to = "", channel }: TargetInput, home: Peer, { channels }: OutgoingParts): string {
  const known = [...new Set(channels.status().map((row) => row.channel))];
  return channel?.toLowerCase() ?? channelIn(to, known) ?? home.channel;
}

const inThread = (home: Peer, thread: string | undefined): Peer => (thread === undefined ? home : { ...home, thread });

async function send(post: ChatPost & Pick<AttachPorts, "guestOf">, parts: OutgoingParts, signal: AbortSignal) {
  const { key, inboxId, to, replyTo, buttons, form, silent } = post;
  const asVoice = form?.as === "voice";
  const made = await blocksOf({ ...post, asVoice, message: sentText(post.message ?? "") }, to, parts);
  const blocks = formed(made, form);
  const isLoud = silent === true && parts.channels.limits(to)?.silent !== true;
  // The run may have been stopped while a file was fetched.
  signal.throwIfAborted();
  const reply = {
    replyKey: key,
    inboxId,
    to,
    blocks,
    ...(replyTo !== undefined && { replyTo }),
    ...(buttons && { buttons }),
    ...(silent === true && !isLoud && { silent }),
  };
  const posted = postedOf(await deliverAndWait(reply, SEND_WAIT_MS, { ...parts, signal }));
  return { ...posted, ...(isLoud && { isLoud }) };
}

/** The blocks with the call's wishes for files: name and type for an only file, and files as documents. */
function formed(blocks: readonly ReplyBlock[], form: FileForm = {}): readonly ReplyBlock[] {
  const { as, name, mime } = form;
  const isOnly = blocks.filter(({ kind }) => kind === "media").length === 1;
  return blocks.map((block) => {
    if (block.kind !== "media") return block;
    const named = isOnly ? { ...(name !== undefined && { name }), ...(mime !== undefined && { mime }) } : {};
    return { ...block, media: { ...block.media, ...named, ...(as === "document" && { kind: as }) } };
  });
}

async function edit(
  to: Peer,
  messageId: string,
  { markdown, links }: { markdown: string; links: Links },
): Promise<SendResult> {
  const limits = links.limits(to);
  const [part, ...more] = limits ? await renderText(sentText(markdown), limits) : [];
  if (!part) return { kind: "refused", reason: "there is no text to show" };
  if (more.length > 0) return { kind: "refused", reason: "the text is longer than one message may be" };
  return through(links.link(to), (link) => link.edit?.(to, messageId, part));
}

async function through(
  link: ChannelLink | undefined,
  act: (link: ChannelLink) => Promise<SendResult> | undefined,
): Promise<SendResult> {
  if (!link) return { kind: "retry", reason: "the channel is not connected" };
  return (await act(link)) ?? { kind: "refused", reason: "the platform has no such thing" };
}
