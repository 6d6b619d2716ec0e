import type { PluginScope } from "../../scope.ts";
import { type Fields, isFields } from "../../../../utils/fields.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { withinTold } from "../../../../utils/within.ts";
import { optionalMethodIn } from "../../foreign.ts";

/** Milliseconds for a call of a provider's code that may ask its server. */
const LIMIT_MS = 15_000;

/** A provider object of the field, and the calls of its functions: each is measured, and a failure is logged. */
export class ProviderParts {
  readonly id: string;
  readonly scope: PluginScope;
  readonly #object: Fields;

  constructor(scope: PluginScope, id: string, object: Fields) {
    this.scope = scope;
    this.id = id;
    this.#object = object;
  }

  has(name: string): boolean {
    return typeof this.#object[name] === "function";
  }

  /** A part of the object that has functions of its own, such as `catalog`. */
  part(name: string): ProviderParts | undefined {
    const part = this.#object[name];
    return isFields(part) ? new ProviderParts(this.scope, `${this.id} ${name}`, part) : undefined;
  }

  /** Undefined when there is no such function, and when it throws. */
  call(name: string, ...args: readonly unknown[]): unknown {
    const method = optionalMethodIn(this.#object, name);
    if (!method) return undefined;
    try {
      return this.scope.call(this.#what(name), () => method(...args));
    } catch (error) {
      this.#report(name, errorText(error));
      return undefined;
    }
  }

  /** The same for a function that may wait. Also undefined when it is late. */
  async ask(name: string, ...args: readonly unknown[]): Promise<unknown> {
    const answer: { value?: unknown } = {};
    const asking = async () => {
      answer.value = await this.call(name, ...args);
    };
    const failed = (error: unknown) => this.#report(name, errorText(error));
    try {
      if (await withinTold(asking(), LIMIT_MS, this.scope.ports.clock, failed)) return answer.value;
      this.#report(name, `no answer within ${LIMIT_MS / 1000} s`);
    } catch (error) {
      failed(error);
    }
    return undefined;
  }

  #what(name: string): string {
    return `provider ${this.id} ${name}`;
  }

  #report(name: string, why: string): void {
    this.scope.log.warn("a provider of a plugin failed", { call: this.#what(name), why });
  }
}
