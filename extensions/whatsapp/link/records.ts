/** libsignal's stored form: the session with one device, and older ones that it replaced. */
interface SessionRecord {
  readonly _sessions: Readonly<Record<string, Session>>;
}

interface Session {
  readonly indexInfo: { readonly used: number };
  readonly currentRatchet: { readonly lastRemoteEphemeralKey: string };
  /** Oldest first. */
  readonly _chains: Readonly<Record<string, { readonly chainType: number }>>;
}

const RECEIVING = 2;
/** Signal's own library keeps five. */
const KEPT = 20;

/** The record to store: the library's new one, corrected with the stored one. */
export function mergedRecord(before: unknown, after: unknown): unknown {
  if (!isRecord(after)) return after;
  const old = isRecord(before) ? before._sessions : {};
  const sessions = Object.entries(after._sessions).map(([key, session]) => [
    key,
    shortened(undoFailedTry(old[key], session)),
  ]);
  return { ...after, _sessions: Object.fromEntries(sessions) };
}

/**
 * The library tries to decrypt a message with each session, and also stores the changes of the sessions that failed: they could not
 * decrypt their next message. Only the session that succeeded is marked as used; the others are restored.
 */
function undoFailedTry(before: Session | undefined, after: Session): Session {
  const isUsed = before?.indexInfo.used !== after.indexInfo.used;
  if (!before || isUsed || stepOf(before) === stepOf(after)) return after;
  return { ...before, indexInfo: after.indexInfo };
}

const stepOf = ({ currentRatchet }: Session): string => currentRatchet.lastRemoteEphemeralKey;

/**
 * Drops the oldest receiving chains. The library adds one with every turn of a conversation and drops none, so the cost of a message
 * would grow. A message that arrives too late for its chain is requested again.
 */
function shortened(session: Session): Session {
  const chains = Object.entries(session._chains);
  const received = chains.flatMap(([key, { chainType }]) => (chainType === RECEIVING ? [key] : []));
  const old = new Set(received.slice(0, -KEPT));
  old.delete(stepOf(session));
  return old.size === 0
    ? session
    : { ...session, _chains: Object.fromEntries(chains.filter(([key]) => !old.has(key))) };
}

const isRecord = (value: unknown): value is SessionRecord =>
  typeof value === "object" && value !== null && "_sessions" in value;
