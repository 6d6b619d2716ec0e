import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import type {
  BinaryNode,
  SignalRepositoryWithLIDStore,
  SocketConfig,
  WAMessage,
  proto,
  SignalKeyStoreWithTransaction,
} from "@whiskeysockets/baileys";
import { BoundedMap } from "openclaw/plugin-sdk";
import { isNotice } from "../inbound/news.ts";
import type { Opening } from "./port.ts";
import type { Baileys } from "../baileys.ts";

type MakeRepository = SocketConfig["makeSignalRepository"];

/** Reads messages at their decryption. */
export interface DecryptionInterceptor {
  readonly repository: MakeRepository;
  /** Reads the stanzas of messages before the library does. */
  listen(ws: { prependListener(event: string, listener: (node: BinaryNode) => void): unknown }): void;
  /** Stores messages that were not decrypted here, such as copies from the phone. */
  takeOthers(messages: readonly WAMessage[]): Promise<void>;
}

/** Names of messages that are remembered to recognise repeats. */
const REMEMBERED = 2000;

/**
 * The library acknowledges a message before it reports it, and by then the key of the message is gone. So each message is stored at its
 * decryption: it is decrypted without advancing the keys, then stored by `take`, then decrypted again while the keys advance, and then
 * the library acknowledges it. When `take` rejects, WhatsApp delivers the message again, and the keys still decrypt it. A message that
 * is repeated after the keys advanced is not decrypted again: the library gets an empty one to acknowledge.
 */
export function interceptDecryption({ baileys, auth, events, opened: before }: Opening): DecryptionInterceptor {
  const stanzas = new WeakMap<Uint8Array, BinaryNode>();
  const known = new BoundedMap<string, true>(REMEMBERED);
  // The library finds its transaction by the asynchronous context. `take` runs outside of that context: otherwise the keys that an
  // answer advances would be written into the message's transaction, which has ended, and would be lost.
  const outside = AsyncLocalStorage.snapshot();
  const { frameOf, messageOf } = reader({ baileys, auth });
  const copies = new Copies(frameOf);

  async function take(message: WAMessage): Promise<void> {
    await outside(() => events.take(message));
    known.set(nameOf(message), true);
  }

  async function opened(sealed: Uint8Array, plain: Uint8Array): Promise<void> {
    const stanza = stanzas.get(sealed);
    if (!stanza) return;
    const message = messageOf(stanza, plain);
    await take(message);
    for (const copy of copies.in(message, baileys)) await take(copy);
  }

  /** Records a repeated message: WhatsApp did not receive its acknowledgement. */
  function repeated(sealed: Uint8Array): void {
    const stanza = stanzas.get(sealed);
    if (stanza) known.set(nameOf(frameOf(stanza)), true);
  }

  /** Reports a message that cannot be decrypted, unless it is a repeat of a known one. */
  function unreadable(sealed: Uint8Array, from: string, error: unknown): void {
    const stanza = stanzas.get(sealed);
    const isKnown = [...known.keys()].some((name) => name.endsWith(`/${stanza?.attrs["id"]}`));
    if (isKnown) return;
    if (stanza) copies.miss(stanza);
    events.unreadable(from, error);
  }

  return {
    repository: (signal, logger, findLids) => {
      const ratchet = openRatchet(auth.steps, signal.keys);
      const own = { creds: signal.creds, keys: ratchet.keys };
      const inner = baileys.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(own, logger, findLids);
      return around(inner, ratchet, { before, repeated, opened, unreadable });
    },
    listen(ws) {
      ws.prependListener("CB:message", (node) => {
        // The library puts offline messages into a separate queue, which later messages would overtake.
        delete node.attrs["offline"];
        if (!Array.isArray(node.content)) return;
        if (!node.content.some(({ tag }) => tag === "enc")) copies.miss(node);
        for (const { content } of node.content) if (content instanceof Uint8Array) stanzas.set(content, node);
      });
    },
    async takeOthers(messages) {
      for (const message of messages)
        if ((message.message || isNotice(message)) && !known.get(nameOf(message))) await take(message);
    },
  };
}

/** Decodes messages as the library does. */
function reader({ baileys, auth }: Pick<Opening, "baileys" | "auth">) {
  /** The message without its content. */
  function frameOf(stanza: BinaryNode): WAMessage {
    const { id = "", lid = "" } = auth.creds.me ?? {};
    const { fullMessage: message } = baileys.decodeMessageNode(stanza, id, lid);
    baileys.cleanMessage(message, id, lid);
    return message;
  }

  function messageOf(stanza: BinaryNode, plain: Uint8Array): WAMessage {
    const message = frameOf(stanza);
    const content = baileys.proto.Message.decode(baileys.unpadRandomMax16(plain));
    message.message = content.deviceSentMessage?.message ?? content;
    // References to other messages in the content are converted too.
    baileys.cleanMessage(message, auth.creds.me?.id ?? "", auth.creds.me?.lid ?? "");
    return message;
  }

  return { frameOf, messageOf };
}

