import type { z } from "zod";
import type { AccountId, ChannelId } from "../ids.ts";
import type {
  ChatFacts,
  NewThread,
  Poll,
  ReactionCount,
  ReadQuery,
  SearchQuery,
  SeenMessage,
  SeenThread,
} from "./actions.ts";
import type { InboundMessage, MediaItem, MediaKind, Peer } from "./message.ts";
import type { OutboundPart, OutboundText, ReplyButton, TextFormat } from "./reply.ts";

export interface ChannelLimits {
  /** UTF-16 units of one text message, after formatting. */
  readonly text: number;
  readonly format: TextFormat;
  /** Bytes of one incoming or outgoing file. */
  readonly media: number;
  /** Lines of one text message, where longer ones are hard to read; Discord 17. */
  readonly lines?: number;
  /** How tables are shown; when the config sets nothing, by their width. */
  readonly tables?: "off" | "bullets" | "code" | "block" | undefined;
  /** Minimum milliseconds between two edits of a preview. */
  readonly editEveryMs?: number;
  /** Text below a file; when unset, text and file are separate messages. */
  readonly caption?: CaptionLimits;
  /** Several files in one message; when unset, each is a message. */
  readonly album?: AlbumLimits;
  /** True when messages can be sent without a notification sound. */
  readonly silent?: boolean;
}

export interface CaptionLimits {
  /** UTF-16 units, after formatting. */
  readonly text: number;
  /** Kinds of files that cannot have a caption. */
  readonly not?: readonly MediaKind[];
}

/** Voice notes and stickers are never part of an album. */
export interface AlbumLimits {
  /** Files of one album. */
  readonly files: number;
  /** Bytes of one album. */
  readonly bytes?: number;
  /** Only files of the same sort share an album; a file without a sort is sent alone. When unset, all can share one. */
  readonly sortOf?: (item: MediaItem) => string | undefined;
}

/** Limits for the buttons below one message. */
export interface ButtonLimits {
  readonly count: number;
  /** UTF-16 units of a label. */
  readonly label: number;
  /** UTF-8 bytes of a command. */
  readonly command: number;
}

export interface SendOptions {
  /** Platform id of the message that this one quotes. */
  readonly replyTo?: string;
  /**
   * `eventKey` of the message that this one answers, or begins to answer. Unset for all other messages of the bot in
   * the chat. Where a platform shows a message as waiting for an answer, only a send with that message's key may fill
   * it.
   */
  readonly answers?: string;
  /** The same for every retry; adapters pass it on when the platform takes one. */
  readonly idempotencyKey: string;
  readonly buttons?: readonly ReplyButton[];
  /** Sends without a notification sound, when `ChannelLimits.silent` is true. */
  readonly silent?: boolean;
}

/**
 * The result of one call to the platform. `retry`: nothing arrived, for certain; try again after `afterMs`. `unknown`: it may have
 * arrived. `refused`: the platform will never take it.
 *
 * `fix`: the platform refuses the account itself, for example its token. The gateway stops the account and shows `reason` and `fix` in
 * its status; the message waits for the next start of the account.
 */
export type SendResult =
  | { readonly kind: "sent"; readonly messageId: string }
  | {
      readonly kind: "retry";
      readonly reason: string;
      readonly afterMs?: number;
      readonly rateLimited?: boolean;
      readonly fix?: string;
    }
  | { readonly kind: "unknown"; readonly reason: string }
  /**
   * `isUnfit`: as far as the platform says, the message is at fault, and neither its chat nor the account. The core
   * sends its text plainly.
   */
  | { readonly kind: "refused"; readonly reason: string; readonly isUnfit?: true };

export interface StreamOptions {
  /** The same after a restart. */
  readonly key: string;
  /** Platform id of the message that is quoted. */
  readonly replyTo?: string;
  /** `eventKey` of the message that is answered. */
  readonly answers?: string;
  /** The sender who is answered, with the id of the team if the message had one. */
  readonly recipient?: { readonly id: string; readonly teamId?: string };
}

/**
 * An answer that the platform itself shows as being written. Calls are sequential; none rejects. After `refused` there are no further
 * calls: the answer is sent as a message, or the message of the stream is edited.
 */
