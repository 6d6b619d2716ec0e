import type { SessionConfig } from "../config.ts";
import { own } from "../../utils/own.ts";

/** When a conversation begins anew by itself. An undefined part has no effect. */
export interface ResetRule {
  readonly mode?: "daily" | "idle" | "none" | undefined;
  /** Local hour, 0 to 23; 4 when unset. */
  readonly atHour?: number | undefined;
  readonly idleMinutes?: number | undefined;
}

export interface ChatKind {
  readonly channel: string;
  readonly type: "direct" | "group" | "thread";
}

const DEFAULT_HOUR = 4;

/** The rule of a chat: that of its channel, else of its type, else the general one, else the plain `idleMinutes`. */
export function resetRuleFor(config: SessionConfig, chat: ChatKind): ResetRule | undefined {
  const byType =
    chat.type === "direct" ? (config.resetByType.direct ?? config.resetByType.dm) : config.resetByType[chat.type];
  const rule = own(config.resetByChannel, chat.channel) ?? byType ?? config.reset;
  if (rule) return rule;
  return config.idleMinutes === undefined ? undefined : { mode: "idle", idleMinutes: config.idleMinutes };
}

/**
 * Why a conversation last used at `last` is over at `now` (epoch milliseconds, the machine's time zone); undefined when it is
 * not.
 */
export function whyOver(rule: ResetRule | undefined, last: number, now: number): "idle" | "daily" | undefined {
  if (!rule || rule.mode === "none") return undefined;
  if (rule.idleMinutes !== undefined && now - last > rule.idleMinutes * 60_000) return "idle";
  const isDaily = rule.mode === "daily" || (rule.mode !== "idle" && rule.atHour !== undefined);
  return isDaily && last < lastResetHour(now, rule.atHour ?? DEFAULT_HOUR) ? "daily" : undefined;
}

function lastResetHour(now: number, hour: number): number {
  const today = new Date(now);
  today.setHours(hour, 0, 0, 0);
  if (today.getTime() > now) today.setDate(today.getDate() - 1);
  return today.getTime();
}
