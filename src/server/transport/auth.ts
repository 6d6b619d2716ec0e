import { createHash, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../types/clock.ts";
import type { Secret } from "../../types/secret.ts";
import { forgetOldest } from "../../utils/forget-oldest.ts";
import type { AccessOptions, RateLimit } from "../options.ts";
import { countingName, Peers, type RemotePeer } from "../remote-peer.ts";

export type AuthVerdict =
  | { readonly kind: "ok" }
  | { readonly kind: "missing" }
  | { readonly kind: "wrong"; readonly what: "token" | "password" }
  | { readonly kind: "locked"; readonly retryAfterMs: number };

export interface ClientCredentials {
  readonly token?: string | undefined;
  readonly password?: string | undefined;
}

type GateOptions = Pick<AccessOptions, "token" | "password" | "rateLimit" | "trustedProxies" | "takesDeviceTokens">;

/**
 * Checks credentials. An address with too many wrong ones is locked out, and even the right credentials are refused then,
 * because they could have been guessed. A token that is too long to guess is accepted all the same: otherwise anyone who
 * shares the operator's address could lock the operator out.
 */
export class AuthGate {
  readonly peers: Peers;
  readonly #options: GateOptions;
  readonly #attempts: WrongCredentials;

  constructor(options: GateOptions, clock: Clock) {
    this.peers = new Peers(options.trustedProxies ?? []);
    this.#options = options;
    this.#attempts = new WrongCredentials(options.rateLimit, clock);
  }

  /** Whether a device gets in with its own token or a code, without the token or the password. */
  get takesDeviceTokens(): boolean {
    return this.#options.takesDeviceTokens;
  }

  /** The right credentials do not reset the count of wrong ones, which may be another client's. The count fades with time. */
  judge(given: ClientCredentials, peer: RemotePeer): AuthVerdict {
    const name = countingName(peer);
    const retryAfterMs = this.#attempts.lockedFor(name);
    if (retryAfterMs > 0) return this.#isBeyondGuessing(given) ? { kind: "ok" } : { kind: "locked", retryAfterMs };
    const verdict = this.#compare(given);
    if (verdict.kind === "wrong") this.#attempts.fail(name);
    return verdict;
  }

  /** The bearer may be the token or the password. */
  judgeBearer(bearer: string | undefined, peer: RemotePeer): AuthVerdict {
    return this.judge({ token: bearer, password: bearer }, peer);
  }

  #isBeyondGuessing({ token }: ClientCredentials): boolean {
    return token !== undefined && isSame(token, this.#options.token) && isUnguessable(token);
  }

  #compare({ token, password }: ClientCredentials): AuthVerdict {
    if (!token && !password) return { kind: "missing" };
    const isToken = token !== undefined && isSame(token, this.#options.token);
    const expected = this.#options.password;
    const isPassword = password !== undefined && expected !== undefined && isSame(password, expected);
    return isToken || isPassword ? { kind: "ok" } : { kind: "wrong", what: token ? "token" : "password" };
  }
}

/** 32 characters of hexadecimal are 128 bits; the gateway's own token has 43 characters of base64. */
const UNGUESSABLE = { characters: 32, different: 10 } as const;

/** Whether nobody finds the token by trying, so that it is no risk to accept it after wrong ones. */
export const isUnguessable = (token: string): boolean =>
  token.length >= UNGUESSABLE.characters && new Set(token).size >= UNGUESSABLE.different;

/** Takes the same time whatever the difference, also in length. */
function isSame(given: string, secret: Secret): boolean {
  const expected = secret.reveal();
  return timingSafeEqual(digest(given), digest(expected)) && expected.length > 0;
}

const digest = (text: string) => createHash("sha256").update(text).digest();

interface Failures {
  readonly fails: readonly number[];
  readonly lockedUntil: number;
}

const MAX_ADDRESSES = 10_000;

/** Counts wrong credentials per remote address in a sliding window. */
export class WrongCredentials {
  readonly #limit: RateLimit;
  readonly #clock: Clock;
  readonly #records = new Map<string, Failures>();

  constructor(limit: RateLimit, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
  }

  lockedFor(address: string): number {
    return Math.max(0, (this.#records.get(address)?.lockedUntil ?? 0) - this.#clock.now());
  }

  fail(address: string): void {
    const now = this.#clock.now();
    const recent = (this.#records.get(address)?.fails ?? []).filter((at) => at > now - this.#limit.windowMs);
    const fails = [...recent, now];
    const isOver = fails.length >= this.#limit.maxAttempts;
    this.#records.delete(address);
    this.#records.set(
      address,
      isOver ? { fails: [], lockedUntil: now + this.#limit.lockoutMs } : { fails, lockedUntil: 0 },
    );
    // The limit for addresses keeps the memory small, and cannot stop an attacker with more addresses.
    forgetOldest(this.#records, MAX_ADDRESSES);
  }
}

/** The bearer of an `authorization` header. */
export function bearerOf(header: string | undefined): string | undefined {
  return /^bearer\s+(\S+)\s*$/i.exec(header ?? "")?.[1];
}
