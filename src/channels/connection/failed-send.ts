import { loginFix, thrownFacts } from "../../plugins/api/registrations/channel/failures.ts";
import type { SendResult } from "../../types/chat/channel.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { answeredOutcome, thrownOutcome } from "./outcome.ts";

/**
 * Result of a send for an error that a plugin's channel threw. As for the gateway's own channels, a message waits until
 * a refused token was replaced.
 */
export function failedSend(error: unknown, { label, id }: { readonly label: string; readonly id: string }): SendResult {
  const { status, retryAfterMs: afterMs } = thrownFacts(error);
  const reason = `${label}: ${errorText(error)}`;
  if (status === 401 || (status === undefined && thrownFacts(error).isAuth))
    return { kind: "retry", reason, fix: loginFix({ id }) };
  const retryAfter = afterMs === undefined ? undefined : String(afterMs / 1000);
  if (status !== undefined) return answeredOutcome({ status, reason, retryAfter });
  // Only a platform that has not taken the message says when it will.
  if (afterMs !== undefined) return { kind: "retry", reason, afterMs, rateLimited: true };
  const thrown = thrownOutcome(error, label);
  return thrown.kind === "unknown" ? { kind: "unknown", reason } : thrown;
}
