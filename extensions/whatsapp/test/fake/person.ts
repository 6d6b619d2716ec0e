import {
  addTransactionCapability,
  BufferJSON,
  DEFAULT_CONNECTION_CONFIG,
  encodeBigEndian,
  encodeWAMessage,
  initAuthCreds,
  proto,
  unpadRandomMax16,
} from "@whiskeysockets/baileys";
import type { BinaryNode, SignalKeyStore, WAMessageContent } from "@whiskeysockets/baileys";
import { silent } from "../../link/log-filter.ts";
import { mergedRecord } from "../../link/records.ts";
import type { Bundle, DeviceKeys } from "./device-keys.ts";
import { children, seconds } from "./stanzas.ts";

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
  readonly #rows = new Map<string, string>();
  readonly #opened = new Set<string>();
  readonly #asked = new Map<string, number>();
  #isBefriended = false;

  constructor(phone: string, lid: string, name: string) {
    this.phone = phone;
    this.lid = lid;
    this.name = name;
    const keys = addTransactionCapability(inMemory(this.#rows), silent, {
      maxCommitRetries: 1,
      delayBetweenTriesMs: 0,
    });
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

  /** Loses the keys of all conversations, and keeps who it is, as a phone that is set up from a backup. */
  forget(): void {
    this.#rows.clear();
    this.#isBefriended = false;
  }

  /** Begins a conversation with the device anew. */
  async befriend(device: string, session: Bundle): Promise<void> {
    await alone(() => this.#repository.injectE2ESession({ jid: device, session }));
    this.#isBefriended = true;
  }

  async seal(device: string, theirs: DeviceKeys, content: WAMessageContent): Promise<Sealed> {
    if (!this.#isBefriended) await this.befriend(device, theirs.bundle());
    const data = encodeWAMessage(content);
    const { type, ciphertext } = await alone(() => this.#repository.encryptMessage({ jid: device, data }));
    return { type, bytes: ciphertext };
  }

  async sealForGroup(group: string, content: WAMessageContent): Promise<Sealed> {
    const data = encodeWAMessage(content);
    const { ciphertext } = await this.#repository.encryptGroupMessage({ group, data, meId: this.lid });
    return { type: "skmsg", bytes: ciphertext };
  }

  /** By which a device opens what this person writes to a group from now on. */
  async groupKey(group: string): Promise<WAMessageContent> {
    const key = await this.#repository.getSenderKeyDistributionMessage({ group, meId: this.lid });
    return { senderKeyDistributionMessage: { groupId: group, axolotlSenderKeyDistributionMessage: key } };
  }

  /** Undefined for what was sealed with a key that has opened another already, which phones pass over in silence. Rejects when no key opens it. */
  async open(device: string, sealed: Sealed, group?: string): Promise<proto.IMessage | undefined> {
    const place = placeOf(sealed);
    if (this.#opened.has(place)) return undefined;
    const plain = await alone(() => this.#decrypt(device, sealed, group));
    this.#opened.add(place);
    const message = proto.Message.decode(unpadRandomMax16(plain));
    const item = message.senderKeyDistributionMessage;
    if (item) await this.#repository.processSenderKeyDistributionMessage({ authorJid: device, item });
    return message;
  }

  #decrypt(device: string, { type, bytes }: Sealed, group?: string): Promise<Uint8Array> {
    const ciphertext = Buffer.from(bytes);
    if (type === "skmsg")
      return this.#repository.decryptGroupMessage({ group: group!, authorJid: device, msg: ciphertext });
    return this.#repository.decryptMessage({ jid: device, type: type === "pkmsg" ? "pkmsg" : "msg", ciphertext });
  }

  /** What the phone sends about a message that no key opened; undefined after the fifth time. Keys come with the second. */
  askAgain(id: string, group?: string): BinaryNode | undefined {
    const count = (this.#asked.get(id) ?? 0) + 1;
    if (count > MOST_REQUESTS) return undefined;
    this.#asked.set(id, count);
    const own = this.phone.replace("@", ":0@");
    const where = group === undefined ? { from: own } : { from: group, participant: own };
    const [registration, ...keys] = children(this.bundle(own));
    const retry = { tag: "retry", attrs: { count: String(count), id, t: seconds(), v: "1" } };
    return {
      tag: "receipt",
      attrs: { id, ...where, type: "retry", t: seconds() },
      content: [retry, registration!, ...(count > 1 ? [{ tag: "keys", attrs: {}, content: keys }] : [])],
    };
  }
}

let turn: Promise<unknown> = Promise.resolve();

/**
 * libsignal runs what it is asked for one address one after the other, and in the asynchronous context of who asked
 * first. Here all people write to one device: the keys of one would be written into the transaction of another.
 */
async function alone<T>(work: () => Promise<T>): Promise<T> {
  const done = turn.then(work);
  // Who asked hears of a failure; the next one in the row does not.
  turn = done.catch(() => undefined);
  return done;
}

/** Baileys: `maxMsgRetryCount`, as in WhatsApp Web. */
const MOST_REQUESTS = 5;

/**
 * The key that a message was sealed with: its chain and its place in it, with which all of libsignal's messages begin.
 * `WhisperMessage`: the chain's public key and a counter; `PreKeyWhisperMessage` has one of those inside;
 * `SenderKeyMessage`: the chain's number and a counter.
 */
function placeOf({ type, bytes }: Sealed): string {
  const whole = Buffer.from(bytes);
  const at = type === "pkmsg" ? whole.lastIndexOf(MESSAGE_BEGINS) : 0;
  const behindChain = type === "skmsg" ? varintEnd(whole, 2) : at + MESSAGE_BEGINS.length + 33;
  return `${type === "skmsg"} ${whole.subarray(at, varintEnd(whole, behindChain + 1)).toString("hex")}`;
}

/** Version 3, then field 1 with 33 bytes. */
const MESSAGE_BEGINS = Buffer.from([0x33, 0x0a, 0x21]);

function varintEnd(bytes: Buffer, from: number): number {
  let end = from;
  while (bytes[end]! & 0x80) end++;
  return end + 1;
}

/** Phones do not take steps with keys that they only try. */
const written = (type: string, value: unknown, before: string | undefined): string => {
  const old: unknown = before === undefined ? undefined : JSON.parse(before, BufferJSON.reviver);
  return JSON.stringify(type === "session" ? mergedRecord(old, value) : value, BufferJSON.replacer);
};

function inMemory(rows: Map<string, string>): SignalKeyStore {
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
          else rows.set(`${type} ${id}`, written(type, value, rows.get(`${type} ${id}`)));
        }
      }
    },
  };
}
