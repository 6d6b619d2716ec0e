import type { ButtonLimits, ChannelLimits, ChannelLink } from "../types/chat/channel.ts";
import type { Clock } from "../types/clock.ts";
import type { OpenClawError } from "../types/errors.ts";
import type { HookRunner } from "../types/hook/hooks.ts";
import type { OutboxJournal } from "../types/journal.ts";
import type { Log } from "../types/log.ts";
import type { Peer } from "../types/chat/message.ts";
import type { Gap } from "./gaps.ts";
import type { RateLimits } from "./rate-limiter.ts";

/** The links to chats; undefined while an adapter is not connected. */
export interface Links {
  link(to: Peer): ChannelLink | undefined;
  limits(to: Peer): ChannelLimits | undefined;
  /** Limits for the buttons of a message in a chat, connected or not; undefined where the chat has no buttons. */
  buttons?(to: Peer): ButtonLimits | undefined;
  /** Resolves when the chat's account has a link, or the signal aborts. New links are not reported when unset. */
  linked?(to: Peer, signal: AbortSignal): Promise<void>;
}

export interface OutboxDeps {
  readonly journal: OutboxJournal;
  readonly links: Links;
  readonly log: Log;
  readonly clock: Clock;
  /** Whether possible repeats are labelled in the chat; yes when unset. The journal records them in any case. */
  readonly labelsRepeats?: () => boolean;
  /** The operator's rate limits of a chat. Only the platform's own when unset. */
  readonly pacing?: (to: Peer) => RateLimits;
  /** Milliseconds after which an unsent reply is too old; six hours when unset. */
  readonly maxAgeMs?: () => number;
  /** The line that informs a chat about gaps. No line when unset. */
  readonly gapText?: (gaps: readonly Gap[]) => string;
  /** Called when a reply waits because the disk is full. Must not throw. */
  readonly onDiskError?: (error: OpenClawError) => void;
  /** The hooks of plugins; none when unset. */
  readonly hooks?: HookRunner;
  /** Called once for each message that the platform accepted. */
  readonly onSent?: (to: Peer) => void;
}
