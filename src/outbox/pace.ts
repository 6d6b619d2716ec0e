import type { Clock } from "../types/clock.ts";
import type { Peer } from "../types/chat/message.ts";
import { pause } from "../utils/pause.ts";

/** Messages a second that the operator allows; as many as the platform takes when unset. */
export interface PaceRules {
  readonly perChatPerSecond?: number | undefined;
  readonly perAccountPerSecond?: number | undefined;
}

/** What is known of one chat, or of a whole account. Times are epoch milliseconds. */
interface Lane {
  /** Nothing goes before it: the platform said so. */
  blockedUntil: number;
  /** When the latest call went or is to go. */
  lastAt: number;
  limitedAt: number;
  /** Milliseconds between two calls, learned as of `limitedAt`; 0 where nothing was learned. */
  spacing: number;
}

const NEVER = -Infinity;
/** Two refusals within this time are a pace that is too quick; a single one may be somebody else's doing. */
const SOON_MS = 60_000;
const FIRST_SPACING_MS = 500;
const MOST_SPACING_MS = 8000;
/** What was learned halves with each of these that passes without a refusal. */
const HALVES_EVERY_MS = 60_000;
const LEAST_SPACING_MS = 50;
/** Chats and accounts that are remembered; beyond it those that hold nothing back are forgotten. */
const MOST_LANES = 2000;

/**
 * When the next call to a chat may go: as quick as the operator allows and the platform was seen to take. The callers of
 * one chat come one after the other; of one account side by side, and go in the order in which they asked.
 */
export class Pace {
  readonly #clock: Clock;
  readonly #rules: (to: Peer) => PaceRules;
  readonly #lanes = new Map<string, Lane>();

  constructor(clock: Clock, rules: (to: Peer) => PaceRules = () => ({})) {
    this.#clock = clock;
    this.#rules = rules;
  }

  /** Resolves when a call may go; also when the gateway stops and when it is `by`, if that comes first: then with false. */
  async turn(to: Peer, signal: AbortSignal, by = Infinity): Promise<boolean> {
    while (!signal.aborted && this.#clock.now() < by) {
      const { waitMs, isTaken } = this.#take(to);
      const leftMs = by - this.#clock.now();
      if (waitMs > 0) await pause(Math.min(waitMs, leftMs), { clock: this.#clock, signal });
      // A refusal may have come in while it waited.
      if (isTaken && waitMs <= leftMs && this.#heldUntil(to) <= this.#clock.now()) return !signal.aborted;
    }
    return false;
  }

  /** Takes the turn of a call that nobody waits for, where it may go now: 0, else milliseconds until it may be asked again. */
  takeNow(to: Peer): number {
    const waitMs = this.waitMs(to);
    const now = this.#clock.now();
    if (waitMs === 0) for (const name of [chatName(to), accountName(to)]) this.#lane(name).lastAt = now;
    return waitMs;
  }

  /** What `takeNow` would say. */
  waitMs(to: Peer): number {
    const now = this.#clock.now();
    const { perChatPerSecond, perAccountPerSecond } = this.#rules(to);
    const chat = placeIn(this.#lane(chatName(to)), perChatPerSecond, now);
    const account = placeIn(this.#lane(accountName(to)), perAccountPerSecond, now);
    return Math.max(0, chat - now, account - now);
  }

  /** True where no call makes the next one wait: no rule, and no refusal that still counts. */
  isUnbound(to: Peer): boolean {
    const now = this.#clock.now();
    const { perChatPerSecond, perAccountPerSecond } = this.#rules(to);
    const lanes = [this.#lane(chatName(to)), this.#lane(accountName(to))];
    const isFree = lanes.every((lane) => lane.blockedUntil <= now && spacingOf(lane, now) === 0);
    return isFree && perChatPerSecond === undefined && perAccountPerSecond === undefined;
  }

  /** A rate-limited chat does not take one of its account's slots, or it would block the other chats. */
  #take(to: Peer): { readonly waitMs: number; readonly isTaken: boolean } {
    const now = this.#clock.now();
    const { perChatPerSecond, perAccountPerSecond } = this.#rules(to);
    const chat = this.#lane(chatName(to));
    const account = this.#lane(accountName(to));
    const free = Math.max(placeIn(chat, perChatPerSecond, now), account.blockedUntil);
    if (free > now) return { waitMs: free - now, isTaken: false };
    const at = Math.max(now, placeIn(account, perAccountPerSecond, now));
    chat.lastAt = at;
    account.lastAt = at;
    return { waitMs: at - now, isTaken: true };
  }

  #heldUntil(to: Peer): number {
    return Math.max(this.#lane(chatName(to)).blockedUntil, this.#lane(accountName(to)).blockedUntil);
  }

  /** The platform refused a call because they came too quickly, and wants none for `afterMs`. */
  limited(to: Peer, afterMs: number): void {
    const now = this.#clock.now();
    const chat = this.#lane(chatName(to));
    if (now - chat.limitedAt < SOON_MS) chat.spacing = slower(spacingOf(chat, now));
    block(chat, now, afterMs);
    // Two chats at once: it is the account that is too quick.
    if (this.#hasOtherHeld(to, now)) block(this.#lane(accountName(to)), now, afterMs);
  }

  #hasOtherHeld(to: Peer, now: number): boolean {
    const own = chatName(to);
    const account = `${accountName(to)}\n`;
    return [...this.#lanes].some(([name, lane]) => name !== own && name.startsWith(account) && lane.blockedUntil > now);
  }

  #lane(name: string): Lane {
    const known = this.#lanes.get(name);
    if (known) return known;
    if (this.#lanes.size >= MOST_LANES) this.#forget();
    const made: Lane = { blockedUntil: NEVER, lastAt: NEVER, limitedAt: NEVER, spacing: 0 };
    this.#lanes.set(name, made);
    return made;
  }

  #forget(): void {
    const now = this.#clock.now();
    for (const [name, lane] of this.#lanes) {
      const isIdle = lane.blockedUntil <= now && now - lane.lastAt > SOON_MS && now - lane.limitedAt > SOON_MS;
      if (isIdle && spacingOf(lane, now) === 0) this.#lanes.delete(name);
    }
  }
}

function placeIn(lane: Lane, perSecond: number | undefined, now: number): number {
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
  // What was learned counts from here.
  lane.spacing = lane.spacing === 0 ? 0 : Math.max(spacingOf(lane, now), LEAST_SPACING_MS);
  lane.limitedAt = now;
}

const accountName = (to: Peer): string => `${to.channel}\n${to.account}`;
const chatName = (to: Peer): string => `${accountName(to)}\n${to.chat.id}`;
