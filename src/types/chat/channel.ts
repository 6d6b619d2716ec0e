import type { z } from "zod";
import type { AccountId, ChannelId } from "../ids.ts";
import type { InboundMessage, MediaItem, MediaKind, Peer } from "./message.ts";
import type { OutboundPart, OutboundText, ReplyButton, TextFormat } from "./reply.ts";

export interface ChannelLimits {
  /** UTF-16 units of one text message, after formatting. */
  readonly text: number;
  readonly format: TextFormat;
  /** Bytes of one incoming or outgoing file. */
  readonly media: number;
  /** Lines of one text message, beyond which people see a wall; Discord 17. */
  readonly lines?: number;
  /** How tables are shown; by their width unless the config says it. */
  readonly tables?: "off" | "bullets" | "code" | "block" | undefined;
  /** Least milliseconds between two edits of a preview. */
  readonly editEveryMs?: number;
  /** Text below a file; each goes as a message of its own where unset. */
  readonly caption?: CaptionLimits;
  /** Several files in one message; each goes alone where unset. */
  readonly album?: AlbumLimits;
  /** True where a message can come without a sound. */
  readonly silent?: boolean;
}

export interface CaptionLimits {
  /** UTF-16 units, after formatting. */
  readonly text: number;
  /** Kinds of files that have none. */
  readonly not?: readonly MediaKind[];
}

/** Voice notes and stickers are never part of an album. */
export interface AlbumLimits {
  /** Files of one album. */
  readonly files: number;
  /** Bytes of one album. */
  readonly bytes?: number;
  /** Only files of one sort go together; a file without a sort goes alone. All go together where unset. */
  readonly sortOf?: (item: MediaItem) => string | undefined;
}

export interface SendOptions {
  /** Platform message id that this answers. */
  readonly replyTo?: string;
  /** Stable over retries; adapters pass it on where the platform takes one. */
  readonly idempotencyKey: string;
  readonly buttons?: readonly ReplyButton[];
  /** Without a sound, where `ChannelLimits.silent` says that the platform knows it. */
  readonly silent?: boolean;
}

/**
 * What became of one call to the platform. `retry`: certain that nothing arrived, try again after `afterMs`.
 * `unknown`: it may have arrived. `refused`: will never be taken.
 *
 * `fix`: the platform refuses the account itself, such as its token. The account is stopped and its status says `reason` and
 * `fix`; the message waits for the next start of the account.
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
  | { readonly kind: "refused"; readonly reason: string };

export interface StreamOptions {
  /** Stable over restarts. */
  readonly key: string;
  /** Platform message id that the answer answers. */
  readonly replyTo?: string;
  /** Who is answered, with the id of the team where the message came with one. */
  readonly recipient?: { readonly id: string; readonly teamId?: string };
}

/**
 * An answer that the platform itself shows as being written. Calls come one after the other; none rejects. After `refused`
 * nothing more is asked of it: a message is sent, or the one that it made edited.
 */
export interface NativeStream {
  /** True: what is shown is a message, and the final an edit of it. False: it goes away by itself, and the final is sent. */
  readonly isMessage: boolean;
  /** Milliseconds without a `show` after which `keepAlive` is called. */
  readonly keepAliveMs: number;
  /** The text so far, and how it would be sent. `sent` names the message; any id where there is none. */
  show(part: OutboundText, markdown: string): Promise<SendResult>;
  /** Nothing new came for a while: shows the same once more, or refuses. */
  keepAlive(): Promise<SendResult>;
  /** No final follows: what is shown is all of it. */
  end?(): Promise<void>;
}

/** How a person writes one of the gateway's commands in a chat. */
export interface CommandForm {
  /** What comes before the command's name, such as `/openclaw `. */
  readonly prefix: string;
  /** A sentence for the list of commands. */
  readonly note?: string;
}

