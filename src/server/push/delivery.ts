import {
  createCipheriv,
  createHash,
  createECDH,
  createPrivateKey,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
  sign,
  type JsonWebKey,
} from "node:crypto";
import type { Clock } from "../../types/clock.ts";
import { background } from "../../utils/background.ts";
import { guardedFetch } from "../../utils/net/guarded-fetch.ts";
import { errorText } from "../../utils/text/error-text.ts";

/** A key pair of P-256 in base64url: the public key as a point, the private one as its number. */
export interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

export function newVapidKeys(): VapidKeys {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "", d = "" } = privateKey.export({ format: "jwk" });
  const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
  return { publicKey: point.toString("base64url"), privateKey: d };
}

/** The keys of a subscription, in base64url. */
export interface BrowserKeys {
  readonly p256dh: string;
  readonly auth: string;
}

const RECORD_BYTES = 4096;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const AUTH_BYTES = 16;
/** Most bytes of a message: a push service takes 4,096, of which the encryption needs 103. */
export const MOST_PUSH_BYTES = 3993;

/** Whether a message can be encrypted with the keys. */
export function areKeys({ p256dh, auth }: BrowserKeys): boolean {
  try {
    sharedWith(p256dh);
    return Buffer.from(auth, "base64url").length === AUTH_BYTES;
  } catch {
    return false;
  }
}

/** A new key pair, and the secret that it shares with the browser. Throws for a key that is no point of the curve. */
function sharedWith(p256dh: string) {
  const theirs = Buffer.from(p256dh, "base64url");
  const pair = createECDH("prime256v1");
  const ours = pair.generateKeys();
  return { theirs, ours, shared: pair.computeSecret(theirs) };
}

/** Encrypts a message of at most `MOST_PUSH_BYTES` for a browser (RFC 8291, one record of RFC 8188). Throws for keys that are none. */
function encryptFor({ p256dh, auth }: BrowserKeys, text: string): Buffer {
  const { theirs, ours, shared } = sharedWith(p256dh);
  const ikm = derive(shared, Buffer.from(auth, "base64url"), [Buffer.from("WebPush: info\0"), theirs, ours], 32);
  const salt = randomBytes(16);
  const key = derive(ikm, salt, [Buffer.from("Content-Encoding: aes128gcm\0")], 16);
  const nonce = derive(ikm, salt, [Buffer.from("Content-Encoding: nonce\0")], NONCE_BYTES);
  const cipher = createCipheriv("aes-128-gcm", key, nonce, { authTagLength: TAG_BYTES });
  // The byte 2 ends the last record.
  const content = Buffer.concat([cipher.update(text, "utf8"), cipher.update(Buffer.from([2])), cipher.final()]);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(RECORD_BYTES);
  return Buffer.concat([salt, size, Buffer.from([ours.length]), ours, content, cipher.getAuthTag()]);
}

const derive = (key: Buffer, salt: Buffer, info: readonly Buffer[], bytes: number): Buffer =>
  Buffer.from(hkdfSync("sha256", key, salt, Buffer.concat(info), bytes));

const TWELVE_HOURS_S = 43_200;

/** Whether the keys, which an operator may have set, are a pair. */
export function canSign({ publicKey, privateKey }: VapidKeys): boolean {
  try {
    const pair = createECDH("prime256v1");
    pair.setPrivateKey(privateKey, "base64url");
    return pair.getPublicKey("base64url") === Buffer.from(publicKey, "base64url").toString("base64url");
  } catch {
    return false;
  }
}

