import { inspect } from "node:util";

const MASK = "[secret]";

/** A value that cannot be printed, logged or turned into JSON. `reveal` is called where it leaves for its service, nowhere else. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
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