/** A running connection of one account. A capability is there when its method is there. Only `download` and `missedSince` throw. */
export interface ChannelLink {
  send(to: Peer, part: OutboundPart, options: SendOptions): Promise<SendResult>;
  /** Replaces the text of a message of ours. Doing it twice is harmless. */
  edit?(
    to: Peer,
    messageId: string,
    part: OutboundPart & { kind: "text" },
    options?: Pick<SendOptions, "buttons">,
  ): Promise<SendResult>;
  remove?(to: Peer, messageId: string): Promise<SendResult>;
  /** For an answer while it is written; only beside `edit`. Undefined where this chat has nothing but sends and edits. */
  stream?(to: Peer, options: StreamOptions): NativeStream | undefined;
  /** Shows "typing…" for a few seconds; called again while a run goes on. */
  typing?(to: Peer): Promise<void>;
  react?(to: Peer, messageId: string, emoji: string | undefined): Promise<SendResult>;
  /**
   * Asked after a crash about a send with unknown end: `sent` when the platform holds it, `retry` when it certainly does
   * not (it is sent once more, unlabelled), `unknown` when that cannot be told.
   */
  find?(to: Peer, part: OutboundPart, options: Pick<SendOptions, "idempotencyKey" | "replyTo">): Promise<SendResult>;
  /** Where the platform's own app does not send a message that begins with a slash; `/` and the name where unset. */
  commandForm?(to: Peer): CommandForm;
  /** A command of the menu or a pressed button gets no answer: what shows that it waits for one can go. */
  clearPending?(message: InboundMessage): Promise<void>;
  /**
   * Bytes of a file that the platform holds. Throws `OpenClawError` `MEDIA_UNAVAILABLE` or `MEDIA_TOO_LARGE` where it never
   * can be had; after anything else it is asked again, after `NotNow` not sooner than that says.
   */
  download?(item: MediaItem): Promise<FetchedFile>;
  /**
   * What came since an epoch millisecond, oldest first, for platforms that do not deliver it by themselves. Called after
   * `connect` and after each trouble; what was received before is found by its `eventKey`. May throw: asked again later.
   */
  missedSince?(since: number): Promise<readonly InboundMessage[]>;
  /** Resolves when nothing is received any more. */
  close(): Promise<void>;
}

export interface FetchedFile {
  readonly bytes: Uint8Array;
  readonly mime?: string;
  readonly name?: string;
}

/** A file at an address that a platform or a sender named. */
export interface FetchRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** Most bytes; the adapter's media limit unless given. */
  readonly maxBytes?: number;
  /** Origins that the operator configured: only these may be private, and only they get `headers` after a redirect. */
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
  /** As it came, for signatures. */
  readonly body: Uint8Array;
}

export interface WebhookAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Small durable values of one account, such as a cursor or the last event seen. */
export interface AccountNotes {
  get(key: string): Promise<string | undefined>;
  /** Resolves when it is durable. */
  set(key: string, value: string): Promise<void>;
}

/** What an adapter may ask of the gateway. */
export interface ChannelHost {
  readonly account: AccountId;
  /**
   * Takes events. Resolves when they are durable: only then may the platform be acknowledged.
   * Rejects when they could not be stored (disk full): the adapter does not acknowledge, waits and offers them again.
   */
  receive(messages: readonly InboundMessage[]): Promise<void>;
  /** Tells a proof of life or its loss. Health is the time since the last `alive`. */
  report(state: LinkReport): void;
  /** Reads bytes that a `MediaItem` at the store points to. */
  openMedia(item: MediaItem): Promise<Uint8Array>;
  /**
   * Reads a file over the guard: no private address, pinned DNS, limited size. Throws `MEDIA_UNAVAILABLE`, `MEDIA_TOO_LARGE`,
   * or `NotNow` for what passes.
   */
  fetch(url: string, request?: FetchRequest): Promise<FetchedFile>;
  readonly notes: AccountNotes;
  /** A private folder of this account (0700), for keys of the platform's SDK. Throws `CHANNEL_CONFIG` where there is none. */
  folder(): Promise<string>;
  /**
   * The address for `import()` of a library that the package does not carry, such as `some-sdk`. It is fetched when it is first
   * asked for, by the lock that this release has for the channel, and none of its install scripts runs. Throws `CHANNEL_CONFIG`
   * where there is no such lock or no npm, `CHANNEL_LIBRARY` when it could not be fetched this time.
   */
  library(name: string): Promise<string>;
  /** For the platform's command menu. */
  readonly commands: readonly MenuCommand[];
  /** Answers requests to a path of the gateway's HTTP server until the signal aborts. Throws `CHANNEL_CONFIG` where it cannot. */
  serve(path: string, answer: (request: WebhookRequest) => Promise<WebhookAnswer>): void;
  readonly log: ChannelLog;
  /** Aborted when the gateway stops or restarts the adapter. */
  readonly signal: AbortSignal;
}

