import { DiscordAPIError, HTTPError, RateLimitError } from "@discordjs/rest";
import { answeredOutcome, OpenClawError, thrownOutcome } from "openclaw/plugin-sdk";
import type { SendResult } from "openclaw/plugin-sdk";
import { hasOwnToken } from "./api.ts";

/** Result of a send for a thrown error. The reason never holds a token or an address. */
export function outcomeOf(error: unknown): SendResult {
  if (error instanceof RateLimitError) {
    const afterMs = Math.max(1, Math.ceil(error.retryAfter > 0 ? error.retryAfter : error.timeToReset));
    return { kind: "retry", reason: "Discord limits the rate of calls", afterMs, rateLimited: true };
  }
  if (error instanceof LeftOut) return { kind: "refused", reason: error.message };
  // The operator sets the new token, and then the message goes out.
  if (isBadToken(error)) return { kind: "retry", reason: "Discord refuses the bot token", fix: TOKEN_FIX };
  if (error instanceof DiscordAPIError) {
    const reason = `Discord answers ${error.status}: ${error.message.replaceAll("\n", "; ")} (${error.code})`;
    return answeredOutcome({ status: error.status, reason });
  }
  if (error instanceof HTTPError) {
    return answeredOutcome({ status: error.status, reason: `Discord answers ${error.status}` });
  }
  return thrownOutcome(error, "Discord");
}

/** A lookup that is not made, because Discord has not answered for too long. The event is read without it. */
export class LeftOut extends Error {}

/** Whether Discord said that an interaction already has its first response. */
export const isAcknowledged = (error: unknown): boolean => isGone(error, 40_060);

/** Whether Discord said with this code that something does not exist. */
export const isGone = (error: unknown, code: number): boolean =>
  error instanceof DiscordAPIError && error.code === code;

/** Whether Discord said that the token in an address does not exist. */
export const isForgotten = (error: unknown): boolean =>
  error instanceof DiscordAPIError && (error.status === 401 || error.status === 404) && hasOwnToken(error.url);

/** Codes of Discord's documentation, "JSON Error Codes". */
export const UNKNOWN_CHANNEL = 10_003;
export const UNKNOWN_MESSAGE = 10_008;

/** Whether Discord refused a quote because the bot may not read the history. */
export const mayNotQuote = (error: unknown): boolean => NO_HISTORY.some((code) => isGone(error, code));
const NO_HISTORY = [160_002, 160_009];

/** The library forgets a token that was refused, and refuses calls itself from then on. */
export const isBadToken = (error: unknown): boolean =>
  (error instanceof DiscordAPIError && error.status === 401 && !hasOwnToken(error.url)) ||
  (error instanceof Error && error.message.startsWith("Expected token to be set"));

/** Whether the adapter itself failed. Failures of Discord and of the network are other kinds of errors. */
export const isBug = (error: unknown): boolean =>
  error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;

/** Whether Discord answered and would answer the same another time. */
export const isRefused = (error: unknown): boolean => outcomeOf(error).kind === "refused";

export const reasonOf = (error: unknown): string => {
  const outcome = outcomeOf(error);
  return outcome.kind === "sent" ? "" : outcome.reason;
};

export const TOKEN_FIX =
  "Check channels.discord.token; the page Bot of the Discord developer portal makes a new one with Reset Token.";

export const badToken = (): OpenClawError =>
  new OpenClawError("CHANNEL_AUTH", { message: "Discord refuses the bot token.", fix: TOKEN_FIX });

export const INTENT_FIX =
  "Turn on Message Content Intent on the page Bot of the application in the Discord developer portal, then restart the channel.";
