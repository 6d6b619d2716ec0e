import { createHash, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { type ClientOptions, connectParams, RawClient } from "./server.ts";

/** A device as a phone or a browser has it: a key pair, and what it signs. */
export class Device {
  readonly id: string;
  readonly publicKey: string;
  readonly privateKey: KeyObject;
  readonly #open: () => RawClient;

  constructor(url: () => string, headers: Record<string, string> = {}, connection: ClientOptions = {}) {
    this.#open = () => new RawClient(url(), headers, connection);
    const pair = generateKeyPairSync("ed25519");
    const bytes = Buffer.from(pair.publicKey.export({ format: "jwk" }).x ?? "", "base64url");
    this.privateKey = pair.privateKey;
    this.publicKey = bytes.toString("base64url");
    this.id = createHash("sha256").update(bytes).digest("hex");
  }

  /** The params of `connect` that answer the challenge of a client. */
  async signed(client: RawClient, auth: Record<string, string>, scopes: readonly string[], change: object = {}) {
    const { payload } = await client.event("connect.challenge");
    const { nonce } = payload as { nonce: string };
    const signedAt = Date.now();
    const { client: about } = connectParams() as { client: { id: string; mode: string; platform: string } };
    const token = auth["token"] ?? auth["deviceToken"] ?? auth["bootstrapToken"] ?? "";
    const parts = ["v2", this.id, about.id, about.mode, "operator", scopes.join(","), signedAt, token, nonce];
    const signature = sign(null, Buffer.from(parts.join("|")), this.privateKey).toString("base64url");
    const device = { id: this.id, publicKey: this.publicKey, signature, signedAt, nonce, ...change };
    return { auth, scopes, device, role: "operator" };
  }

  async connect(auth: Record<string, string>, scopes: readonly string[] = ["operator.read"], change: object = {}) {
    const client = this.#open();
    const answer = await client.connect(await this.signed(client, auth, scopes, change));
    return { client, answer, token: tokenIn(answer) };
  }
}

function tokenIn(answer: Record<string, unknown>): string {
  const { payload } = answer as { payload?: { auth?: { deviceToken?: string } } };
  return payload?.auth?.deviceToken ?? "";
}
