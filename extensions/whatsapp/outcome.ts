import type { SendResult } from "openclaw/plugin-sdk";
import { codeOf } from "./link/connection.ts";
import { NoAnswer } from "./link/port.ts";
import type { Answer } from "./link/port.ts";

/** Makes one call that sends a message. Never rejects. */
export async function attempt(messageId: string, call: () => Promise<Answer>): Promise<SendResult> {
  try {
    const answer = await call();
    return answer.kind === "taken" ? { kind: "sent", messageId } : refusal(answer.error);
  } catch (error) {
    if (error instanceof NoAnswer) return { kind: "unknown", reason: error.message };
    return failureOf(error);
  }
}

/** The reasons for the server's codes (Baileys: `NACK_REASONS`, `SERVER_ERROR_CODES`). */
const REFUSALS: Readonly<Record<number, string>> = {
  401: "WhatsApp does not let this account write there",
  403: "WhatsApp does not let this account write there",
  404: "WhatsApp does not know this chat",
  420: "this number is not a member of the group",
  463: "WhatsApp lets this account begin no new chats for now",
};

function refusal(code: number): SendResult {
  const reason = REFUSALS[code];
  if (reason !== undefined) return { kind: "refused", reason: `${reason} (${code})` };
  if (code === 429) return { kind: "retry", reason: "WhatsApp asks to send less (429)", rateLimited: true };
  // 479: the keys of a device are out of date; the library fetches new ones.
  if (code === 479 || code >= 500) return { kind: "retry", reason: `WhatsApp could not take the message (${code})` };
  return { kind: "refused", reason: `WhatsApp does not take this message (${code})`, isUnfit: true };
}

/**
 * What an error of the library means for a send. The library sends the message last, so an error occurred while it requested devices,
 * keys or an upload URL. Only a write that timed out may have succeeded.
 */
function failureOf(error: unknown): SendResult {
  const reason = error instanceof Error ? error.message : String(error);
  const code = isRefusal(error) ? error.data : codeOf(error);
  if (code === 408) return { kind: "unknown", reason: "no answer from WhatsApp in time" };
  if (code !== undefined && (code === 429 || REFUSALS[code] !== undefined)) return refusal(code);
  return { kind: "retry", reason: `WhatsApp could not take the message: ${reason}` };
}

/** The library puts the code of a refused request into `data`. */
const isRefusal = (error: unknown): error is { data: number } =>
  typeof error === "object" && error !== null && "data" in error && typeof error.data === "number";
