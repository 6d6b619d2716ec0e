import type { InboundMessage } from "../../types/chat/message.ts";
import { BoundedMap } from "../../utils/bounded-map.ts";

/** How much of another bot is heard before it rests. */
export interface BotLoopRules {
  readonly most: number;
  readonly windowMs: number;
  readonly restMs: number;
}

interface Seen {
  readonly times: readonly number[];
  readonly restsUntil: number;
}

/** Bots of which times are kept; beyond it the one that was silent longest is forgotten. */
const MOST_BOTS = 1000;

/** Ends conversations of bots that answer each other for ever: one that writes too often in a chat is not heard for a while. */
export class BotLoops {
  readonly #seen = new BoundedMap<string, Seen>(MOST_BOTS);

  /** Counts a message of a bot. True when it is one too many: it is not to be answered. */
  isTooMany({ from, sender }: InboundMessage, rules: BotLoopRules, now: number): boolean {
    const key = JSON.stringify([from.channel, from.account, from.chat.id, sender.id]);
    const { times, restsUntil } = this.#seen.get(key) ?? { times: [], restsUntil: 0 };
    const recent = now < restsUntil ? [] : [...times.filter((time) => time > now - rules.windowMs), now];
    const isOver = recent.length > rules.most;
    const rest = isOver ? now + rules.restMs : restsUntil;
    this.#seen.set(key, { times: isOver ? [] : recent, restsUntil: rest });
    return now < rest;
  }
}
