import type { AccountId, ChannelId, MediaId, RunId, SessionKey } from "../ids.ts";
import type { AgentInternalEvent } from "../engine/internal-event.ts";
import type { ThinkLevel } from "../run/model.ts";
import type { ClientAsk } from "./client-ask.ts";

/** Where a message came from and where its answer goes. Ids are the platform's, as strings. */
export interface Peer {
  readonly channel: ChannelId;
  readonly account: AccountId;
  readonly chat: { readonly kind: "direct" | "group"; readonly id: string; readonly title?: string };
  /** Forum topic, Slack thread …; absent outside of threads. */
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

/** A file of a message, in the media store or still on the platform. */
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
  /** Files of the quoted message, where the platform includes them. */
  readonly media?: readonly MediaItem[];
  /** Transcripts of the quoted message's recordings. */
  readonly spoken?: readonly string[];
  readonly fromBot?: boolean;
}

/** A message of a chat that the bot received but was not asked to answer. */
export interface HistoryLine {
  readonly sender: string;
  readonly at: number;
  readonly text: string;
}

/** A person added an emoji to a message, or removed it. */
export interface ReactionFacts {
  readonly emoji: string;
  readonly messageId: string;
  /** True when the reaction was removed. */
  readonly removed?: boolean;
  /** The bot wrote the message. */
  readonly toBot?: boolean;
}

/**
 * Something that happened in a chat beside messages and reactions. The sender of the event did it; where the platform does not say who
 * deleted a message, the sender is its author.
 */
export interface ChatNews {
  readonly kind: "deleted" | "pinned" | "unpinned" | "joined" | "left" | "renamed";
  /** The message that was deleted, pinned or unpinned. */
  readonly messageId?: string;
  /**
   * The person who joined, left or wrote the deleted message, when that is not the sender; the new name of a chat or
   * thread.
   */
  readonly subject?: string;
}

/** Facts of the platform about a message beside the message itself. */
export interface MessageContext {
  /** Name of the thread, topic or forum post. */
  readonly threadName?: string;
  /** First message of the thread, when the present message is not that one. */
  readonly threadStarter?: string;
  /** Messages in the thread, or before it, that no transcript has, oldest first. */
  readonly threadHistory?: readonly string[];
  /** Somebody forwarded the message from elsewhere. */
  readonly isForwarded?: boolean;
}

/** One platform event, as a channel adapter normalises it. Plain data only: the journal stores it as JSON. */
export interface InboundMessage {
  /** The platform's message id. */
  readonly id: string;
  /** Unique per channel and account, for ever. A redelivered event has the same key. */
  readonly eventKey: string;
  readonly from: Peer;
  readonly sender: Sender;
  readonly text: string;
  readonly media: readonly MediaItem[];
  /** The message mentions the bot or replies to one of its messages. True in direct chats. */
  readonly mentionsBot: boolean;
  readonly replyTo?: QuotedMessage;
  readonly isEdit?: boolean;
  /**
   * Set unless a person simply wrote: a `reaction` or `news` of the chat (the text is empty), a pressed `button`, or a `command` of
   * the platform's menu.
   */
  readonly event?: "reaction" | "news" | "button" | "command";
  readonly reaction?: ReactionFacts;
  readonly news?: ChatNews;
  /** Discord server; for bindings. */
  readonly guildId?: string;
  /** Slack workspace; for bindings. */
  readonly teamId?: string;
  readonly context?: MessageContext;
  /** Forward headers, shared contacts, locations and the like: the model sees them marked as untrusted. */
  readonly untrusted?: readonly string[];
  /** Epoch milliseconds at which the gateway received the message. */
  readonly receivedAt: number;
  /** Epoch milliseconds at which the message was sent, as the platform says. */
  readonly sentAt?: number;
  /** Requests of a web, RPC or CLI client in addition to the text. */
  readonly options?: MessageOptions;
  /**
   * Set by the journal when what decides about the message was missing or of a wrong type. The other fields are placeholders then, and
   * nobody answers it.
   */
  readonly unreadable?: UnreadableMessage;
}

interface UnreadableMessage {
  readonly why: string;
  /** The event as it was offered; unset when it was too large to be kept. */
  readonly raw?: unknown;
}

/** Facts that the kinds of turns need and that no person asked for. */
interface KindOptions {
  /** Set when nobody wrote and the gateway itself started the turn. */
  readonly heartbeat?: HeartbeatTurn;
  /** Set for the turn of a subagent. */
  readonly subagent?: SubagentTurn;
  /** Set for the turn by which a session learns that a subagent has ended. */
  readonly announce?: AnnounceTurn;
  /** Set for a message that another session's agent wrote. */
  readonly relay?: RelayTurn;
  /**
   * Set for the turn after the end of a background command. The turn acts for the person or program that started the
   * command.
   */
  readonly exec?: { readonly isOwner: boolean; readonly tools?: readonly string[] };
  /** Set for the turn of a scheduled job. */
  readonly cron?: CronTurn;
  /** Set for the turn of a request from another program. */
  readonly hook?: HookTurn;
  /** The run that brought the turn about: the turn draws from its budgets. Unset where no run did. */
  readonly broughtBy?: RunId;
  /**
   * The message that is accepted in the commit that ends this one, unless this one was stopped. The message of a
   * subagent waits while other messages of its session, or subagents that it asked for, are open: then the last of
   * these brings the message.
   */
  readonly whenEnded?: InboundMessage;
}

