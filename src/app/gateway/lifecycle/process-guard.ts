import { inspect } from "node:util";
import type { OpenLog } from "../../log/log.ts";
import { errorCode } from "../../../utils/missing.ts";
import { shorten } from "../../../utils/text/shorten.ts";

/** Milliseconds after an uncaught exception until the process ends, even if the shutdown has not finished. */
const LONGEST_SHUTDOWN_MS = 30_000;

/** Most characters of a thrown value that is no error. */
const MOST_CHARS = 1000;

interface Crash {
  readonly error: unknown;
  /** The id of the plugin whose code threw it; unset for the gateway's own. */
  readonly plugin?: string;
}

/** The plugins that errors are from. No function throws; see `StrayErrors`. */
interface PluginErrors {
  ownerOf(error: unknown): string | undefined;
  /** Logs a rejected promise of a plugin; false when the promise is no plugin's. */
  takeRejection(error: unknown): boolean;
  /** Notes that the process ends because of this plugin. */
  noteCrash(plugin: string, error: unknown): void;
}

export interface ProcessGuard {
  /** Resolves with the first uncaught exception: the process is to shut down in order. */
  readonly crashed: Promise<Crash>;
  /** Names the plugins of errors from now on. */
  followPlugins(errors: PluginErrors): void;
  release(): void;
}

/**
 * Handles errors that nothing else has caught, and names the plugin that each is from. A rejected promise concerns one
 * piece of work: it is logged, and everything else continues. An uncaught exception may have left anything unfinished:
 * it is logged, and the gateway shuts down, so that a service manager restarts it. A second one, or a shutdown that
 * hangs, ends the process at once with exit code 1. A plugin that ends the process itself is named too.
 */
export function guardProcess(log: OpenLog): ProcessGuard {
  const crashed = Promise.withResolvers<Crash>();
  let plugins: PluginErrors | undefined;
  let isCrashed = false;
  const onRejection = (rejected: unknown): void => {
    const error = readable(rejected);
    if (plugins?.takeRejection(error) !== true) log.error("promise rejected, and nobody handled it", { error });
  };
  const onException = (thrown: unknown): void => {
    const error = readable(thrown);
    // The reader of our output has closed the pipe; the log file remains.
    if (errorCode(error) === "EPIPE") return;
    const crash = crashOf(error, plugins);
    log.error("uncaught exception", { ...crash });
    log.flush();
    if (isCrashed) process.exit(1);
    isCrashed = true;
    setTimeout(() => process.exit(1), LONGEST_SHUTDOWN_MS).unref();
    if (crash.plugin !== undefined) plugins?.noteCrash(crash.plugin, error);
    crashed.resolve(crash);
  };
  // The stack of this listener contains the caller of `process.exit`.
  const onExit = (code: number): void => {
    if (isCrashed) return;
    const { error, plugin } = crashOf(new Error(`process.exit(${code}) was called`), plugins);
    if (plugin === undefined) return;
    log.error("a plugin ended the gateway", { plugin, error });
    log.flush();
    // A service manager starts a process again only when it failed.
    if (code === 0) process.exitCode = 1;
    plugins?.noteCrash(plugin, error);
  };
  process.on("unhandledRejection", onRejection);
  process.on("uncaughtException", onException);
  process.on("exit", onExit);
  return {
    crashed: crashed.promise,
    followPlugins: (errors) => {
      plugins = errors;
    },
    release() {
      process.off("unhandledRejection", onRejection);
      process.off("uncaughtException", onException);
      process.off("exit", onExit);
    },
  };
}

/**
 * The thrown value as an error that can be read. Anything may be thrown, also a value that throws when it is read.
 * Errors that can be read stay as they are.
 */
function readable(thrown: unknown): Error {
  try {
    if (thrown instanceof Error && [thrown.message, thrown.stack].every((text) => typeof text === "string"))
      return thrown;
  } catch {
    // Described below.
  }
  const error = new Error(shorten(inspect(thrown, { customInspect: false, depth: 2 }), MOST_CHARS));
  // The place from which this function was called says nothing about the error.
  error.stack = `${error.name}: ${error.message}`;
  return error;
}

function crashOf(error: unknown, plugins: PluginErrors | undefined): Crash {
  const plugin = plugins?.ownerOf(error);
  return { error, ...(plugin !== undefined && { plugin }) };
}
