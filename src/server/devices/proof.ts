import { createHash, createPublicKey, verify, type KeyObject } from "node:crypto";

/** Most milliseconds between the signature of a device and its arrival. */
const MOST_SKEW_MS = 120_000;
const KEY_BYTES = 32;

/** The key of a device, and its signature over the challenge, as `connect` has them. */
export interface SignedDevice {
  readonly id: string;
  /** The 32 bytes of an Ed25519 key, as base64url. */
  readonly publicKey: string;
  readonly signature: string;
  readonly signedAt: number;
  readonly nonce: string;
}

/** The rest of `connect` that a device signs. */
export interface SignedRequest {
  readonly clientId: string;
  readonly clientMode: string;
  readonly role: string;
  readonly scopes: readonly string[];
  /** The credential of the request: a token of the gateway, of the device, or of a set-up code. */
  readonly token: string | undefined;
  readonly platform: string;
  readonly deviceFamily: string | undefined;
}

export type Proof =
  | { readonly kind: "proven"; readonly deviceId: string; readonly publicKey: string }
  | { readonly kind: "unproven"; readonly code: string; readonly reason: string; readonly message: string };

/** Whether the client has the private key of the device that it says it is. `challenge` is this connection's own. */
export function proveDevice(
  device: SignedDevice,
  request: SignedRequest,
  challenge: { readonly nonce: string; readonly now: number },
): Proof {
  const bytes = Buffer.from(device.publicKey, "base64url");
  const key = bytes.length === KEY_BYTES ? keyOf(bytes) : undefined;
  if (key === undefined) return unproven("PUBLIC_KEY_INVALID", "device-public-key", "device public key invalid");
  if (createHash("sha256").update(bytes).digest("hex") !== device.id) {
    return unproven("DEVICE_ID_MISMATCH", "device-id-mismatch", "device identity mismatch");
  }
  if (Math.abs(challenge.now - device.signedAt) > MOST_SKEW_MS) {
    const message = "device signature expired: the clocks of the device and of the gateway differ by minutes";
    return unproven("SIGNATURE_EXPIRED", "device-signature-stale", message);
  }
  if (device.nonce === "") return unproven("NONCE_REQUIRED", "device-nonce-missing", "device nonce required");
  if (device.nonce !== challenge.nonce) {
    return unproven("NONCE_MISMATCH", "device-nonce-mismatch", "device nonce mismatch");
  }
  const signature = Buffer.from(device.signature, "base64url");
  const isSigned = [2, 3].some((version) => verify(null, signedText(version, device, request), key, signature));
  if (!isSigned) return unproven("SIGNATURE_INVALID", "device-signature", "device signature invalid");
  return { kind: "proven", deviceId: device.id, publicKey: bytes.toString("base64url") };
}

function unproven(code: string, reason: string, message: string): Proof {
  return { kind: "unproven", code: `DEVICE_AUTH_${code}`, reason, message };
}

/** Undefined for bytes that are no point of the curve. */
function keyOf(bytes: Buffer): KeyObject | undefined {
  try {
    const jwk = { kty: "OKP", crv: "Ed25519", x: bytes.toString("base64url") };
    return createPublicKey({ key: jwk, format: "jwk" });
  } catch {
    // The caller refuses the key.
    return undefined;
  }
}

/** Version 3 signs also what kind of device it is. */
function signedText(version: number, device: SignedDevice, request: SignedRequest): Buffer {
  const { clientId, clientMode, role, scopes, token = "", platform, deviceFamily } = request;
  const both = [device.id, clientId, clientMode, role, scopes.join(","), String(device.signedAt), token, device.nonce];
  const kind = version === 3 ? [plain(platform), plain(deviceFamily)] : [];
  return Buffer.from([`v${version}`, ...both, ...kind].join("|"));
}

/** Only the letters of ASCII become small ones, so that all languages sign the same. */
const plain = (text = ""): string => text.trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase());
