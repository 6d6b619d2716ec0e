import { createContext, Script, type Context } from "node:vm";

/** `late`: the work was stopped at an unknown place. */
export type WorkOutcome<T> = { readonly kind: "done"; readonly value: T } | { readonly kind: "late" };

/** Starting the timeout costs a tenth of a millisecond, and making a context more than one: so all work has the same. */
const script = new Script("work()");
let box: Context | undefined;

/**
 * Runs synchronous work of pure functions for at most so many milliseconds of processor time; stops also within a regular expression.
 * Throws as the work does.
 */
export function runWithin<T>(ms: number, work: () => T): WorkOutcome<T> {
  let outcome: WorkOutcome<T> = { kind: "late" };
  box ??= createContext({});
  box["work"] = () => {
    outcome = { kind: "done", value: work() };
  };
  const before = process.threadCpuUsage();
  try {
    // The timeout counts time that other programs took too: work that was kept waiting is done again.
    while (!endsInTime(box, ms)) {
      const { user, system } = process.threadCpuUsage(before);
      if ((user + system) / 1000 >= ms) break;
    }
  } finally {
    // The context would keep what the work uses alive.
    delete box["work"];
  }
  return outcome;
}

function endsInTime(within: Context, ms: number): boolean {
  try {
    script.runInContext(within, { timeout: ms });
    return true;
  } catch (error) {
    if (isTimeout(error)) return false;
    throw error;
  }
}

/** The error comes from another realm, so it is not an `instanceof` this realm's `Error`. */
const isTimeout = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
