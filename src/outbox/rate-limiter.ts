import type { Clock } from "../types/clock.ts";
import type { Peer } from "../types/chat/message.ts";
import { pause } from "../utils/pause.ts";

/** Messages per second that the operator allows. Unset: as many as the platform takes. */
export interface RateLimits {
  readonly perChatPerSecond?: number | undefined;
  readonly perAccountPerSecond?: number | undefined;
}

/** State of one chat, or of a whole account. Times are epoch milliseconds. */
interface Lane {
  /** The platform refuses calls until then. */
  blockedUntil: number;
  /** When the latest call was made or is due. */
  lastAt: number;
  limitedAt: number;
  /** Milliseconds between two calls, learned as of `limitedAt`; 0 where nothing was learned. */
  spacing: number;
}

const NEVER = -Infinity;
/** Two refusals within this time mean that we send too fast. Another program may have caused a single one. */
const SOON_MS = 60_000;
const FIRST_SPACING_MS = 500;
const MOST_SPACING_MS = 8000;
/** Milliseconds without a refusal after which the learned spacing halves. */
const HALVES_EVERY_MS = 60_000;
const LEAST_SPACING_MS = 50;
/** Chats and accounts that are remembered. Beyond that number, the ones that delay no call are forgotten. */
const MOST_LANES = 2000;

/**
 * Decides when the next call to a chat may be made: as fast as the operator allows and the platform has accepted so far.
 * Only one caller per chat waits at a time. Callers of one account wait in parallel and are served in order.
 */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #rules: (to: Peer) => RateLimits;
  readonly #lanes = new Map<string, Lane>();

  constructor(clock: Clock, rules: (to: Peer) => RateLimits = () => ({})) {
    this.#clock = clock;
    this.#rules = rules;
  }

  /** Resolves with true when a call may be made, with false when the signal aborts or `by` comes first. */
  async waitTurn(to: Peer, signal: AbortSignal, by = Infinity): Promise<boolean> {
    while (!signal.aborted && this.#clock.now() < by) {
      const { waitMs, isTaken } = this.#take(to);
      const leftMs = by - this.#clock.now();
      if (waitMs > 0) await pause(Math.min(waitMs, leftMs), { clock: this.#clock, signal });
      // A refusal may have arrived during the wait.
      if (isTaken && waitMs <= leftMs && this.#blockedUntil(to) <= this.#clock.now()) return !signal.aborted;
    }
    return false;
  }

  /** Takes the turn if a call may be made now, and returns 0. Otherwise returns the milliseconds until it may. */
  takeNow(to: Peer): number {
    const waitMs = this.waitMs(to);
    const now = this.#clock.now();
    if (waitMs === 0) for (const name of [chatName(to), accountName(to)]) this.#lane(name).lastAt = now;
    return waitMs;
  }

  /** Milliseconds that `takeNow` would return; takes nothing. */
  waitMs(to: Peer): number {
    const now = this.#clock.now();
    const { perChatPerSecond, perAccountPerSecond } = this.#rules(to);
    const chat = earliestIn(this.#lane(chatName(to)), perChatPerSecond, now);
    const account = earliestIn(this.#lane(accountName(to)), perAccountPerSecond, now);
    return Math.max(0, chat - now, account - now);
  }

  /** True when no call delays the next one: there is no rule, and no refusal that still counts. */
  isUnlimited(to: Peer): boolean {
    const now = this.#clock.now();
    const { perChatPerSecond, perAccountPerSecond } = this.#rules(to);
    const lanes = [this.#lane(chatName(to)), this.#lane(accountName(to))];
    const isFree = lanes.every((lane) => lane.blockedUntil <= now && spacingOf(lane, now) === 0);
    return isFree && perChatPerSecond === undefined && perAccountPerSecond === undefined;
  }

  /** A rate-limited chat takes no slot of its account, or it would block the other chats. */
  #take(to: Peer): { readonly waitMs: number; readonly isTaken: boolean } {
    const now = this.#clock.now();
    const { perChatPerSecond, perAccountPerSecond } = this.#rules(to);
    const chat = this.#lane(chatName(to));
    const account = this.#lane(accountName(to));
    const free = Math.max(earliestIn(chat, perChatPerSecond, now), account.blockedUntil);
    if (free > now) return { waitMs: free - now, isTaken: false };
    const at = Math.max(now, earliestIn(account, perAccountPerSecond, now));
    chat.lastAt = at;
    account.lastAt = at;
    return { waitMs: at - now, isTaken: true };
  }

  #blockedUntil(to: Peer): number {
    return Math.max(this.#lane(chatName(to)).blockedUntil, this.#lane(accountName(to)).blockedUntil);
  }

  /** The platform refused a call because of its rate limit and accepts none for `afterMs`. */
  refused(to: Peer, afterMs: number): void {
    const now = this.#clock.now();
    const chat = this.#lane(chatName(to));
    if (now - chat.limitedAt < SOON_MS) chat.spacing = slower(spacingOf(chat, now));
    block(chat, now, afterMs);
    // Two chats at once: the whole account is too fast.
    if (this.#isOtherBlocked(to, now)) block(this.#lane(accountName(to)), now, afterMs);
  }

  #isOtherBlocked(to: Peer, now: number): boolean {
    const own = chatName(to);
    const account = `${accountName(to)}\n`;
    return [...this.#lanes].some(([name, lane]) => name !== own && name.startsWith(account) && lane.blockedUntil > now);
  }

  #lane(name: string): Lane {
    const known = this.#lanes.get(name);
    if (known) return known;
    if (this.#lanes.size >= MOST_LANES) this.#forgetIdle();
    const made: Lane = { blockedUntil: NEVER, lastAt: NEVER, limitedAt: NEVER, spacing: 0 };
    this.#lanes.set(name, made);
    return made;
  }

  #forgetIdle(): void {
    const now = this.#clock.now();
    for (const [name, lane] of this.#lanes) {
      const isIdle = lane.blockedUntil <= now && now - lane.lastAt > SOON_MS && now - lane.limitedAt > SOON_MS;
      if (isIdle && spacingOf(lane, now) === 0) this.#lanes.delete(name);
    }
  }
}

function earliestIn(lane: Lane, perSecond: number | undefined, now: number): number {
  const asked = perSecond === undefined ? 0 : 1000 / perSecond;
  const spacing = Math.max(asked, spacingOf(lane, now));
  return Math.max(lane.blockedUntil, spacing === 0 ? NEVER : lane.lastAt + spacing);
}

function spacingOf({ spacing, limitedAt }: Lane, now: number): number {
  if (spacing === 0) return 0;
  const left = spacing / 2 ** Math.floor((now - limitedAt) / HALVES_EVERY_MS);
  return left < LEAST_SPACING_MS ? 0 : left;
}

const slower = (spacing: number): number => Math.min(MOST_SPACING_MS, Math.max(FIRST_SPACING_MS, spacing * 2));

function block(lane: Lane, now: number, afterMs: number): void {
  lane.blockedUntil = Math.max(lane.blockedUntil, now + afterMs);
  // The learned spacing counts from here.
  lane.spacing = lane.spacing === 0 ? 0 : Math.max(spacingOf(lane, now), LEAST_SPACING_MS);
  lane.limitedAt = now;
}

const accountName = (to: Peer): string => `${to.channel}\n${to.account}`;
const chatName = (to: Peer): string => `${accountName(to)}\n${to.chat.id}`;
