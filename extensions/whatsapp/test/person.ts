import {
  addTransactionCapability,
  BufferJSON,
  DEFAULT_CONNECTION_CONFIG,
  encodeBigEndian,
  encodeWAMessage,
  generateSignalPubKey,
  initAuthCreds,
  proto,
  unpadRandomMax16,
} from "@whiskeysockets/baileys";
import type { AuthenticationCreds, BinaryNode, SignalKeyStore, WAMessageContent } from "@whiskeysockets/baileys";
import { silent } from "../quiet.ts";

export interface Sealed {
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** Somebody with a phone: keys of their own, and sessions with the linked device that is tested. */
export class Person {
  readonly phone: string;
  readonly lid: string;
  readonly name: string;
  readonly #creds = initAuthCreds();
  readonly #repository;
  #isBefriended = false;

  constructor(phone: string, lid: string, name: string) {
    this.phone = phone;
    this.lid = lid;
    this.name = name;
    const keys = addTransactionCapability(inMemory(), silent, { maxCommitRetries: 1, delayBetweenTriesMs: 0 });
    const signal = { creds: this.#creds, keys };
    this.#repository = DEFAULT_CONNECTION_CONFIG.makeSignalRepository(signal, silent, async () => undefined);
  }

  /** What the server gives to those who want to write to this person (`<iq xmlns="encrypt">`). */
  bundle(jid: string): BinaryNode {
    const { registrationId, signedIdentityKey, signedPreKey } = this.#creds;
    const node = (tag: string, content: Buffer | BinaryNode[]): BinaryNode => ({ tag, attrs: {}, content });
    return {
      tag: "user",
      attrs: { jid },
      content: [
        node("registration", Buffer.from(encodeBigEndian(registrationId))),
        node("type", Buffer.from([5])),
        node("identity", Buffer.from(signedIdentityKey.public)),
        node("skey", [
          node("id", Buffer.from(encodeBigEndian(signedPreKey.keyId, 3))),
          node("value", Buffer.from(signedPreKey.keyPair.public)),
          node("signature", Buffer.from(signedPreKey.signature)),
        ]),
      ],
    };
  }

  async seal(device: string, theirs: AuthenticationCreds, content: WAMessageContent): Promise<Sealed> {
    if (!this.#isBefriended) {
      const { keyId, keyPair, signature } = theirs.signedPreKey;
      await this.#repository.injectE2ESession({
        jid: device,
        session: {
          registrationId: theirs.registrationId,
          identityKey: generateSignalPubKey(theirs.signedIdentityKey.public),
          signedPreKey: { keyId, publicKey: generateSignalPubKey(keyPair.public), signature },
        },
      });
      this.#isBefriended = true;
    }
    const { type, ciphertext } = await this.#repository.encryptMessage({ jid: device, data: encodeWAMessage(content) });
    return { type, bytes: ciphertext };
  }

  async sealForGroup(group: string, content: WAMessageContent): Promise<Sealed & { readonly key: WAMessageContent }> {
    const sealed = await this.#repository.encryptGroupMessage({
      group,
      data: encodeWAMessage(content),
      meId: this.lid,
    });
    const key = {
      senderKeyDistributionMessage: {
        groupId: group,
        axolotlSenderKeyDistributionMessage: sealed.senderKeyDistributionMessage,
      },
    };
    return { type: "skmsg", bytes: sealed.ciphertext, key };
  }

  async open(device: string, { type, bytes }: Sealed, group?: string): Promise<proto.IMessage> {
    const ciphertext = Buffer.from(bytes);
    const plain =
      type === "skmsg"
        ? await this.#repository.decryptGroupMessage({ group: group!, authorJid: device, msg: ciphertext })
        : await this.#repository.decryptMessage({ jid: device, type: type === "pkmsg" ? "pkmsg" : "msg", ciphertext });
    const message = proto.Message.decode(unpadRandomMax16(plain));
    const item = message.senderKeyDistributionMessage;
    if (item) await this.#repository.processSenderKeyDistributionMessage({ authorJid: device, item });
    return message;
  }
}

function inMemory(): SignalKeyStore {
  const rows = new Map<string, string>();
  return {
    get: (type, ids) =>
      Object.fromEntries(
        ids.flatMap((id) => {
          const row = rows.get(`${type} ${id}`);
          return row === undefined ? [] : [[id, JSON.parse(row, BufferJSON.reviver)]];
        }),
      ),
    set(data) {
      for (const [type, byId] of Object.entries(data)) {
        for (const [id, value] of Object.entries(byId)) {
          if (value == null) rows.delete(`${type} ${id}`);
          else rows.set(`${type} ${id}`, JSON.stringify(value, BufferJSON.replacer));
        }
      }
    },
  };
}
