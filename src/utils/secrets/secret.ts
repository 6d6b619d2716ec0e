import { inspect } from "node:util";
import { KnownSecrets, MASK, type MaskedBeginning } from "./known-secrets.ts";

export { MASK };

/**
 * A value that cannot be printed, logged or turned into JSON. `reveal` is called where it leaves for its service, nowhere
 * else. The type remembers every value of this process, so that an answer of that service which repeats one can be masked.
 */
export class Secret {
  static readonly #known = new KnownSecrets();
  readonly #value: string;

  /** `isMasked` false: the value itself is not shown, but its text may be: a time zone is no secret in other places. */
  constructor(value: string, { isMasked = true }: { isMasked?: boolean } = {}) {
    this.#value = value;
    if (isMasked) Secret.#known.add(value);
  }

  /** Also masks a value that has to stay plain text: a key of the environment, the password in an address. */
  static remember(value: string): void {
    Secret.#known.add(value);
  }

  /** The text with `[secret]` in place of every secret of this process, also where it is written as URLs or Base64 have it. */
  static mask(text: string): string {
    return Secret.#known.mask(text);
  }

  /**
   * As `mask`, for the start of a longer text: `rest` may be the beginning of a secret, and goes before the next part.
   */
  static maskBegun(text: string): MaskedBeginning {
    return Secret.#known.maskBegun(text);
  }

  /** Whether this is a secret of this process, as a whole. Values of fewer than eight characters are not known. */
  static isKnown(value: string): boolean {
    return Secret.#known.has(value);
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}
