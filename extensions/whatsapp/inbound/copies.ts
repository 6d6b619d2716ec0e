import type { BinaryNode, proto, WAMessage } from "@whiskeysockets/baileys";
import { BoundedMap } from "openclaw/plugin-sdk";
import type { Baileys } from "../link/baileys.ts";

type Decode = (stanza: BinaryNode) => WAMessage;

/**
 * Messages that could not be opened and came from our phone instead, which the library asks for copies. The phone leaves
 * out some of what the stanza said about who wrote, so that the stanzas are remembered.
 */
export class Copies {
  readonly #missing = new BoundedMap<string, BinaryNode>(500);
  readonly #decode: Decode;

  constructor(decode: Decode) {
    this.#decode = decode;
  }

  /** What this stanza says could not be read. */
  miss(stanza: BinaryNode): void {
    const id = stanza.attrs["id"];
    if (id !== undefined) this.#missing.set(id, stanza);
  }

  /** The copies that a message of our phone holds. Throws when one is no message. Nobody else is believed. */
  in({ key, message }: WAMessage, baileys: Baileys): readonly WAMessage[] {
    if (!key.fromMe) return [];
    const answer = message?.protocolMessage?.peerDataOperationRequestResponseMessage;
    return (answer?.peerDataOperationResult ?? [])
      .map((result) => result.placeholderMessageResendResponse?.webMessageInfoBytes)
      .flatMap((bytes) => (bytes ? this.#told(baileys.proto.WebMessageInfo.decode(bytes)) : []));
  }

  #told({ key, message, messageTimestamp = null, pushName = null }: proto.IWebMessageInfo): readonly WAMessage[] {
    if (!key || !message) return [];
    const stanza = key.id ? this.#missing.get(key.id) : undefined;
    return [{ ...(stanza ? this.#decode(stanza) : { key, messageTimestamp, pushName }), message }];
  }
}
