import { z } from "zod";
import { OpenClawError, withFix } from "./errors.ts";

export type Scope = "operator.read" | "operator.write" | "operator.admin" | "operator.approvals" | "operator.pairing";

/** Who calls: one connection of the protocol. */
export interface Caller {
  readonly connId: string;
  readonly scopes: ReadonlySet<string>;
  readonly client: { readonly id: string; readonly version: string; readonly platform: string; readonly mode: string };
  /** The device whose key the client has. */
  readonly deviceId?: string;
}

/**
 * A method of the WebSocket protocol. `run` may throw `MethodError`; another throw is answered as `UNAVAILABLE` and
 * logged.
 */
export interface Method<Params = unknown, Result = unknown> {
  readonly name: string;
  readonly scope: Scope;
  /** Unknown keys are let through: clients of other versions send more. */
  readonly params: z.ZodType<Params>;
  /**
   * Shape of the answer, with every key: the keys of sessions are translated by it, and the command line and the page
   * derive their shapes from it. The gateway does not check its answers; `answers.test.ts` does.
   */
  readonly result: z.ZodType;
  /** The answer waits for a run, a platform or a person: the client gets events meanwhile. Otherwise the answer comes first. */
  readonly mayWait?: true;
  /** The answer names the run that the request begins. Its events are sent once the client has read the answer. */
  readonly beginsRun?: true;
  /** Name of the parameter whose value makes a repeated call return the first one's answer. */
  readonly idempotencyKey?: string;
  run(params: Params, caller: Caller): Promise<Result | InStages<Result>>;
}

/** An answer in two stages, both under the id of the request: the work has begun, and how it ended. */
export class InStages<First = unknown> {
  readonly first: First;
  /** Undefined when it did not end here. Throws as a method does. The signal aborts when the client leaves. */
  readonly outcome: (signal: AbortSignal) => Promise<unknown>;

  constructor(first: First, outcome: (signal: AbortSignal) => Promise<unknown>) {
    this.first = first;
    this.outcome = outcome;
  }
}

export type MethodErrorCode =
  | "INVALID_REQUEST"
  | "NOT_FOUND"
  | "FORBIDDEN"
  | "UNAVAILABLE"
  | "CONFLICT"
  | "RATE_LIMITED";

/** An answer of a method that is not a result. */
export class MethodError extends Error {
  override readonly name = "MethodError";
  readonly code: MethodErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    code: MethodErrorCode,
    message: string,
    more: { details?: Record<string, unknown>; retryAfterMs?: number } = {},
  ) {
    super(message);
    this.code = code;
    this.details = more.details;
    this.retryAfterMs = more.retryAfterMs;
  }
}

/** An operator's error as the answer to the request that it refuses, with its code and fix. Another error is returned unchanged. */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof OpenClawError)) return error;
  const { code, fix } = error;
  const kind = code === "NOT_FOUND" ? code : "INVALID_REQUEST";
  return new MethodError(kind, withFix(error), { details: { code, fix } });
}

/**
 * Keys of a shape, read-only at every depth. An interface fits a `z.looseObject` only without its index signature, which
 * has the values `unknown`; a `z.record` of texts keeps its own.
 */
export type Answer<T> = T extends string
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Answer<Item>[]
    : T extends object
      ? {
          readonly [Key in keyof T as string extends Key ? (unknown extends T[Key] ? never : Key) : Key]: Answer<
            T[Key]
          >;
        }
      : T;

/** A text of the list `T`, which another version may have made longer: readers take any text. */
export const openText = <T extends string>() => z.custom<T>((value) => typeof value === "string");

/**
 * A method whose `run` gets parsed parameters, and answers in the shape of `result`; it may leave out what has a default
 * there.
 */
type MethodOf<Params, Result> = Omit<Method<Params>, "result" | "run"> & {
  readonly result: z.ZodType<unknown, Result>;
  run(params: Params, caller: Caller): Promise<Answer<Result> | InStages<Answer<Result>>>;
};

/** Binds parameter and result types so that a table of methods of many types can be built. */
export function defineMethod<Params, Result>(method: MethodOf<Params, Result>): Method {
  return {
    ...method,
    run: async (params, caller) => method.run(method.params.parse(params), caller),
  };
}

/** An event for every connected client. `delta: true`: a slow client may miss it, since a later one says it all. */
export interface GatewayEvent {
  readonly event: string;
  readonly payload: unknown;
  readonly delta?: boolean;
  /** Clients without this scope do not get it. */
  readonly scope?: Scope;
}
