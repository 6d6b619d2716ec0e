import { createHash, timingSafeEqual } from "node:crypto";
import type { Clock } from "../types/clock.ts";
import type { Secret } from "../types/secret.ts";
import { forgetOldest } from "../utils/forget-oldest.ts";
import type { AccessOptions, RateLimit } from "./options.ts";

export type Verdict =
  | { readonly kind: "ok" }
  | { readonly kind: "missing" }
  | { readonly kind: "wrong"; readonly what: "token" | "password" }
  | { readonly kind: "locked"; readonly retryAfterMs: number };

export interface Credentials {
  readonly token?: string | undefined;
  readonly password?: string | undefined;
}

/** Judges credentials; the address of too many wrong ones is locked out, whoever it is. */
export class Gate {
  readonly #options: Pick<AccessOptions, "token" | "password">;
  readonly #attempts: Attempts;

  constructor(options: Pick<AccessOptions, "token" | "password" | "rateLimit">, clock: Clock) {
    this.#options = options;
    this.#attempts = new Attempts(options.rateLimit, clock);
  }

  judge(given: Credentials, address: string): Verdict {
    const network = networkOf(address);
    const retryAfterMs = this.#attempts.lockedFor(network);
    if (retryAfterMs > 0) return { kind: "locked", retryAfterMs };
    const verdict = this.#compare(given);
    if (verdict.kind === "wrong") this.#attempts.fail(network);
    if (verdict.kind === "ok") this.#attempts.forget(network);
    return verdict;
  }

  /** A token and a password alike may come as a bearer. */
  judgeBearer(bearer: string | undefined, address: string): Verdict {
    return this.judge({ token: bearer, password: bearer }, address);
  }

  #compare({ token, password }: Credentials): Verdict {
    if (!token && !password) return { kind: "missing" };
    const isToken = token !== undefined && isSame(token, this.#options.token);
    const expected = this.#options.password;
    const isPassword = password !== undefined && expected !== undefined && isSame(password, expected);
    return isToken || isPassword ? { kind: "ok" } : { kind: "wrong", what: token ? "token" : "password" };
  }
}

/** Takes the same time whatever the difference, also in length. */
export function isSame(given: string, secret: Secret): boolean {
  const expected = secret.reveal();
  return timingSafeEqual(digest(given), digest(expected)) && expected.length > 0;
}

const digest = (text: string) => createHash("sha256").update(text).digest();

interface Record {
  readonly fails: readonly number[];
  readonly lockedUntil: number;
}

const MAX_ADDRESSES = 10_000;

/** Counts wrong credentials per remote address in a sliding window. */
export class Attempts {
  readonly #limit: RateLimit;
  readonly #clock: Clock;
  readonly #records = new Map<string, Record>();

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
    // An attacker with ten thousand addresses is past what this can stop.
    forgetOldest(this.#records, MAX_ADDRESSES);
  }

  forget(address: string): void {
    this.#records.delete(address);
  }
}

/** The bearer of an `authorization` header. */
export function bearerOf(header: string | undefined): string | undefined {
  return /^bearer\s+(\S+)\s*$/i.exec(header ?? "")?.[1];
}

/** IPv4 inside IPv6 is told as IPv4, so that one peer has one name. */
export function plainAddress(address: string | undefined): string {
  return (address ?? "unknown").replace(/^::ffff:(?=\d+\.)/, "");
}

/** What one guesser has: an IPv4 address, or an IPv6 network of 64 bits, in which addresses cost nothing. */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = [], tail = []] = address.split("::").map((part) => part.split(":").filter(Boolean));
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => "0");
  return `${[...head, ...zeros, ...tail].slice(0, 4).join(":")}::/64`;
}

export const isLoopback = (address: string) => address === "::1" || address.startsWith("127.");
