import type { InboundMessage } from "../../types/chat/message.ts";
import { BoundedMap } from "../../utils/bounded-map.ts";

/** How many messages of another bot are let in before a cooldown. */
export interface BotLoopRules {
  readonly maxMessages: number;
  readonly windowMs: number;
  readonly cooldownMs: number;
}

interface Seen {
  readonly times: readonly number[];
  readonly cooldownUntil: number;
}

/** Number of bots that are remembered; the bot that has been silent longest is forgotten first. */
const MOST_BOTS = 1000;

/** Breaks endless conversations between bots: one that writes too often in a chat is ignored for a while. */
export class BotLoops {
  readonly #seen = new BoundedMap<string, Seen>(MOST_BOTS);

  /** Counts a message of a bot. True when it exceeds the limit and must not be answered. */
  isTooMany({ from, sender }: InboundMessage, rules: BotLoopRules, now: number): boolean {
    const key = JSON.stringify([from.channel, from.account, from.chat.id, sender.id]);
    const { times, cooldownUntil } = this.#seen.get(key) ?? { times: [], cooldownUntil: 0 };
    const recent = now < cooldownUntil ? [] : [...times.filter((time) => time > now - rules.windowMs), now];
    const isOver = recent.length > rules.maxMessages;
    const until = isOver ? now + rules.cooldownMs : cooldownUntil;
    this.#seen.set(key, { times: isOver ? [] : recent, cooldownUntil: until });
    return now < until;
  }
}
