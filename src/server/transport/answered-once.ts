import { createHash } from "node:crypto";
import { MethodError } from "../../types/method.ts";
import { forgetOldest } from "../../utils/forget-oldest.ts";

const MAX_REMEMBERED = 2_000;

interface Remembered<T> {
  /** Hash of the request: another request with the same key must not get this answer. */
  readonly print: string;
  readonly answer: Promise<T>;
}

/** Answers requests with an idempotency key once, and repeated ones from memory. */
export class AnsweredOnce<T> {
  readonly #remembered = new Map<string, Remembered<T>>();
  readonly #changedNothing: (answer: T) => boolean;

  /** `changedNothing`: after such an answer, as after a failure, the key may be used again. No answer is such when unset. */
  constructor(changedNothing: (answer: T) => boolean = () => false) {
    this.#changedNothing = changedNothing;
  }

  /** The answer of the first request with the key. Throws `MethodError` when the key was used for another request. */
  answer(key: string, request: string, run: () => Promise<T>): Promise<T> {
    const known = this.#remembered.get(key);
    const print = createHash("sha256").update(request).digest("base64");
    if (known !== undefined && known.print !== print) throw keyTaken();
    this.#remembered.delete(key);
    const answer = known?.answer ?? run();
    this.#remembered.set(key, { print, answer });
    const forget = () => this.#remembered.delete(key);
    if (known === undefined) answer.then((value) => this.#changedNothing(value) && forget(), forget);
    forgetOldest(this.#remembered, MAX_REMEMBERED);
    return answer;
  }
}

const keyTaken = () =>
  new MethodError("INVALID_REQUEST", "this idempotency key was used for another request", {
    details: { code: "IDEMPOTENCY_KEY_REUSED" },
  });
