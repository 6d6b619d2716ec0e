import { AsyncLocalStorage } from "node:async_hooks";
import type { BinaryNode, SignalRepositoryWithLIDStore, SocketConfig, WAMessage } from "@whiskeysockets/baileys";
import type { Opening } from "./port.ts";

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
 * each message is taken where it is decrypted, inside the transaction that moves the keys on: first `take`, then the
 * keys are saved, then the library acknowledges. When `take` rejects the keys stay as they were, and WhatsApp delivers
 * the message again.
 */
export function tapped({ baileys, auth, events }: Opening): Tap {
  const stanzas = new WeakMap<Uint8Array, BinaryNode>();
  const taken = new Set<string>();
  // The library knows its transactions by the asynchronous context: keys that an answer moves on would be written into
  // the one that its message was opened in, long over, and be lost.
  const outside = AsyncLocalStorage.snapshot();

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
    if (stanza) await take(messageOf(stanza, plain));
  }

  /** What comes once more is opened once only: that is no loss. */
  function unreadable(sealed: Uint8Array, from: string, error: unknown): void {
    const id = stanzas.get(sealed)?.attrs["id"];
    const isKnown = [...taken].some((name) => name.endsWith(`/${id}`));
    if (!isKnown) events.unreadable(from, error);
  }

  function messageOf(stanza: BinaryNode, plain: Uint8Array): WAMessage {
    const me = auth.creds.me;
    const { fullMessage: message } = baileys.decodeMessageNode(stanza, me?.id ?? "", me?.lid ?? "");
    const content = baileys.proto.Message.decode(baileys.unpadRandomMax16(plain));
    message.message = content.deviceSentMessage?.message ?? content;
    baileys.cleanMessage(message, me?.id ?? "", me?.lid ?? "");
    return message;
  }

  return {
    repository: (signal, logger, findLids) => {
      const inner = baileys.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(signal, logger, findLids);
      return around(inner, signal.keys, { opened, unreadable });
    },
    listen(ws) {
      ws.prependListener("CB:message", (node) => {
        if (!Array.isArray(node.content)) return;
        for (const { content } of node.content) if (content instanceof Uint8Array) stanzas.set(content, node);
      });
    },
    async rest(messages) {
      for (const message of messages) if (message.message && !taken.has(nameOf(message))) await take(message);
    },
  };
}

const nameOf = ({ key }: WAMessage): string => `${key.remoteJid}/${key.id}`;

type Keys = Parameters<MakeRepository>[0]["keys"];

interface Ends {
  opened(sealed: Uint8Array, plain: Uint8Array): Promise<void>;
  unreadable(sealed: Uint8Array, from: string, error: unknown): void;
}

function around(inner: SignalRepositoryWithLIDStore, keys: Keys, ends: Ends): SignalRepositoryWithLIDStore {
  const told = async (sealed: Uint8Array, from: string, plain: Promise<Uint8Array>): Promise<Uint8Array> => {
    try {
      return await plain;
    } catch (error) {
      ends.unreadable(sealed, from, error);
      throw error;
    }
  };
  // A transaction inside another becomes part of it, so that the keys are saved when the outer one ends.
  const together = async (name: string, work: () => Promise<Uint8Array>): Promise<Uint8Array> =>
    "transaction" in keys ? keys.transaction(work, name) : work();
  return {
    ...inner,
    decryptMessage: (sealed) =>
      together(sealed.jid, async () => {
        const plain = await told(sealed.ciphertext, sealed.jid, inner.decryptMessage(sealed));
        await ends.opened(sealed.ciphertext, plain);
        return plain;
      }),
    decryptGroupMessage: (sealed) =>
      together(sealed.group, async () => {
        const plain = await told(sealed.msg, sealed.authorJid, inner.decryptGroupMessage(sealed));
        await ends.opened(sealed.msg, plain);
        return plain;
      }),
  };
}