const nameOf = ({ key }: WAMessage): string => `${key.remoteJid}/${key.id}`;

interface DecryptionEvents {
  readonly before: BoundedMap<string, true>;
  repeated(sealed: Uint8Array): void;
  opened(sealed: Uint8Array, plain: Uint8Array): Promise<void>;
  unreadable(sealed: Uint8Array, from: string, error: unknown): void;
}

/** A message that only has padding. */
const EMPTY = new Uint8Array([1]);

function around(
  inner: SignalRepositoryWithLIDStore,
  ratchet: Ratchet,
  events: DecryptionEvents,
): SignalRepositoryWithLIDStore {
  const fresh = async (sealed: Uint8Array, work: () => Promise<Uint8Array>, fail: (error: unknown) => never) => {
    const plain = await ratchet.peek(work).catch(fail);
    await events.opened(sealed, plain);
    return ratchet.locked(work);
  };
  const open = async (sealed: Uint8Array, from: string, work: () => Promise<Uint8Array>): Promise<Uint8Array> => {
    const digest = createHash("sha256").update(sealed).digest("base64");
    const isKnown = () => events.before.get(digest) !== undefined;
    const fail = (error: unknown): never => {
      if (!isKnown()) events.unreadable(sealed, from, error);
      throw error;
    };
    try {
      if (!isKnown()) {
        const plain = await fresh(sealed, work, fail);
        events.before.set(digest, true);
        return plain;
      }
    } catch (error) {
      // A connection that has ended may have decrypted it in the meantime.
      if (!isKnown()) throw error;
    }
    events.repeated(sealed);
    return EMPTY;
  };
  return {
    ...stepwise(inner, ratchet.locked),
    decryptMessage: (sealed) => open(sealed.ciphertext, sealed.jid, () => inner.decryptMessage(sealed)),
    decryptGroupMessage: (sealed) => open(sealed.msg, sealed.authorJid, () => inner.decryptGroupMessage(sealed)),
  };
}

type Decode = (stanza: BinaryNode) => WAMessage;

/**
 * Copies of messages that could not be decrypted. The library requests them from our phone. The phone leaves out some data about the
 * sender, so the stanzas of the original messages are remembered.
 */
class Copies {
  readonly #missing = new BoundedMap<string, BinaryNode>(500);
  readonly #decode: Decode;

  constructor(decode: Decode) {
    this.#decode = decode;
  }

  /** Remembers the stanza of a message that could not be decrypted. */
  miss(stanza: BinaryNode): void {
    const id = stanza.attrs["id"];
    if (id !== undefined) this.#missing.set(id, stanza);
  }

  /** The copies in a message of our phone; copies from anybody else are ignored. Throws when one is not a message. */
  in({ key, message }: WAMessage, baileys: Baileys): readonly WAMessage[] {
    if (!key.fromMe) return [];
    const answer = message?.protocolMessage?.peerDataOperationRequestResponseMessage;
    return (answer?.peerDataOperationResult ?? [])
      .map((result) => result.placeholderMessageResendResponse?.webMessageInfoBytes)
      .flatMap((bytes) => (bytes ? this.#restore(baileys.proto.WebMessageInfo.decode(bytes)) : []));
  }

  #restore({ key, message, messageTimestamp = null, pushName = null }: proto.IWebMessageInfo): readonly WAMessage[] {
    if (!key || !message) return [];
    const stanza = key.id ? this.#missing.get(key.id) : undefined;
    return [{ ...(stanza ? this.#decode(stanza) : { key, messageTimestamp, pushName }), message }];
  }
}

type LibraryKeys = Parameters<SocketConfig["makeSignalRepository"]>[0]["keys"];

/**
 * Runs work in a transaction: its keys are saved when it ends, all or none. Transactions run in sequence; nested work
 * joins the outer transaction.
 */
type Locked = <T>(work: () => Promise<T>) => Promise<T>;

interface Ratchet {
  /** Keys for the library's repository. */
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
function openRatchet(own: SignalKeyStoreWithTransaction, library: LibraryKeys): Ratchet {
  const locked: Locked = (work) => own.transaction(work, "ratchet");
  return {
    locked,
    keys: {
      ...own,
      // The library writes lists of devices in its own transactions, and only the library sees the lists until those
      // end.
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
function stepwise(inner: SignalRepositoryWithLIDStore, locked: Locked): SignalRepositoryWithLIDStore {
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
