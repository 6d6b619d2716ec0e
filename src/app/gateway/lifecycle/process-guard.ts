import type { OpenLog } from "../../log/log.ts";
import { errorCode } from "../../../utils/missing.ts";

/** Milliseconds after an uncaught exception until the process ends, even if the shutdown has not finished. */
const LONGEST_SHUTDOWN_MS = 30_000;

export interface ProcessGuard {
  /** Resolves with the first uncaught exception: the process is to shut down in order. */
  readonly crashed: Promise<{ readonly error: unknown }>;
  release(): void;
}

/**
 * Handles errors that nothing else has caught. A rejected promise concerns one piece of work: it is logged, and everything
 * else continues. An uncaught exception may have left anything unfinished: it is logged, and the gateway shuts down, so that
 * a service manager restarts it. A second one, or a shutdown that hangs, ends the process at once with exit code 1.
 */
export function guardProcess(log: OpenLog): ProcessGuard {
  const crashed = Promise.withResolvers<{ readonly error: unknown }>();
  let isCrashed = false;
  const onRejection = (error: unknown): void => log.error("promise rejected, and nobody handled it", { error });
  const onException = (error: unknown): void => {
    // The reader of our output has closed the pipe; the log file remains.
    if (errorCode(error) === "EPIPE") return;
    log.error("uncaught exception", { error });
    log.flush();
    if (isCrashed) process.exit(1);
    isCrashed = true;
    setTimeout(() => process.exit(1), LONGEST_SHUTDOWN_MS).unref();
    crashed.resolve({ error });
  };
  process.on("unhandledRejection", onRejection);
  process.on("uncaughtException", onException);
  return {
    crashed: crashed.promise,
    release() {
      process.off("unhandledRejection", onRejection);
      process.off("uncaughtException", onException);
    },
  };
}
