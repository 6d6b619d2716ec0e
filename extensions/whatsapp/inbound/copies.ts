import type { BinaryNode, proto, WAMessage } from "@whiskeysockets/baileys";
import { BoundedMap } from "openclaw/plugin-sdk";
import type { Baileys } from "../link/baileys.ts";

type Decode = (stanza: BinaryNode) => WAMessage;

/**
 * Copies of messages that could not be decrypted. The library requests them from our phone. The phone leaves out some data about the
 * sender, so the stanzas of the original messages are remembered.
 */
export class Copies {
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

  /** The copies in a message of our phone; those from anybody else are ignored. Throws when one is not a message. */
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