export interface NativeStream {
  /** True: the stream shows a message, and the final answer edits it. False: it disappears on its own, and the final answer is sent. */
  readonly isMessage: boolean;
  /** Milliseconds without a `show` after which `keepAlive` is called. */
  readonly keepAliveMs: number;
  /**
   * Shows the text so far, rendered as `part` and written as `markdown`. `sent` names the message; any id where there
   * is none.
   */
  show(part: OutboundText, markdown: string): Promise<SendResult>;
  /** There was no new text for a while: shows the same once more, or refuses. */
  keepAlive(): Promise<SendResult>;
  /** No final answer follows: the shown text is complete. */
  end?(): Promise<void>;
}

/** How a person writes one of the gateway's commands in a chat. */
export interface CommandForm {
  /** The text before the command's name, such as `/openclaw `. */
  readonly prefix: string;
  /** A sentence for the list of commands. */
  readonly note?: string;
}

/** The answer to a question about a chat. */
export type Looked<T> = { readonly kind: "found"; readonly value: T } | Exclude<SendResult, { readonly kind: "sent" }>;

/** Changes that can be made in a chat besides sending messages. */
interface ChatDeeds {
  poll?(to: Peer, poll: Poll): Promise<SendResult>;
  pin?(to: Peer, messageId: string, isPinned: boolean): Promise<SendResult>;
  /** `messageId` of the result is the id of the thread. */
  createThread?(to: Peer, thread: NewThread): Promise<SendResult>;
  /** Renames the thread that `to` names. */
  renameThread?(to: Peer, name: string): Promise<SendResult>;
  sticker?(to: Peer, stickerId: string): Promise<SendResult>;
}

/**
 * Actions in a chat besides sending and changing messages. A method is missing where the platform has no such action;
 * none rejects.
 */
export interface ChatActions extends ChatDeeds {
  pins?(to: Peer): Promise<Looked<readonly SeenMessage[]>>;
  /** Oldest first. */
  read?(to: Peer, query: ReadQuery): Promise<Looked<readonly SeenMessage[]>>;
  /** Newest first. */
  search?(to: Peer, query: SearchQuery): Promise<Looked<readonly SeenMessage[]>>;
  reactions?(to: Peer, messageId: string): Promise<Looked<readonly ReactionCount[]>>;
  threads?(to: Peer): Promise<Looked<readonly SeenThread[]>>;
  member?(to: Peer, userId: string): Promise<Looked<ChatFacts>>;
  chat?(to: Peer): Promise<Looked<ChatFacts>>;
  /** Names of the chat's own emoji. */
  emojis?(to: Peer): Promise<Looked<readonly string[]>>;
}

/** Changes that can be made to messages that exist. */
interface MessageChanges {
  /** Replaces the text of one of our messages. A repeat has no effect. */
  edit?(
    to: Peer,
    messageId: string,
    part: OutboundPart & { kind: "text" },
    options?: Pick<SendOptions, "buttons">,
  ): Promise<SendResult>;
  remove?(to: Peer, messageId: string): Promise<SendResult>;
  react?(to: Peer, messageId: string, emoji: string | undefined): Promise<SendResult>;
}

