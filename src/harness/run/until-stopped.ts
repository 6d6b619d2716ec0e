import type { Missing, Models } from "../../providers/catalog.ts";
import type { RunDeps, RunRequest } from "../request.ts";
import { isDiskError } from "../../store/disk.ts";
import type { OpenClawError } from "../../types/errors.ts";
import type { HookRunner } from "../../types/hook/hooks.ts";
import type { Log } from "../../types/log.ts";
import type { RunResult } from "../../types/run/run.ts";

/** Thrown out of whatever a run was waiting for when it was stopped. */
export class Stopped extends Error {
  constructor() {
    super("the run was stopped");
  }
}

/**
 * Waits for the work until the signal aborts. Rejects as the work does, or with `Stopped`. A later result goes to `late`; a
 * later error is ignored.
 */
export async function untilStopped<T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  late: (value: T) => void = () => undefined,
): Promise<T> {
  if (signal.aborted) throw new Stopped();
  const stop = Promise.withResolvers<never>();
  const onStop = () => stop.reject(new Stopped());
  signal.addEventListener("abort", onStop, { once: true });
  const done = work();
  try {
    return await Promise.race([done, stop.promise]);
  } catch (error) {
    if (error instanceof Stopped) void done.then(late, () => undefined);
    throw error;
  } finally {
    signal.removeEventListener("abort", onStop);
  }
}

/** The request, with calls into other modules that end when the run is stopped. */
export function stoppable(request: RunRequest, signal: AbortSignal): RunRequest {
  const { openEngine } = request;
  return {
    ...request,
    systemPrompt: (model, tools) => untilStopped(() => request.systemPrompt(model, tools), signal),
    ...(openEngine && {
      // An engine that opens too late must still be released.
      openEngine: (host) =>
        untilStopped(
          () => openEngine(host),
          signal,
          (turn) => void turn.end(undefined),
        ),
    }),
  };
}

/** The ports, so that neither the renewal of a login nor a hook delays a stop. */
export function stoppableDeps(deps: RunDeps, signal: AbortSignal): RunDeps {
  const { hooks } = deps;
  return {
    ...deps,
    models: stoppableModels(deps.models, signal),
    ...(hooks && { hooks: stoppableHooks(hooks, signal) }),
  };
}

function stoppableHooks(hooks: HookRunner, signal: AbortSignal): HookRunner {
  return {
    has: (name) => hooks.has(name),
    ask: (...asked) => untilStopped(() => hooks.ask(...asked), signal),
    first: (...asked) => untilStopped(() => hooks.first(...asked), signal),
    gate: (...asked) => untilStopped(() => hooks.gate(...asked), signal),
    chain: (...asked) => untilStopped(() => hooks.chain(...asked), signal),
    chainNow: (...asked) => hooks.chainNow(...asked),
    notify: (...event) => hooks.notify(...event),
  };
}

/** A stopped search finds no model, which every caller handles. */
function missingWhenStopped(error: unknown): Missing {
  if (error instanceof Stopped) return { missing: error.message };
  throw error;
}

/** The catalogue for work that the signal ends. */
export function stoppableModels(models: Models, signal: AbortSignal): Models {
  const { keys } = models;
  return {
    choose: () => models.choose(),
    list: (which) => models.list(which),
    profiles: (ref) => models.profiles(ref),
    of: (agent) => stoppableModels(models.of(agent), signal),
    find: (ref, profileId) => untilStopped(() => models.find(ref, profileId), signal).catch(missingWhenStopped),
    keys: {
      ...keys,
      order: (ref, wish) =>
        untilStopped(
          () => keys.order(ref, wish),
          signal,
          (turns) => {
            for (const { profile, state } of turns) if (state.kind === "probe") keys.released(ref, profile.id);
          },
        ),
    },
  };
}

/**
 * The result of a run in which something threw. When the disk takes no writes, the turn stays unfinished and is tried again;
 * everything else is a bug, and the user gets a failure notice.
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
