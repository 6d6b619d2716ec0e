import type { Missing, Models } from "../../providers/catalog.ts";
import type { RunDeps, RunRequest } from "../request.ts";
import { isDiskError } from "../../store/disk.ts";
import type { OpenClawError } from "../../types/errors.ts";
import type { CalledHook, HookEvents } from "../../types/hook/events.ts";
import type { HookName } from "../../types/hook/hook-table.ts";
import type { GateRules, HookCall, HookContext, HookRunner, NextEvent, ReadAnswer } from "../../types/hook/hooks.ts";
import type { Log } from "../../types/log.ts";
import type { ModelRef } from "../../types/run/model.ts";
import type { RunResult } from "../../types/run/run.ts";

/** Thrown by a wait of a run when the run is stopped. */
export class Stopped extends Error {
  constructor() {
    super("the run was stopped");
  }
}

/**
 * Waits for the work until the signal aborts. Rejects as the work does, or with `Stopped`. A later result goes to
 * `late`; a later error is ignored.
 */
export async function untilStopped<T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  late: (value: T) => void = () => undefined,
): Promise<T> {
  if (signal.aborted) throw new Stopped();
  const stop = Promise.withResolvers<typeof STOPPED>();
  const onStop = () => stop.resolve(STOPPED);
  signal.addEventListener("abort", onStop, { once: true });
  try {
    return await whicheverIsFirst(work(), stop.promise, late);
  } finally {
    signal.removeEventListener("abort", onStop);
  }
}

const STOPPED = Symbol("stopped");

async function whicheverIsFirst<T>(
  done: Promise<T>,
  stopped: Promise<typeof STOPPED>,
  late: (value: T) => void,
): Promise<T> {
  const first = await Promise.race([done, stopped]);
  if (first !== STOPPED) return first;
  void done.then(late, () => undefined);
  throw new Stopped();
}

/**
 * Waits as `untilStopped` does, with one listener of a signal for all waits. Only for the signal of one run, because a
 * promise keeps each wait as long as the signal is in use.
 */
class Stop {
  readonly #signal: AbortSignal;
  readonly #stopped: Promise<typeof STOPPED>;

  constructor(signal: AbortSignal) {
    const { promise, resolve } = Promise.withResolvers<typeof STOPPED>();
    signal.addEventListener("abort", () => resolve(STOPPED), { once: true });
    this.#signal = signal;
    this.#stopped = promise;
  }

  /** Waits as `untilStopped` does. */
  async wait<T>(work: () => Promise<T>, late: (value: T) => void = () => undefined): Promise<T> {
    if (this.#signal.aborted) throw new Stopped();
    return whicheverIsFirst(work(), this.#stopped, late);
  }
}

/**
 * Wraps the request and the ports of a run: their calls into other modules reject with `Stopped` when the run is
 * stopped, so that neither the renewal of a login nor a hook delays the stop.
 */
export function stoppable(
  request: RunRequest,
  deps: RunDeps,
  signal: AbortSignal,
): { readonly request: RunRequest; readonly deps: RunDeps } {
  const stop = new Stop(signal);
  const { openEngine } = request;
  const { models, hooks } = deps;
  return {
    request: {
      ...request,
      systemPrompt: (model, tools) => stop.wait(() => request.systemPrompt(model, tools)),
      // An engine that opens too late must still be released.
      ...(openEngine && {
        openEngine: (host) =>
          stop.wait(
            () => openEngine(host),
            (turn) => void turn.end(undefined),
          ),
      }),
    },
    deps: {
      ...deps,
      models: new StoppableModels(models, stop),
      ...(hooks && { hooks: new StoppableHooks(hooks, stop) }),
    },
  };
}

class StoppableHooks implements HookRunner {
  readonly #hooks: HookRunner;
  readonly #stop: Stop;

  constructor(hooks: HookRunner, stop: Stop) {
    this.#hooks = hooks;
    this.#stop = stop;
  }

  has(name: HookName): boolean {
    return this.#hooks.has(name);
  }

  ask<N extends CalledHook, T>(call: HookCall<N>, read: ReadAnswer<T>): Promise<readonly T[]> {
    return this.#stop.wait(() => this.#hooks.ask(call, read));
  }

  first<N extends CalledHook, T>(call: HookCall<N>, accepts: ReadAnswer<T>): Promise<T | undefined> {
    return this.#stop.wait(() => this.#hooks.first(call, accepts));
  }

  gate<N extends CalledHook, T>(call: HookCall<N>, rules: GateRules<N, T>): Promise<T | undefined> {
    return this.#stop.wait(() => this.#hooks.gate(call, rules));
  }

  chain<N extends CalledHook>(call: HookCall<N>, next: NextEvent<N>): Promise<void> {
    return this.#stop.wait(() => this.#hooks.chain(call, next));
  }

  chainNow<N extends CalledHook>(call: HookCall<N>, next: NextEvent<N>): void {
    this.#hooks.chainNow(call, next);
  }

  notify<N extends CalledHook>(name: N, event: HookEvents[N], context: HookContext): void {
    this.#hooks.notify(name, event, context);
  }
}

/** The result of a search that was stopped: no model, which every caller handles. Throws any other error. */
function missingWhenStopped(error: unknown): Missing {
  if (error instanceof Stopped) return { missing: error.message };
  throw error;
}

/** The models for work that the signal ends. */
export const stoppableModels = (models: Models, signal: AbortSignal): Models =>
  new StoppableModels(models, new Stop(signal));

class StoppableModels implements Models {
  readonly #models: Models;
  readonly #stop: Stop;

  constructor(models: Models, stop: Stop) {
    this.#models = models;
    this.#stop = stop;
  }

  choose(): ReturnType<Models["choose"]> {
    return this.#models.choose();
  }

  list(...asked: Parameters<Models["list"]>): ReturnType<Models["list"]> {
    return this.#models.list(...asked);
  }

  profiles(ref: ModelRef): ReturnType<Models["profiles"]> {
    return this.#models.profiles(ref);
  }

  of(agent: string): Models {
    return new StoppableModels(this.#models.of(agent), this.#stop);
  }

  find(ref: ModelRef, profileId?: string): ReturnType<Models["find"]> {
    return this.#stop.wait(() => this.#models.find(ref, profileId)).catch(missingWhenStopped);
  }

  get keys(): Models["keys"] {
    const { keys } = this.#models;
    return {
      ...keys,
      order: (ref, wish) =>
        this.#stop.wait(
          () => keys.order(ref, wish),
          (turns) => {
            for (const { profile, state } of turns) if (state.kind === "probe") keys.released(ref, profile.id);
          },
        ),
    };
  }
}

/**
 * The result of a run in which something threw. When the disk takes no writes, the turn stays unfinished and is tried
 * again; everything else is a bug, and the user gets a failure notice.
 */
export function resultOfThrown(
  error: unknown,
  stoppedBy: "user" | "timeout" | "shutdown",
  log: Log,
): { readonly result: RunResult; readonly diskError?: OpenClawError } {
  if (error instanceof Stopped) return { result: { kind: "aborted", by: stoppedBy } };
  if (isDiskError(error)) {
    log.warn("run interrupted: the disk takes no writes", { error });
    return { result: { kind: "aborted", by: "disk" }, diskError: error };
  }
  log.error("run broke", { error });
  const message = error instanceof Error ? error.message : String(error);
  return { result: { kind: "failed", failure: { kind: "unknown", message } } };
}
