import { MethodError, type Caller, type Method } from "../types/method.ts";
import { OpenClawError } from "../types/errors.ts";
import type { Log } from "../types/log.ts";
import { errorShape, problemsOf, type Answer, type RequestFrame } from "./frames.ts";
import { hasScope, missingScope } from "./scopes.ts";

const MAX_REMEMBERED = 2_000;

/** The methods by name, each with its scope checked and a repeated idempotency key answered from memory. */
export class Calls {
  readonly #methods: ReadonlyMap<string, Method>;
  readonly #remembered = new Map<string, Promise<unknown>>();
  readonly #log: Log;

  constructor(methods: readonly Method[], log: Log) {
    this.#methods = new Map(methods.map((method) => [method.name, method]));
    this.#log = log;
  }

  names(): string[] {
    return [...this.#methods.keys()].toSorted();
  }

  /** Never rejects. */
  async answer(frame: RequestFrame, caller: Caller): Promise<Answer> {
    try {
      const payload = await this.#run(frame, caller);
      return { ok: true, payload: payload ?? {} };
    } catch (error) {
      return { ok: false, error: errorShape(this.#translate(error, frame)) };
    }
  }

  async #run(frame: RequestFrame, caller: Caller): Promise<unknown> {
    const method = this.#methods.get(frame.method);
    if (method === undefined) throw new MethodError("INVALID_REQUEST", `unknown method: ${frame.method}`);
    if (!hasScope(caller.scopes, method.scope)) throw missingScope(method.scope);
    const params = frame.params ?? {};
    const checked = method.params.safeParse(params);
    if (!checked.success) {
      throw new MethodError("INVALID_REQUEST", `invalid ${method.name} params: ${problemsOf(checked.error)}`);
    }
    const key = keyOf(method, params);
    return key === undefined ? method.run(params, caller) : this.#once(key, () => method.run(params, caller));
  }

  // A failed call did not happen, so the same key may try again.
  #once(key: string, run: () => Promise<unknown>): Promise<unknown> {
    const known = this.#remembered.get(key);
    this.#remembered.delete(key);
    const answer = known ?? run();
    this.#remembered.set(key, answer);
    if (known === undefined) answer.catch(() => this.#remembered.delete(key));
    const oldest = this.#remembered.keys().next();
    if (this.#remembered.size > MAX_REMEMBERED && !oldest.done) this.#remembered.delete(oldest.value);
    return answer;
  }

  #translate(error: unknown, frame: RequestFrame): MethodError {
    if (error instanceof MethodError) return error;
    if (error instanceof OpenClawError) {
      return new MethodError("UNAVAILABLE", `${error.message} ${error.fix}`, { details: { code: error.code } });
    }
    this.#log.error("method failed", { method: frame.method, request: frame.id, error });
    return new MethodError("UNAVAILABLE", `${frame.method} failed inside the gateway; its log has the cause`);
  }
}

function keyOf(method: Method, params: unknown): string | undefined {
  if (method.idempotencyKey === undefined || typeof params !== "object" || params === null) return undefined;
  const value = new Map(Object.entries(params)).get(method.idempotencyKey);
  return typeof value === "string" && value !== "" ? `${method.name}\n${value}` : undefined;
}
