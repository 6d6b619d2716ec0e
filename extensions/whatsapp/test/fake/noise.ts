import {
  aesDecryptGCM,
  aesEncryptGCM,
  Curve,
  decodeBinaryNode,
  encodeBinaryNode,
  hkdf,
  proto,
  sha256,
} from "@whiskeysockets/baileys";
import type { BinaryNode, KeyPair } from "@whiskeysockets/baileys";

/** Half of the pair whose other half `trust-fake.mjs` makes Baileys trust. */
const ROOT_PRIVATE = Buffer.from("CNx/NJ/IAFXTKkqgeQjRV1WlLmqBN9N1+b8MvztXyG0=", "base64");
/** The words at the head of each connection: "WA", protocol 6, dictionary 3. */
const HEADER = Buffer.from([87, 65, 6, 3]);
/** The pattern's name, padded to 32 bytes (noiseprotocol.org, XX). */
const PATTERN = Buffer.from("Noise_XX_25519_AESGCM_SHA256\0\0\0\0");

const nonce = (counter: number): Buffer => {
  const iv = Buffer.alloc(12);
  iv.writeUInt32BE(counter, 8);
  return iv;
};

/**
 * The server's side of WhatsApp's connection: Noise XX as responder, then frames of binary nodes. The shapes are those
 * that Baileys 7.0.0-rc14 reads and writes (lib/Utils/noise-handler.js, WAProto HandshakeMessage, CertChain).
 */
export class ServerNoise {
  #hash: Buffer = PATTERN;
  #salt: Buffer = PATTERN;
  #key: Buffer = PATTERN;
  #counter = 0;
  #buffer = Buffer.alloc(0);
  #hasHeader = false;
  readonly #ephemeral = Curve.generateKeyPair();
  #transport: { read: Buffer; write: Buffer; reads: number; writes: number } | undefined;

  /** Whole frames in what came; an intro header is taken away. */
  frames(data: Buffer): Buffer[] {
    this.#buffer = Buffer.concat([this.#buffer, data]);
    if (!this.#hasHeader && this.#buffer.length >= HEADER.length) {
      this.#hasHeader = true;
      this.#buffer = this.#buffer.subarray(HEADER.length);
    }
    const frames: Buffer[] = [];
    while (this.#buffer.length >= 3) {
      const size = this.#buffer.readUIntBE(0, 3);
      if (this.#buffer.length < size + 3) break;
      frames.push(this.#buffer.subarray(3, size + 3));
      this.#buffer = this.#buffer.subarray(size + 3);
    }
    return frames;
  }

  /** The answer to the client's first message. */
  hello(frame: Buffer): Buffer {
    const { clientHello } = proto.HandshakeMessage.decode(frame);
    const theirs = Buffer.from(clientHello!.ephemeral!);
    this.#authenticate(HEADER);
    this.#authenticate(theirs);
    this.#authenticate(Buffer.from(this.#ephemeral.public));
    this.#mix(Curve.sharedKey(this.#ephemeral.private, theirs));
    const lasting = Curve.generateKeyPair();
    const sealed = this.#encrypt(Buffer.from(lasting.public));
    this.#mix(Curve.sharedKey(lasting.private, theirs));
    const payload = this.#encrypt(certificate(lasting));
    const serverHello = { ephemeral: this.#ephemeral.public, static: sealed, payload };
    return lengthAnd(Buffer.from(proto.HandshakeMessage.encode({ serverHello }).finish()));
  }

  /** Who logs in; the connection stands afterwards. */
  finish(frame: Buffer): proto.ClientPayload {
    const { clientFinish } = proto.HandshakeMessage.decode(frame);
    const theirs = this.#decrypt(Buffer.from(clientFinish!.static!));
    this.#mix(Curve.sharedKey(this.#ephemeral.private, theirs));
    const payload = this.#decrypt(Buffer.from(clientFinish!.payload!));
    const [read, write] = this.#stretch(Buffer.alloc(0));
    this.#transport = { read, write, reads: 0, writes: 0 };
    return proto.ClientPayload.decode(payload);
  }

  async open(frame: Buffer): Promise<BinaryNode> {
    const transport = this.#transport!;
    const plain = aesDecryptGCM(frame, transport.read, nonce(transport.reads++), Buffer.alloc(0));
    return decodeBinaryNode(plain);
  }

  seal(node: BinaryNode): Buffer {
    const transport = this.#transport!;
    const plain = encodeBinaryNode(node);
    return lengthAnd(aesEncryptGCM(plain, transport.write, nonce(transport.writes++), Buffer.alloc(0)));
  }

  #authenticate(data: Buffer): void {
    this.#hash = sha256(Buffer.concat([this.#hash, data]));
  }

  #stretch(data: Buffer): readonly [Buffer, Buffer] {
    const key = Buffer.from(hkdf(data, 64, { salt: this.#salt, info: "" }));
    return [key.subarray(0, 32), key.subarray(32)];
  }

  #mix(shared: Buffer): void {
    [this.#salt, this.#key] = this.#stretch(shared);
    this.#counter = 0;
  }

  #encrypt(plain: Uint8Array): Buffer {
    const sealed = aesEncryptGCM(plain, this.#key, nonce(this.#counter++), this.#hash);
    this.#authenticate(sealed);
    return sealed;
  }

  #decrypt(sealed: Buffer): Buffer {
    const plain = aesDecryptGCM(sealed, this.#key, nonce(this.#counter++), this.#hash);
    this.#authenticate(sealed);
    return plain;
  }
}

function lengthAnd(data: Buffer): Buffer {
  const length = Buffer.alloc(3);
  length.writeUIntBE(data.length, 0, 3);
  return Buffer.concat([length, data]);
}

/** The chain that ends at the trusted root. */
function certificate(lasting: KeyPair): Uint8Array {
  const { Details } = proto.CertChain.NoiseCertificate;
  const between = Curve.generateKeyPair();
  const leaf = Details.encode({ serial: 2, issuerSerial: 1, key: lasting.public }).finish();
  const intermediate = Details.encode({ serial: 1, issuerSerial: 0, key: between.public }).finish();
  return proto.CertChain.encode({
    leaf: { details: leaf, signature: Curve.sign(between.private, leaf) },
    intermediate: { details: intermediate, signature: Curve.sign(ROOT_PRIVATE, intermediate) },
  }).finish();
}
