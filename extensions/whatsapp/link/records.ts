/** As libsignal writes it down: the conversation with one device, and older ones that it took the place of. */
interface SessionRecord {
  readonly _sessions: Readonly<Record<string, Session>>;
}

interface Session {
  readonly indexInfo: { readonly used: number };
  readonly currentRatchet: { readonly lastRemoteEphemeralKey: string };
  /** In the order in which they began. */
  readonly _chains: Readonly<Record<string, { readonly chainType: number }>>;
}

const RECEIVING = 2;
/** Signal's own library keeps five. */
const KEPT = 20;

/** What is to be written of a record of the library's, over what stands there. */
export function recordOver(before: unknown, after: unknown): unknown {
  if (!isRecord(after)) return after;
  const old = isRecord(before) ? before._sessions : {};
  const sessions = Object.entries(after._sessions).map(([key, session]) => [
    key,
    shortened(untried(old[key], session)),
  ]);
  return { ...after, _sessions: Object.fromEntries(sessions) };
}

/**
 * The library tries a message with one session after the other, and writes down also what it did to those that did not
 * open it: their next message would open with none. Only the one that did counts as used.
 */
function untried(before: Session | undefined, after: Session): Session {
  const isUsed = before?.indexInfo.used !== after.indexInfo.used;
  if (!before || isUsed || stepOf(before) === stepOf(after)) return after;
  return { ...before, indexInfo: after.indexInfo };
}

const stepOf = ({ currentRatchet }: Session): string => currentRatchet.lastRemoteEphemeralKey;

/**
 * Without the oldest chains of what was received. The library begins one with every turn of a conversation and drops
 * none, so that each message would cost more than the one before. One that comes so late is asked for again.
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