/** The header by which a push service knows the gateway (RFC 8292). `now`: epoch milliseconds. Throws for keys that are none. */
function vapidHeader(endpoint: string, subject: string, { publicKey, privateKey }: VapidKeys, now: number): string {
  const point = Buffer.from(publicKey, "base64url");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString("base64url"));
  const jwk: JsonWebKey = { kty: "EC", crv: "P-256", x: x ?? "", y: y ?? "", d: privateKey };
  const claims = { aud: new URL(endpoint).origin, exp: Math.floor(now / 1000) + TWELVE_HOURS_S, sub: subject };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ typ: "JWT", alg: "ES256" })}.${part(claims)}`;
  const key = createPrivateKey({ key: jwk, format: "jwk" });
  const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  return `vapid t=${signed}.${signature.toString("base64url")}, k=${publicKey}`;
}

/** One notification on its way to one browser. */
export interface PushMessage {
  /** A later message with the same tag takes the place of an earlier one that the push service still has. */
  readonly tag: string;
  readonly payload: object;
  readonly urgency: "normal" | "high";
  /** Until when it is of use, in epoch milliseconds. */
  readonly untilMs: number;
}

export interface DeliveryPorts {
  readonly clock: Clock;
  /** Whether push services may have private addresses. */
  readonly allowPrivate: () => boolean;
  /** The gateway's keys, and where its operator is reached. */
  readonly identity: () => Promise<{ readonly keys: VapidKeys; readonly subject: string }>;
  /** Ends what waits to be sent. */
  readonly signal: AbortSignal;
  /** Ends what is on its way. */
  readonly cut: AbortSignal;
}

/** How a message ended. */
export type PushOutcome =
  | { readonly kind: "taken" | "refused"; readonly status: number }
  /** The browser has ended the subscription. */
  | { readonly kind: "gone"; readonly status: number }
  /** `waitMs`: for how long the push service wants to be left alone, if it says so. */
  | { readonly kind: "busy"; readonly status: number; readonly waitMs?: number | undefined }
  | { readonly kind: "unanswered"; readonly error: string }
  | { readonly kind: "withdrawn" }
  /** The gateway stops before there was an outcome. */
  | { readonly kind: "stopped" };

export interface PushTarget {
  readonly endpoint: string;
  readonly keys: BrowserKeys;
}

const SEND_MS = 20_000;

/** Sends a message once. Never rejects. Answers of push services are not read, and their redirects are not followed. */
export async function sendOnce(to: PushTarget, message: PushMessage, ports: DeliveryPorts): Promise<PushOutcome> {
  const { clock, allowPrivate, cut } = ports;
  const late = new AbortController();
  const cancel = clock.after(SEND_MS, () => late.abort(new Error("the push service did not answer within 20 seconds")));
  try {
    const guarded = await guardedFetch({ maxBytes: 0, allowPrivate: allowPrivate() });
    try {
      const request = await requestOf(to, message, ports);
      const answer = await guarded.fetch(to.endpoint, { ...request, signal: AbortSignal.any([cut, late.signal]) });
      return outcomeOf(answer, clock.now());
    } finally {
      await guarded.close();
    }
  } catch (error) {
    return { kind: "unanswered", error: errorText(error) };
  } finally {
    cancel();
  }
}

async function requestOf(to: PushTarget, { tag, payload, urgency, untilMs }: PushMessage, ports: DeliveryPorts) {
  const { keys, subject } = await ports.identity();
  const now = ports.clock.now();
  return {
    method: "POST",
    headers: {
      authorization: vapidHeader(to.endpoint, subject, keys, now),
      "content-encoding": "aes128gcm",
      "content-type": "application/octet-stream",
      topic: createHash("sha256").update(tag).digest("base64url").slice(0, 32),
      ttl: String(Math.max(Math.ceil((untilMs - now) / 1000), 0)),
      urgency,
    },
    body: Uint8Array.from(encryptFor(to.keys, JSON.stringify(payload))),
  };
}

function outcomeOf({ status, headers }: Response, now: number): PushOutcome {
  if (status >= 200 && status < 300) return { kind: "taken", status };
  if (status === 404 || status === 410) return { kind: "gone", status };
  if (status !== 429 && status < 500) return { kind: "refused", status };
  return { kind: "busy", status, waitMs: waitIn(headers.get("retry-after"), now) };
}

/** The wait in a `Retry-After`, which is in seconds or a date; undefined without one. */
function waitIn(text: string | null, now: number): number | undefined {
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}

const FIRST_WAIT_MS = 5000;
const LONGEST_WAIT_MS = 600_000;
/** Longest time for which a push service is left alone because it says so. */
const LONGEST_REST_MS = 3_600_000;
const MOST_TRIES = 10;
const MOST_WAITING = 16;

/** How the last try ended, and to which address it went; none when there was no try. */
export interface PushEnd {
  readonly outcome: PushOutcome;
  readonly endpoint?: string | undefined;
}

const STOPPED: PushEnd = { outcome: { kind: "stopped" } };

/** How far a message is that waits. */
interface PushProgress {
  /** Whether the push service may have it: it is on its way, or there was no answer. */
  readonly mayHaveArrived: boolean;
  readonly notBeforeMs: number;
}

/** A message to send, how far an earlier process was with it, and where its progress is noted. */
interface PushTask extends PushProgress {
  readonly message: PushMessage;
  /** Is called before and after each try but the first. Never rejects. */
  readonly note: (progress: PushProgress) => Promise<void>;
}

interface Waiting extends PushTask {
  readonly end: (end: PushEnd) => void;
  isWithdrawn: boolean;
}

/** The messages to the browser of one subscription, in their order. Each is sent again until the push service takes it, or it is of no more use. */
export class PushQueue {
  readonly #ports: DeliveryPorts;
  /** Where the browser is reached now; undefined when it wants nothing any more. */
  readonly #target: () => PushTarget | undefined;
  readonly #waiting: Waiting[] = [];
  #isRunning = false;
  /** Before this time the push service wants to be left alone. */
  #restsUntil = 0;

  constructor(ports: DeliveryPorts, target: () => PushTarget | undefined) {
    this.#ports = ports;
    this.#target = target;
  }

  /** Resolves after the last try. Never rejects. */
  send(task: PushTask): Promise<PushEnd> {
    const { promise, resolve: end } = Promise.withResolvers<PushEnd>();
    if (this.#waiting.length >= MOST_WAITING)
      end({ outcome: { kind: "unanswered", error: "too many others wait to be sent" } });
    else this.#waiting.push({ ...task, end, isWithdrawn: false });
    this.#restsUntil = Math.max(this.#restsUntil, task.notBeforeMs);
    if (!this.#isRunning) background("notifications of a browser", this.#run());
    return promise;
  }

  /** Sends the messages with this tag no more. */
  withdraw(tag: string): void {
    for (const one of this.#waiting) if (one.message.tag === tag) one.isWithdrawn = true;
  }

  /** Gives up what waits. */
  end(): void {
    for (const one of this.#waiting) one.isWithdrawn = true;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      next.end(await this.#deliver(next));
      this.#waiting.shift();
    }
    this.#isRunning = false;
  }

  async #deliver(one: Waiting): Promise<PushEnd> {
    const { clock, signal } = this.#ports;
    let last: PushEnd = { outcome: { kind: "unanswered", error: "the push service wants to be left alone" } };
    let { mayHaveArrived } = one;
    for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
      const now = clock.now();
      if (signal.aborted) return STOPPED;
      if (Math.max(now, this.#restsUntil) >= one.message.untilMs) return last;
      await this.#rest(this.#restsUntil - now);
      if (signal.aborted) return STOPPED;
      if (tries > 1) await one.note({ mayHaveArrived: true, notBeforeMs: this.#restsUntil });
      const to = this.#target();
      if (one.isWithdrawn || to === undefined) return { outcome: { kind: "withdrawn" } };
      const outcome = await sendOnce(to, one.message, this.#ports);
      last = { outcome, endpoint: to.endpoint };
      // The browser has renewed its subscription meanwhile.
      if (outcome.kind === "gone" && this.#target()?.endpoint !== to.endpoint) continue;
      if (outcome.kind !== "busy" && outcome.kind !== "unanswered") return last;
      if (signal.aborted) return STOPPED;
      mayHaveArrived ||= outcome.kind === "unanswered";
      this.#restsUntil = clock.now() + waitAfter(outcome, tries);
      await one.note({ mayHaveArrived, notBeforeMs: this.#restsUntil });
    }
    return last;
  }

  /** Ends before its time when the gateway stops. */
  #rest(ms: number): Promise<void> {
    if (ms <= 0) return Promise.resolve();
    const { clock, signal } = this.#ports;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = (): void => {
      cancel();
      resolve();
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener("abort", stop);
      resolve();
    });
    signal.addEventListener("abort", stop, { once: true });
    return promise;
  }
}

function waitAfter(outcome: PushOutcome, tries: number): number {
  const own = Math.min(FIRST_WAIT_MS * 2 ** (tries - 1), LONGEST_WAIT_MS);
  return outcome.kind === "busy" ? Math.min(Math.max(outcome.waitMs ?? own, FIRST_WAIT_MS), LONGEST_REST_MS) : own;
}
