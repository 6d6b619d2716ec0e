import { InStages, MethodError, type Caller, type Method } from "../../types/method.ts";
import { OpenClawError, withFix } from "../../types/errors.ts";
import type { Log } from "../../types/log.ts";
import { keysInward, keysOutward } from "../../sessions/shown/wire-keys.ts";
import type { AddedMethods, ServerPorts } from "../options.ts";
import { AnsweredOnce } from "./answered-once.ts";
import { errorShape, problemsOf, type FrameAnswer, type RequestFrame } from "./frames.ts";
import { hasScope, missingScope } from "./scopes.ts";

/** Calls methods by name. Checks the caller's scope, and answers a repeated idempotency key from memory. */
export class Calls {
  readonly #methods: ReadonlyMap<string, Method>;
  readonly #added: AddedMethods;
  readonly #once = new AnsweredOnce<unknown>();
  readonly #keys: ServerPorts["keys"];
  readonly #log: Log;

  constructor(methods: readonly Method[], added: AddedMethods, { keys, log }: Pick<ServerPorts, "keys" | "log">) {
    this.#methods = new Map(methods.map((method) => [method.name, method]));
    const repeated = methods.find((method) => this.#methods.get(method.name) !== method);
    if (repeated) throw new Error(`two methods have the name "${repeated.name}"`);
    this.#added = added;
    this.#keys = keys;
    this.#log = log;
  }

  names(): string[] {
    return this.all()
      .map(({ name }) => name)
      .toSorted();
  }

  /** Every method that a client can call now. */
  all(): readonly Method[] {
    return [...this.#methods.values(), ...this.#added.methods];
  }

  /** Whether the answer waits for something else than the gateway's own work. A contributor's method may always. */
  mayWait(name: string): boolean {
    const own = this.#methods.get(name);
    return own === undefined || own.mayWait === true;
  }

  /** Whether the client knows the events that follow by the answer. */
  beginsRun(name: string): boolean {
    return this.#methods.get(name)?.beginsRun === true;
  }

  /** A contributor cannot replace a method of the gateway. */
  #find(name: string): Method | undefined {
    return this.#methods.get(name) ?? this.#added.methods.find((method) => method.name === name);
  }

  /** Answers a request, once or in two stages. Never throws. */
  async *answers(frame: RequestFrame, caller: Caller, gone: AbortSignal): AsyncGenerator<FrameAnswer> {
    try {
      const answer = await this.#run(frame, caller);
      if (!(answer instanceof InStages)) return yield done(answer);
      yield done(answer.first);
      const outcome = await answer.outcome(gone);
      if (outcome !== undefined) yield done(outcome);
    } catch (error) {
      yield { ok: false, error: errorShape(this.#translate(error, frame)) };
    }
  }

  async #run(frame: RequestFrame, caller: Caller): Promise<unknown> {
    const method = this.#find(frame.method);
    if (method === undefined) throw new MethodError("INVALID_REQUEST", `unknown method: ${frame.method}`);
    if (!hasScope(caller.scopes, method.scope)) throw missingScope(method.scope);
    const params = keysInward(method.params, frame.params ?? {}, this.#keys);
    const checked = method.params.safeParse(params);
    if (!checked.success) {
      throw new MethodError("INVALID_REQUEST", `invalid ${method.name} params: ${problemsOf(checked.error)}`);
    }
    const key = keyOf(method, params);
    const run = () => method.run(params, caller);
    const answer = await (key === undefined ? run() : this.#once.answer(key, JSON.stringify(params), run));
    const outward = (value: unknown) => keysOutward(method.result, value, this.#keys);
    return answer instanceof InStages ? new InStages(outward(answer.first), answer.outcome) : outward(answer);
  }

  #translate(error: unknown, frame: RequestFrame): MethodError {
    if (error instanceof MethodError) return error;
    if (error instanceof OpenClawError) {
      const { code, fix } = error;
      return new MethodError("UNAVAILABLE", withFix(error), { details: { code, fix } });
    }
    this.#log.error("method failed", { method: frame.method, request: frame.id, error });
    return new MethodError("UNAVAILABLE", `${frame.method} failed inside the gateway; its log has the cause`);
  }
}

const done = (payload: unknown): FrameAnswer => ({ ok: true, payload: payload === undefined ? {} : payload });

function keyOf(method: Method, params: unknown): string | undefined {
  if (method.idempotencyKey === undefined || typeof params !== "object" || params === null) return undefined;
  const value = new Map(Object.entries(params)).get(method.idempotencyKey);
  return typeof value === "string" && value !== "" ? `${method.name}\n${value}` : undefined;
}