/** An open connection of one account. Optional methods are capabilities. Only `chatId`, `download` and `missedSince` throw. */
export interface ChannelLink extends MessageChanges {
  send(to: Peer, part: OutboundPart, options: SendOptions): Promise<SendResult>;
  readonly actions?: ChatActions;
  /**
   * The platform's own id of a chat, the same for each name that a `Peer` may give it: the id of its person, a public name, an id
   * before a migration. Where messages of a thread belong to the thread alone, the id of the thread. Without it, a chat has one name.
   * Rejects when the platform does not answer.
   */
  chatId?(to: Peer): Promise<string>;
  /** Shows an answer while it is written; a link with `stream` also has `edit`. Undefined when this chat only has sends and edits. */
  stream?(to: Peer, options: StreamOptions): NativeStream | undefined;
  /** Shows "typing…" for a few seconds; called repeatedly during a run. `messageId` is the message that is answered, if it has one. */
  typing?(to: Peer, messageId?: string): Promise<void>;
  /** Removes that sign. Called once when a turn that showed it has ended, also when it sent nothing. */
  endTyping?(to: Peer): Promise<void>;
  /**
   * Looks for a message whose send was interrupted by a crash: `sent` when the platform has it, `retry` when it certainly does not
   * (it is sent again, without a label), `unknown` when the platform cannot say.
   */
  find?(to: Peer, part: OutboundPart, options: Pick<SendOptions, "idempotencyKey" | "replyTo">): Promise<SendResult>;
  /** How people write commands, when the platform's app does not send messages that begin with a slash. */
  commandForm?(to: Peer): CommandForm;
  /**
   * A menu command or a pressed button gets no answer: removes the platform's sign that it is waiting for one. `reason` is a sentence for
   * the sender, to be shown to nobody else; a platform without such messages shows nothing.
   */
  clearPending?(message: InboundMessage, reason?: string): Promise<void>;
  /**
   * Fetches a file from the platform. Throws `OpenClawError` `MEDIA_UNAVAILABLE` or `MEDIA_TOO_LARGE` when a retry is useless. After
   * any other error the gateway retries, after `NotNow` not before the time that it names.
   */
  download?(item: MediaItem): Promise<FetchedFile>;
  /**
   * Messages since an epoch millisecond, oldest first, for platforms that do not deliver them after an outage. Called after `connect`
   * and after each trouble; known messages are recognised by their `eventKey`. May throw: the gateway asks again later.
   */
  missedSince?(since: number): Promise<readonly InboundMessage[]>;
  /**
   * Resolves when the link receives nothing any more, within five seconds. Until then `ChannelHost.receive` still
   * stores: the link passes on the events that the platform takes for delivered.
   */
  close(): Promise<void>;
}

export interface FetchedFile {
  readonly bytes: Uint8Array;
  readonly mime?: string;
  readonly name?: string;
}

/** A request for a file at a URL that a platform or a sender named. */
export interface FetchRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** Maximum bytes; the adapter's media limit by default. */
  readonly maxBytes?: number;
  /** Origins that the operator configured. Only these may be private, and only these get `headers` after a redirect. */
  readonly trusted?: readonly string[];
}

/** A command of the gateway, for the platform's own menu. `name` without slash. */
export interface MenuCommand {
  readonly name: string;
  readonly description: string;
}

export interface WebhookRequest {
  readonly method: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** The unparsed body, so that signatures can be verified. */
  readonly body: Uint8Array;
}

export interface WebhookAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Small durable values of one account, such as a cursor or the id of the last event. */
export interface AccountNotes {
  get(key: string): Promise<string | undefined>;
  /** Resolves when the value is durable. */
  set(key: string, value: string): Promise<void>;
}

/** Methods that an adapter may call in the gateway. */
export interface ChannelHost {
  readonly account: AccountId;
  /**
   * Stores events. Resolves when they are durable: only then may the adapter acknowledge them to the platform. Rejects when they could
   * not be stored (disk full, or the gateway is stopping): the adapter does not acknowledge, waits and offers them again.
   */
  receive(messages: readonly InboundMessage[]): Promise<void>;
  /** Reports a sign of life, or a problem. Health is the time since the last `alive`. */
  report(state: LinkReport): void;
  /** Reads a `MediaItem` of the media store. */
  openMedia(item: MediaItem): Promise<Uint8Array>;
  /**
   * Fetches a file safely: no private addresses, pinned DNS, limited size. Throws `MEDIA_UNAVAILABLE`, `MEDIA_TOO_LARGE`, or `NotNow`
   * for a temporary failure.
   */
  fetch(url: string, request?: FetchRequest): Promise<FetchedFile>;
  readonly notes: AccountNotes;
  /** A private folder of this account (0700), for keys of the platform's SDK. Throws `CHANNEL_CONFIG` when this process has none. */
  folder(): Promise<string>;
  /**
   * The address for `import()` of a library that is not part of the package, such as `some-sdk`. The first call fetches it, by the
   * lockfile of this release for the channel and without install scripts. Throws `CHANNEL_CONFIG` when there is no such lockfile or no
   * npm, `CHANNEL_LIBRARY` when the fetch failed.
   */
  library(name: string): Promise<string>;
  /** Commands for the platform's menu. */
  readonly commands: readonly MenuCommand[];
  /** Answers requests to a path of the gateway's HTTP server until the signal aborts. Throws `CHANNEL_CONFIG` when it cannot. */
  serve(path: string, answer: (request: WebhookRequest) => Promise<WebhookAnswer>): void;
  readonly log: ChannelLog;
  /** Aborted when the gateway stops or restarts the adapter. */
  readonly signal: AbortSignal;
}

