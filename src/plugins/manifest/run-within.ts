import { createContext, Script } from "node:vm";

/** `late`: it was stopped wherever it was. */
type Outcome<T> = { readonly kind: "done"; readonly value: T } | { readonly kind: "late" };

/** Starting the timeout costs a tenth of a millisecond. */
const script = new Script("work()");

/** Runs synchronous work of pure functions for at most so many milliseconds; it stops also within a regular expression. Throws as the work does. */
export function runWithin<T>(ms: number, work: () => T): Outcome<T> {
  let outcome: Outcome<T> = { kind: "late" };
  const box = createContext({
    work: () => {
      outcome = { kind: "done", value: work() };
    },
  });
  try {
    script.runInContext(box, { timeout: ms });
  } catch (error) {
    if (!isTimeout(error)) throw error;
  }
  return outcome;
}

/** The error comes from another realm, so it is not an `instanceof` this realm's `Error`. */
const isTimeout = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
