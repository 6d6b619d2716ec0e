import type { AccountId, ChannelId, MediaId, SessionKey } from "../ids.ts";
import type { ThinkLevel } from "../run/model.ts";

/** Where a message came from and where its answer goes. Ids are the platform's own, as strings. */
export interface Peer {
  readonly channel: ChannelId;
  readonly account: AccountId;
  readonly chat: { readonly kind: "direct" | "group"; readonly id: string; readonly title?: string };
  /** Forum topic, Slack thread …; absent in the chat's main stream. */
  readonly thread?: string;
}

export interface Sender {
  readonly id: string;
  readonly name?: string;
  readonly username?: string;
  /** Phone number with leading plus, where the platform has one. */
  readonly e164?: string;
  readonly isBot?: boolean;
  /** Ids of the sender's roles in the guild or team, for bindings. */
  readonly roles?: readonly string[];
}

export type MediaKind = "image" | "audio" | "voice" | "video" | "document" | "sticker";

/** A file beside a message: either already in the media store or still on the platform. */
export interface MediaItem {
  readonly kind: MediaKind;
  readonly mime?: string;
  readonly name?: string;
  readonly bytes?: number;
  readonly durationSeconds?: number;
  readonly source: { readonly at: "store"; readonly id: MediaId } | { readonly at: "platform"; readonly ref: string };
}

export interface QuotedMessage {
  readonly id: string;
  readonly sender?: string;
  readonly text?: string;
  /** Its files, where the platform gives them along. */
  readonly media?: readonly MediaItem[];
  /** What was said in its recordings, once they were listened to. */
  readonly spoken?: readonly string[];
  readonly fromBot?: boolean;
}

/** A line of a chat that the bot saw but was not asked to answer. */
export interface HistoryLine {
  readonly sender: string;
  readonly at: number;
  readonly text: string;
}

/** A person put an emoji under a message, or took it away. */
export interface ReactionFacts {
  readonly emoji: string;
  readonly messageId: string;
  /** True when it was taken away. */
  readonly removed?: boolean;
  /** The message is one of the bot's. */
  readonly toBot?: boolean;
}

/** What a channel adapter makes of one platform event; stored in the journal as JSON, so plain data only. */
export interface InboundMessage {
  /** The platform's message id. */
  readonly id: string;
  /** Unique per (channel, account) for ever: a redelivered event has the same one. */
  readonly eventKey: string;
  readonly from: Peer;
  readonly sender: Sender;
  readonly text: string;
  readonly media: readonly MediaItem[];
  /** The bot was named, or one of its messages was replied to. True in direct chats. */
  readonly mentionsBot: boolean;
  readonly replyTo?: QuotedMessage;
  readonly isEdit?: boolean;
  /** What it is, when nobody simply wrote: `reaction` (text empty), a pressed `button`, or a `command` of the platform's menu. */
  readonly event?: "reaction" | "button" | "command";
  readonly reaction?: ReactionFacts;
  /** Discord server; for bindings. */
  readonly guildId?: string;
  /** Slack workspace; for bindings. */
  readonly teamId?: string;
  /** First message of the thread, when it is not this one. */
  readonly threadStarter?: string;
  /** What was said in the thread, or before it, and is in no transcript; one entry a message, oldest first. */
  readonly threadHistory?: readonly string[];
  /** Forward headers, captions of shared contacts and locations: shown to the model as untrusted. */
  readonly untrusted?: readonly string[];
  /** Epoch milliseconds of arrival here. */
  readonly receivedAt: number;
  /** Epoch milliseconds given by the platform. */
  readonly sentAt?: number;
  /** What a web, RPC or CLI client may ask for beside the text. */
  readonly options?: MessageOptions;
}

export interface MessageOptions {
  /** Given session instead of the one that the route would name. */
  readonly sessionKey?: SessionKey;
  readonly thinking?: ThinkLevel;
  readonly model?: string;
  readonly timeoutMs?: number;
  /** Chat that gets the answer of an operator's message; otherwise the client alone does. */
  readonly deliverTo?: Peer;
  /** The client is an operator: owner rights, no admission. */
  readonly operator?: boolean;
  /** The name of the turn's `TurnKind`; a person's message when unset. */
  readonly kind?: string;
  /** Nobody wrote: the gateway wakes the agent. */
  readonly heartbeat?: HeartbeatTurn;
}

/** How a turn goes that the gateway itself begins, to let an agent look after what it was asked to. */
export interface HeartbeatTurn {
  /** UTF-16 units of remark beside `HEARTBEAT_OK` that still count as nothing to say. */
  readonly ackMaxChars: number;
  /** Nothing of earlier turns is shown to the model. */
  readonly isolated?: boolean;
  /** Of the workspace's files the model gets `HEARTBEAT.md` alone. */
  readonly light?: boolean;
  /** The conversation of the chat that gets the words, when it is another one: it is told what was said there. */
  readonly tell?: SessionKey;
  /** What it was woken for, where that is news. */
  readonly news?: string;
}
