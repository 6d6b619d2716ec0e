import { generateSignalPubKey, getBinaryNodeChild, getBinaryNodeChildBuffer } from "@whiskeysockets/baileys";
import type { AuthenticationCreds, BinaryNode, SignalRepositoryWithLIDStore } from "@whiskeysockets/baileys";
import { children } from "./stanzas.ts";

export type Bundle = Parameters<SignalRepositoryWithLIDStore["injectE2ESession"]>[0]["session"];

/** What the server keeps of the linked device: the keys by which others may begin to write to it. */
export class DeviceKeys {
  #creds: AuthenticationCreds | undefined;
  readonly #oneTime: NonNullable<Bundle["preKey"]>[] = [];

  link(creds: AuthenticationCreds): void {
    this.#creds = creds;
  }

  /** The device brings keys that are good for one conversation each (`<iq xmlns="encrypt" type="set">`). */
  take(iq: BinaryNode): void {
    for (const key of children(getBinaryNodeChild(iq, "list"))) {
      const keyId = getBinaryNodeChildBuffer(key, "id")!;
      const publicKey = generateSignalPubKey(getBinaryNodeChildBuffer(key, "value")!);
      this.#oneTime.push({ keyId: Buffer.from(keyId).readUIntBE(0, 3), publicKey });
    }
  }

  /** As the server tells it. Never 0: a device of which it has none makes 812 at once, which takes long. */
  get count(): number {
    return Math.max(1, this.#oneTime.length);
  }

  /** For one who begins to write; without a one-time key when there are no more. */
  bundle(): Bundle {
    const { registrationId, signedIdentityKey, signedPreKey } = this.#creds!;
    const { keyId, keyPair, signature } = signedPreKey;
    const preKey = this.#oneTime.shift();
    return {
      registrationId,
      identityKey: generateSignalPubKey(signedIdentityKey.public),
      signedPreKey: { keyId, publicKey: generateSignalPubKey(keyPair.public), signature },
      ...(preKey && { preKey }),
    };
  }
}
