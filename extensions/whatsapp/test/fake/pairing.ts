import { Curve, hmacSign, proto } from "@whiskeysockets/baileys";
import type { BinaryNode } from "@whiskeysockets/baileys";

interface Line {
  send(node: BinaryNode): void;
}

type PairingData = proto.ClientPayload.IDevicePairingRegistrationData;

/** A phone that can take a new device: the stanzas `pair-device` and `pair-success` as Baileys reads them. */
export class Pairing {
  readonly #phone = Curve.generateKeyPair();
  #line: Line | undefined;
  #device: PairingData | undefined;
  /** Codes asked for by number (`link_code_companion_reg`). */
  readonly codes: string[] = [];

  begin(line: Line, device: PairingData): void {
    this.#line = line;
    this.#device = device;
    const refs = ["ref-1", "ref-2"].map((text) => ({ tag: "ref", attrs: {}, content: Buffer.from(text) }));
    line.send({
      tag: "iq",
      attrs: { id: "pair-1", type: "set", from: "s.whatsapp.net" },
      content: [{ tag: "pair-device", attrs: {}, content: refs }],
    });
  }

  /** The phone reads a QR code and agrees. */
  scan(qr: string, device: { readonly jid: string; readonly lid: string }): void {
    const [, , identity = "", secret = ""] = qr.split("#")[1]!.split(",");
    const details = proto.ADVDeviceIdentity.encode({ rawId: 1, timestamp: 1, keyIndex: 1 }).finish();
    const signed = Buffer.concat([Buffer.from([6, 0]), details, Buffer.from(identity, "base64")]);
    const accountSignature = Curve.sign(this.#phone.private, signed);
    const account = { details, accountSignatureKey: this.#phone.public, accountSignature };
    const whole = proto.ADVSignedDeviceIdentity.encode(account).finish();
    const hmac = hmacSign(whole, Buffer.from(secret, "base64"));
    const content = Buffer.from(proto.ADVSignedDeviceIdentityHMAC.encode({ details: whole, hmac }).finish());
    this.#line?.send({
      tag: "iq",
      attrs: { id: "pair-2", type: "set", from: "s.whatsapp.net" },
      content: [
        {
          tag: "pair-success",
          attrs: {},
          content: [
            { tag: "device-identity", attrs: {}, content },
            { tag: "device", attrs: { jid: device.jid, lid: device.lid } },
            { tag: "platform", attrs: { name: "android" } },
          ],
        },
      ],
    });
  }

  /** The device has answered; after a pairing it must connect anew. */
  signed(line: Line, node: BinaryNode): void {
    const [first] = Array.isArray(node.content) ? node.content : [];
    if (first?.tag === "pair-device-sign") line.send({ tag: "stream:error", attrs: { code: "515" } });
  }

  /** Whether a device waits to be taken. */
  get isWaiting(): boolean {
    return this.#device !== undefined;
  }
}
