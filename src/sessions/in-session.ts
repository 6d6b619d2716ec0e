import type { SessionKey } from "../types/ids.ts";
import type { Session, Sessions } from "../types/session.ts";

/** Does work that needs a session, which it holds meanwhile. */
export async function inSession<T>(
  key: SessionKey,
  work: (session: Session) => Promise<T>,
  { sessions }: { readonly sessions: Pick<Sessions, "acquire"> },
): Promise<T> {
  const session = await sessions.acquire(key);
  return work(session).finally(() => session.release());
}