export interface MessageOptions extends KindOptions {
  /** The session to use instead of the routed one. */
  readonly sessionKey?: SessionKey;
  /** Messages that the chat had before, when another message took them: several agents answer the chat. */
  readonly pending?: readonly HistoryLine[];
  readonly thinking?: ThinkLevel;
  readonly model?: string;
  readonly timeoutMs?: number;
  /** The chat that also gets the answer to an operator's message. */
  readonly deliverTo?: Peer;
  /** The client is an operator: owner rights, no admission. */
  readonly operator?: boolean;
  /** The name of the turn's `TurnKind`; a person's message when unset. */
  readonly kind?: string;
  /** Set for a request in OpenAI's protocol. */
  readonly client?: ClientAsk;
}

/** How the turn of a request from another program runs. */
export interface HookTurn {
  /** The source, as the config or the request calls it. */
  readonly name: string;
  /** Text for the System lines, in a conversation that people have, too. */
  readonly event?: string;
  /** The request begins no turn: its text waits for the next turn of its conversation. */
  readonly isForNextTurn?: boolean;
  /** A hook of the gateway itself has begun it, and no other program. */
  readonly isOwn?: true;
}

/** How the turn of a scheduled job runs. */
export interface CronTurn {
  readonly jobId: string;
  readonly name: string;
  /** The rights with which the turn acts. */
  readonly setUpBy: "owner" | "guest";
  /** The only tools that the turn may have: names and groups; all when unset. */
  readonly tools?: readonly string[];
  /** Models that are asked after the message's own model; those of the agent when unset. */
  readonly fallbacks?: readonly string[];
  /** The system prompt has no files of the workspace. */
  readonly isLight?: boolean;
  /** Text for the System lines, in a conversation that people have, too. */
  readonly event?: string;
  /** The command that is run instead of asking a model. */
  readonly command?: CommandTurn;
  /** The job's text contains output of a program. */
  readonly isFromOutside?: boolean;
  /** The session of the chat that gets the answer, when it is not the turn's own: it gets a note about the answer. */
  readonly tell?: SessionKey;
}

/** A command whose output is the answer of its turn. */
export interface CommandTurn {
  /** As the shell reads it. */
  readonly command: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** 0: as long as the config allows. */
  readonly timeoutSeconds: number;
  /** Bytes of the output, the last ones, that the answer has. */
  readonly mostBytes: number;
}

/** How the turn of a subagent runs, and who asked for it. */
export interface SubagentTurn {
  /** How many runs may be waiting for it, one for another; 1 for a subagent of a person's turn. */
  readonly depth: number;
  /** The turn has an owner's rights, because an owner's turn asked for it; a guest's rights when unset. */
  readonly isOwner?: boolean;
  /** The plugin that asked for the subagent. */
  readonly plugin?: string;
  /** Names of the tools of the run that asked for it, which are all that it can have; unset when no run did. */
  readonly tools?: readonly string[];
  /** The conversation that asked for the subagent; unset when none did. */
  readonly parent?: SessionKey;
  /** Joins the system prompt. */
  readonly systemPrompt?: string;
  /** The only files of the workspace that the system prompt has; all when unset. */
  readonly files?: readonly string[];
  /** The session above all others that wait for it. */
  readonly root?: SessionKey;
}

/** Rights of a turn that another turn of the same session brought about. */
interface HandedOn {
  /** The other turn had an owner's rights. */
  readonly isOwner?: boolean;
  /** Names of the other turn's tools, which are all that this turn can have. */
  readonly tools?: readonly string[];
  /** How many runs may be waiting for that session; 0 for one that people have. */
  readonly depth?: number;
  /** The session for which that session works, when it is a subagent's. */
  readonly root?: SessionKey;
}

/** The end of a subagent, for the session that asked for the subagent. */
export interface AnnounceTurn extends HandedOn {
  readonly child: SessionKey;
  /** The first run of the subagent. */
  readonly runId: string;
  readonly label: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /**
   * Set when the informed session is a subagent's: the text joins the system prompt, and `files` are the only workspace
   * files in it.
   */
  readonly systemPrompt?: string;
  readonly files?: readonly string[];
  /** The announcement begins no turn for anybody; its row only keeps the order. */
  readonly isSilent?: boolean;
  /** The event that the session gets; made when the turn begins, so the journal does not have it. */
  readonly event?: AgentInternalEvent;
}

/** A message from one session's agent to another session. */
export interface RelayTurn extends HandedOn {
  /** The session whose agent wrote the message. */
  readonly from: SessionKey;
  /** `answer`: the message asks the agent. `last`: the agent may write the result into its own chat. */
  readonly step: "answer" | "last";
  /** The session that began the exchange, and the session that it asked. */
  readonly between: readonly [asker: SessionKey, asked: SessionKey];
  /** The same for all messages that follow from one. */
  readonly traceId: string;
  /** The sessions that the messages of this trace have been in. */
  readonly trace: readonly SessionKey[];
  /** How many more answers may go back and forth. */
  readonly turnsLeft: number;
  /** The run whose answer is the text; the text is in the message when unset. */
  readonly answerOf?: { readonly key: SessionKey; readonly runId: string };
}

/** The settings of a turn that the gateway starts itself, so that an agent checks on things. */
export interface HeartbeatTurn {
  /** UTF-16 units of text that `HEARTBEAT_OK` may have around it and still count as nothing to report. */
  readonly ackMaxChars: number;
  /** The model sees no earlier turns. */
  readonly isolated?: boolean;
  /** The model sees only `HEARTBEAT.md` of the workspace's files. */
  readonly light?: boolean;
  /** The session of the chat that gets the answer, when it is not the turn's own: it gets a note about the answer. */
  readonly tell?: SessionKey;
  /** The news that caused the turn, if any. */
  readonly news?: string;
}
