import type {
  SignalKeyStoreWithTransaction,
  SignalRepositoryWithLIDStore,
  SocketConfig,
} from "@whiskeysockets/baileys";

type LibraryKeys = Parameters<SocketConfig["makeSignalRepository"]>[0]["keys"];

/** Runs work in a transaction: its keys are saved when it ends, all or none. Transactions run in sequence; nested work joins the outer one. */
export type Locked = <T>(work: () => Promise<T>) => Promise<T>;

export interface Ratchet {
  /** For the library's repository. */
  readonly keys: LibraryKeys;
  readonly locked: Locked;
  /** Runs work and undoes its changes of keys. */
  peek<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * Transactions over the keys that advance with each message. The library itself runs a whole send in one transaction, which it saves
 * after the message was sent. A kill in between would let the next message reuse the key, and phones would drop it as a repeat. Also,
 * its decryption and encryption of one conversation are not synchronised: the later save would undo the other. Here each step is on
 * disk before its result is used, and all connections of an account share `own`: one that has ended may still process a message.
 */
export function openRatchet(own: SignalKeyStoreWithTransaction, library: LibraryKeys): Ratchet {
  const locked: Locked = (work) => own.transaction(work, "ratchet");
  return {
    locked,
    keys: {
      ...own,
      // The library writes lists of devices in its own transactions, and only it sees them until those end.
      get: (type, ids) => (type === "device-list" ? library.get(type, ids) : own.get(type, ids)),
    },
    async peek<T>(work: () => Promise<T>) {
      const seen = Promise.withResolvers<T>();
      const undone = new Error("peeked");
      try {
        await locked(async () => {
          seen.resolve(await work());
          throw undone;
        });
      } catch (error) {
        if (error !== undone) throw error;
      }
      return seen.promise;
    },
  };
}

/** The repository, with each call that changes keys as one transaction. */
export function stepwise(inner: SignalRepositoryWithLIDStore, locked: Locked): SignalRepositoryWithLIDStore {
  const together = gathered(locked);
  return {
    ...inner,
    encryptMessage: (plain) => together(() => inner.encryptMessage(plain)),
    encryptGroupMessage: (plain) => locked(() => inner.encryptGroupMessage(plain)),
    getSenderKeyDistributionMessage: (group) => locked(() => inner.getSenderKeyDistributionMessage(group)),
    processSenderKeyDistributionMessage: (key) => locked(() => inner.processSenderKeyDistributionMessage(key)),
    injectE2ESession: (session) => together(() => inner.injectE2ESession(session)),
    deleteSession: (jids) => locked(() => inner.deleteSession(jids)),
    migrateSession: (from, to) => locked(() => inner.migrateSession(from, to)),
  };
}

/** Batches simultaneous calls into one transaction: a message is encrypted for each device of its readers. */
function gathered(locked: Locked): Locked {
  let waiting: (() => Promise<unknown>)[] = [];
  let next: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    const works = waiting;
    waiting = [];
    next = undefined;
    for (const work of works) await work();
  };
  return async <T>(work: () => Promise<T>) => {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // The transaction may fail before anybody awaits this promise.
    promise.catch(() => undefined);
    waiting.push(() => work().then(resolve, reject));
    next ??= locked(run);
    await next;
    return promise;
  };
}
