import type { ChannelLimits, ChannelLink } from "../types/chat/channel.ts";
import type { Clock } from "../types/clock.ts";
import type { OpenClawError } from "../types/errors.ts";
import type { OutboxJournal } from "../types/journal.ts";
import type { Log } from "../types/log.ts";
import type { Peer } from "../types/chat/message.ts";
import type { Gap } from "./gaps.ts";
import type { RateLimits } from "./rate-limiter.ts";

/** The way to a chat; undefined while its adapter is not connected. */
export interface Links {
  link(to: Peer): ChannelLink | undefined;
  limits(to: Peer): ChannelLimits | undefined;
}

export interface OutboxDeps {
  readonly journal: OutboxJournal;
  readonly links: Links;
  readonly log: Log;
  readonly clock: Clock;
  /** Whether the reader is told that a message may be there twice; yes when unset. The journal knows it either way. */
  readonly labelsRepeats?: () => boolean;
  /** How quickly a chat is written to at most; as quick as its platform takes it when unset. */
  readonly pacing?: (to: Peer) => RateLimits;
  /** Milliseconds after which an unsent reply is no answer any more; six hours when unset. */
  readonly maxAgeMs?: () => number;
  /** The line that tells a chat what it may miss; it is not told when unset. */
  readonly gapText?: (gaps: readonly Gap[]) => string;
  /** Called when a reply waits because its row could not be written. Must not throw. */
  readonly onDiskError?: (error: OpenClawError) => void;
  /** Called once per message that the platform took. */
  readonly onSent?: (to: Peer) => void;
}
