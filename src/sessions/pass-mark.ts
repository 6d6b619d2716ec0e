import type { SessionKey } from "../types/ids.ts";
import { inheritedMark, untrustedMarkOf } from "../types/run/untrusted.ts";
import type { Sessions } from "../types/session.ts";

/**
 * Marks session `to` when `from`, whose messages it gets, has read untrusted content: the author of that content may
 * have decided what `from` wrote. Rejects when the mark cannot be written.
 */
export async function passMark(
  from: SessionKey,
  to: SessionKey,
  sessions: Pick<Sessions, "peek" | "patch">,
): Promise<void> {
  const mark = untrustedMarkOf(sessions.peek(from)?.untrustedContent);
  if (!mark) return;
  const own = untrustedMarkOf(sessions.peek(to)?.untrustedContent);
  await sessions.patch(to, { untrustedContent: inheritedMark(mark, own) }, { now: true });
}
