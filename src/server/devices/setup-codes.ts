import { randomBytes, randomUUID } from "node:crypto";
import { networkInterfaces } from "node:os";
import type { Clock } from "../../types/clock.ts";
import type { Scope } from "../../types/method.ts";
import { forgetOldest } from "../../utils/forget-oldest.ts";

const CODE_MS = 600_000;
const MOST_CODES = 50;

export type Access = "full" | "limited";

/** What a device gets that pairs by a code. */
export const SCOPES_OF: Readonly<Record<Access, readonly Scope[]>> = {
  limited: ["operator.approvals", "operator.read", "operator.write"],
  full: ["operator.admin", "operator.approvals", "operator.pairing", "operator.read", "operator.write"],
};

/** A code that pairs one device, once. */
export interface SetupCode {
  readonly setupId: string;
  readonly bootstrapToken: string;
  readonly access: Access;
  readonly expiresAtMs: number;
}

/** The device that a code paired. */
export interface SetupCompletion {
  readonly setupId: string;
  readonly deviceId: string;
  readonly deviceName?: string;
  readonly access: Access;
  readonly ts: number;
}

/** Codes by which a device pairs without the gateway's token. They end with the process. */
export class SetupCodes {
  readonly #clock: Pick<Clock, "now">;
  readonly #codes = new Map<string, SetupCode>();
  readonly #completed = new Map<string, SetupCompletion>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  issue(access: Access): SetupCode {
    const bootstrapToken = randomBytes(32).toString("base64url");
    const code = { setupId: randomUUID(), bootstrapToken, access, expiresAtMs: this.#clock.now() + CODE_MS };
    this.#codes.set(bootstrapToken, code);
    forgetOldest(this.#codes, MOST_CODES);
    return code;
  }

  /** Takes a valid code for this device, which nobody can use again. */
  take(bootstrapToken: string, device: { readonly deviceId: string; readonly displayName?: string | undefined }) {
    const code = this.#codes.get(bootstrapToken);
    this.#codes.delete(bootstrapToken);
    const ts = this.#clock.now();
    if (code === undefined || code.expiresAtMs < ts) return undefined;
    const { setupId, access } = code;
    const name = device.displayName === undefined ? {} : { deviceName: device.displayName };
    const completion: SetupCompletion = { setupId, deviceId: device.deviceId, ...name, access, ts };
    this.#completed.set(setupId, completion);
    forgetOldest(this.#completed, MOST_CODES);
    return completion;
  }

  completionOf(setupId: string): SetupCompletion | undefined {
    return this.#completed.get(setupId);
  }
}

/** The URL of a socket for other machines; undefined when the gateway listens on loopback only. */
export function reachableAddress(host: string, port: number): string | undefined {
  if (/^(127\.|::1$|localhost$)/.test(host)) return undefined;
  const isAny = host === "0.0.0.0" || host === "::";
  const name = isAny ? ownAddress() : host;
  return name === undefined ? undefined : `ws://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

/**
 * The WebSocket URL of a TLS proxy on this machine: that of the first https origin in the config whose host is another than this machine's own.
 * Undefined without one.
 */
export function proxiedAddress(origins: readonly string[], basePath: string): string | undefined {
  const url = origins
    .map((origin) => URL.parse(origin))
    .find((one) => one?.protocol === "https:" && !/^(?:127\.|\[::1\]$|localhost$)/.test(one.hostname));
  return url ? `wss://${url.host}${basePath}` : undefined;
}

/** The machine's first address that is not loopback. */
function ownAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
}