/** A problem that a person should solve, and how; a sentence each. */
export interface Notice {
  readonly problem: string;
  readonly fix: string;
}

export type LinkReport =
  | { readonly kind: "alive"; readonly self?: { id: string; name: string } }
  /** The adapter retries; `fix` when a person can help. */
  | { readonly kind: "trouble"; readonly reason: string; readonly fix?: string; readonly retryInMs?: number }
  | { readonly kind: "dead"; readonly reason: string; readonly fix: string }
  /** All current problems that do not stop the account. Problems of an earlier report that are missing here are solved. */
  | { readonly kind: "notices"; readonly notices: readonly Notice[] };

/** Instructions and news that a person sees during a login. */
export type LoginStep =
  /** The text of a QR code; it replaces the code before. */
  | { readonly kind: "qr"; readonly text: string }
  /** A code that the person types into the platform's app. */
  | { readonly kind: "code"; readonly code: string }
  | { readonly kind: "text"; readonly text: string };

/** Methods that an adapter may call during a login, which `openclaw channels login` or the page started. */
export interface LoginHost {
  readonly account: AccountId;
  readonly signal: AbortSignal;
  readonly log: ChannelLog;
  /** Like `ChannelHost.folder`. */
  folder(): Promise<string>;
  /** Like `ChannelHost.library`. */
  library(name: string): Promise<string>;
  show(step: LoginStep): void;
  /** A phone number with leading plus asks for a pairing code instead of a QR code. */
  readonly phone?: string;
}

/** Lines for the operator. `fields` never hold a secret. */
export interface ChannelLog {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** The program that holds a link, and how a person ends the link there; a sentence each. */
export interface Unlinking {
  readonly holder: string;
  readonly fix: string;
}

/** The code of one channel. `Config` is the settings of an account, as the adapter's schema parses them. */
export interface ChannelAdapter<Config = unknown> {
  readonly id: ChannelId;
  /** Shown to people: `Telegram`. */
  readonly label: string;
  readonly limits: ChannelLimits;
  readonly config: z.ZodType<Config>;
  /** Ids of the accounts, where the channel itself knows its accounts and the config has only their settings. */
  accountIds?(): readonly string[];
  /**
   * Limits for the buttons of a message in a chat; undefined where the chat has no buttons. Asked without a connection
   * too, so that the prompt stays the same.
   */
  buttons?(config: Config, to: Peer): ButtonLimits | undefined;
  /** Resolves when the adapter works; it reconnects on its own. Throws `OpenClawError` when the config cannot work. */
  connect(config: Config, host: ChannelHost): Promise<ChannelLink>;
  /**
   * Links the account and returns its identity. Throws `OpenClawError` when that fails or the signal aborts. An account that its platform
   * refused waits for the next login; without this method it is tried again, rarely.
   */
  login?(config: Config, host: LoginHost): Promise<{ readonly id: string; readonly name: string }>;
  /** Removes the link here and, if possible, on the platform. */
  logout?(config: Config, host: LoginHost): Promise<void>;
  /** How a person ends a link that another program holds. */
  unlinking?(config: Config): Unlinking;
  /**
   * Asks the platform for the name of the account, without connecting. Throws `OpenClawError` when the settings cannot work, `NotNow`
   * with a fix when the cause may be more than the network.
   */
  probe?(config: Config, signal: AbortSignal): Promise<string>;
  /** Milliseconds that a probe may take, when the doctor's default of five seconds is too short. */
  readonly probeMs?: number;
}
