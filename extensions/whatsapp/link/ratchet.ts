import type {
  SignalKeyStoreWithTransaction,
  SignalRepositoryWithLIDStore,
  SocketConfig,
} from "@whiskeysockets/baileys";

type LibraryKeys = Parameters<SocketConfig["makeSignalRepository"]>[0]["keys"];

/** Runs work of which the keys are saved when it ends, all or none. One after the other; work inside work is part of it. */
export type Locked = <T>(work: () => Promise<T>) => Promise<T>;

export interface Ratchet {
  /** For the library's repository. */
  readonly keys: LibraryKeys;
  readonly locked: Locked;
  /** What the work gives, without what it did to the keys. */
  look<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * Transactions over the keys that move on with each message. The library runs a whole send in one of its own, which it
 * saves when the message has left: a kill in between, and the same key would seal the next message, which phones pass
 * over as a repeat. And what opens and what seals of one conversation do not know of each other there: the later one to
 * be saved would take back what the other did. Here each step is on disk before its result is used, and all connections
 * of an account share `own`: one that has ended may still have a message in hand.
 */
export function openRatchet(own: SignalKeyStoreWithTransaction, library: LibraryKeys): Ratchet {
  const locked: Locked = (work) => own.transaction(work, "ratchet");
  return {
    locked,
    keys: {
      ...own,
      // Lists of devices are written in the library's transactions, where only it sees them until they end.
      get: (type, ids) => (type === "device-list" ? library.get(type, ids) : own.get(type, ids)),
    },
    async look<T>(work: () => Promise<T>) {
      const seen = Promise.withResolvers<T>();
      const undone = new Error("only looked");
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

/** The repository's verbs that change keys, each as a step of its own. */
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

/** What is asked for at once is saved at once: a message is sealed for each device of its readers. */
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
    // Saving may fail before anybody waits for it.
    promise.catch(() => undefined);
    waiting.push(() => work().then(resolve, reject));
    next ??= locked(run);
    await next;
    return promise;
  };
}