/** Something that a person should see to; a sentence each. */
export interface Notice {
  readonly problem: string;
  readonly fix: string;
}

export type LinkReport =
  | { readonly kind: "alive"; readonly self?: { id: string; name: string } }
  /** It is tried again; `fix` where a person can help. */
  | { readonly kind: "trouble"; readonly reason: string; readonly fix?: string; readonly retryInMs?: number }
  | { readonly kind: "dead"; readonly reason: string; readonly fix: string }
  /** All that is to be seen to while the account goes on; what was told before and is not among them is over. */
  | { readonly kind: "notices"; readonly notices: readonly Notice[] };

/** What a person sees while an account is linked. */
export type LoginStep =
  /** The text of a QR code; it replaces the one before. */
  | { readonly kind: "qr"; readonly text: string }
  /** To be typed into the platform's app. */
  | { readonly kind: "code"; readonly code: string }
  | { readonly kind: "told"; readonly text: string };

/** Where `openclaw channels login` and the page meet an adapter. */
export interface LoginHost {
  readonly account: AccountId;
  readonly signal: AbortSignal;
  readonly log: ChannelLog;
  /** As the `folder` of the host. */
  folder(): Promise<string>;
  /** As the `library` of the host. */
  library(name: string): Promise<string>;
  show(step: LoginStep): void;
  /** A phone number with leading plus asks for a pairing code instead of a QR code. */
  readonly phone?: string;
}

/** One line an operator would ask about. `fields` never hold a secret. */
export interface ChannelLog {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** Who holds a link, and how it is ended there; a sentence each. */
export interface Unlinking {
  readonly holder: string;
  readonly fix: string;
}

/** An account as configured, checked by the adapter's own schema. */
export interface ChannelAdapter<Config = unknown> {
  readonly id: ChannelId;
  /** Shown to people: `Telegram`. */
  readonly label: string;
  readonly limits: ChannelLimits;
  readonly config: z.ZodType<Config>;
  /** Resolves once the adapter is at work; it reconnects by itself. Throws `OpenClawError` when the config cannot work. */
  connect(config: Config, host: ChannelHost): Promise<ChannelLink>;
  /** Links the account; gives back who it is. Throws `OpenClawError` when it could not, or when the signal aborted. */
  login?(config: Config, host: LoginHost): Promise<{ readonly id: string; readonly name: string }>;
  /** Forgets the account here and, where it can, on the platform. */
  logout?(config: Config, host: LoginHost): Promise<void>;
  /** How a person ends a link that something else than the gateway holds. */
  unlinking?(config: Config): Unlinking;
  /**
   * The name of the account, asked without connecting. Throws `OpenClawError` when the settings cannot work, `NotNow` with a
   * fix where more than the network may be in the way.
   */
  probe?(config: Config, signal: AbortSignal): Promise<string>;
  /** Milliseconds that a probe may need, where a doctor's usual two seconds are too few. */
  readonly probeMs?: number;
}
