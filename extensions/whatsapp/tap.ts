import { AsyncLocalStorage } from "node:async_hooks";
import type { BinaryNode, SignalRepositoryWithLIDStore, SocketConfig, WAMessage } from "@whiskeysockets/baileys";
import { Copies } from "./copies.ts";
import type { Opening } from "./port.ts";
import { openRatchet, stepwise } from "./ratchet.ts";
import type { Ratchet } from "./ratchet.ts";

type MakeRepository = SocketConfig["makeSignalRepository"];

export interface Tap {
  readonly repository: MakeRepository;
  /** Sees the stanzas of messages before the library reads them. */
  listen(ws: { prependListener(event: string, listener: (node: BinaryNode) => void): unknown }): void;
  /** Messages that came another way than by decryption here, such as those that the phone was asked for. */
  rest(messages: readonly WAMessage[]): Promise<void>;
}

const REMEMBERED = 2000;

/**
 * The library acknowledges a message before it tells of it, and by then the key that it was sealed with is gone. So
 * each message is taken where it is decrypted: it is opened with keys that stay as they are, then `take`, then it is
 * opened once more and the keys move on, then the library acknowledges. When `take` rejects, WhatsApp delivers the
 * message again, and the keys still open it.
 */
export function tapped({ baileys, auth, events }: Opening): Tap {
  const stanzas = new WeakMap<Uint8Array, BinaryNode>();
  const taken = new Set<string>();
  // The library knows its transactions by the asynchronous context: keys that an answer moves on would be written into
  // the one that its message was told in, long over, and be lost.
  const outside = AsyncLocalStorage.snapshot();
  const { frameOf, messageOf } = reader({ baileys, auth });
  const copies = new Copies(frameOf);

  async function take(message: WAMessage): Promise<void> {
    await outside(() => events.take(message));
    taken.add(nameOf(message));
    for (const oldest of taken) {
      if (taken.size <= REMEMBERED) break;
      taken.delete(oldest);
    }
  }

  async function opened(sealed: Uint8Array, plain: Uint8Array): Promise<void> {
    const stanza = stanzas.get(sealed);
    if (!stanza) return;
    const message = messageOf(stanza, plain);
    await take(message);
    for (const copy of copies.in(message, baileys)) await take(copy);
  }

  /** What comes once more is opened once only: that is no loss. */
  function unreadable(sealed: Uint8Array, from: string, error: unknown): void {
    const stanza = stanzas.get(sealed);
    const isKnown = [...taken].some((name) => name.endsWith(`/${stanza?.attrs["id"]}`));
    if (isKnown) return;
    if (stanza) copies.miss(stanza);
    events.unreadable(from, error);
  }

  return {
    repository: (signal, logger, findLids) => {
      const ratchet = openRatchet(baileys, auth.keys, signal.keys);
      const own = { creds: signal.creds, keys: ratchet.keys };
      const inner = baileys.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(own, logger, findLids);
      return around(inner, ratchet, { opened, unreadable });
    },
    listen(ws) {
      ws.prependListener("CB:message", (node) => {
        if (!Array.isArray(node.content)) return;
        if (!node.content.some(({ tag }) => tag === "enc")) copies.miss(node);
        for (const { content } of node.content) if (content instanceof Uint8Array) stanzas.set(content, node);
      });
    },
    async rest(messages) {
      for (const message of messages) if (message.message && !taken.has(nameOf(message))) await take(message);
    },
  };
}

/** Reads messages as the library does, from our side. */
function reader({ baileys, auth }: Pick<Opening, "baileys" | "auth">) {
  /** All but what it says. */
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
    // What it says of other messages is turned as well.
    baileys.cleanMessage(message, auth.creds.me?.id ?? "", auth.creds.me?.lid ?? "");
    return message;
  }

  return { frameOf, messageOf };
}

const nameOf = ({ key }: WAMessage): string => `${key.remoteJid}/${key.id}`;

interface Ends {
  opened(sealed: Uint8Array, plain: Uint8Array): Promise<void>;
  unreadable(sealed: Uint8Array, from: string, error: unknown): void;
}

function around(inner: SignalRepositoryWithLIDStore, ratchet: Ratchet, ends: Ends): SignalRepositoryWithLIDStore {
  const open = async (sealed: Uint8Array, from: string, work: () => Promise<Uint8Array>): Promise<Uint8Array> => {
    const told = (error: unknown): never => {
      ends.unreadable(sealed, from, error);
      throw error;
    };
    const plain = await ratchet.look(work).catch(told);
    await ends.opened(sealed, plain);
    return ratchet.locked(work);
  };
  return {
    ...stepwise(inner, ratchet.locked),
    decryptMessage: (sealed) => open(sealed.ciphertext, sealed.jid, () => inner.decryptMessage(sealed)),
    decryptGroupMessage: (sealed) => open(sealed.msg, sealed.authorJid, () => inner.decryptGroupMessage(sealed)),
  };
}
