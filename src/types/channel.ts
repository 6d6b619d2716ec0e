import type { z } from "zod";
import type { AccountId, ChannelId } from "./ids.ts";
import type { InboundMessage, MediaItem, Peer } from "./message.ts";
import type { OutboundPart, ReplyButton, TextFormat } from "./reply.ts";

export interface ChannelLimits {
  /** UTF-16 units of one text message, after formatting. */
  readonly text: number;
  readonly format: TextFormat;
  /** Bytes of one incoming or outgoing file. */
  readonly media: number;
  /** Least milliseconds between two edits of a preview. */
  readonly editEveryMs?: number;
}

export interface SendOptions {
  /** Platform message id that this answers. */
  readonly replyTo?: string;
  /** Stable over retries; adapters pass it on where the platform takes one. */
  readonly idempotencyKey: string;
  readonly buttons?: readonly ReplyButton[];
  readonly silent?: boolean;
}

/**
 * What became of one call to the platform. `retry`: certain that nothing arrived, try again after `afterMs`.
 * `unknown`: it may have arrived. `refused`: will never be taken.
 */
export type SendResult =
  | { readonly kind: "sent"; readonly messageId: string }
  | { readonly kind: "retry"; readonly reason: string; readonly afterMs?: number; readonly rateLimited?: boolean }
  | { readonly kind: "unknown"; readonly reason: string }
  | { readonly kind: "refused"; readonly reason: string };

/** A running connection of one account. A capability is there when its method is there. None of them throws. */
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
  /** Shows "typing…" for a few seconds; called again while a run goes on. */
  typing?(to: Peer): Promise<void>;
  react?(to: Peer, messageId: string, emoji: string | undefined): Promise<SendResult>;
  /** Bytes of a file that the platform holds. Throws `MediaUnavailable` with a reason. */
  download?(item: MediaItem): Promise<{ bytes: Uint8Array; mime?: string; name?: string }>;
  /** Resolves when nothing is received any more. */
  close(): Promise<void>;
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
  readonly log: ChannelLog;
  /** Aborted when the gateway stops or restarts the adapter. */
  readonly signal: AbortSignal;
}

export type LinkReport =
  | { readonly kind: "alive"; readonly self?: { id: string; name: string } }
  | { readonly kind: "trouble"; readonly reason: string; readonly retryInMs?: number }
  | { readonly kind: "dead"; readonly reason: string; readonly fix: string };

/** One line an operator would ask about. `fields` never hold a secret. */
export interface ChannelLog {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
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
}
