import { type Context, createContext, Script } from "node:vm";

/** `late`: it was stopped wherever it was. */
type Outcome<T> = { readonly kind: "done"; readonly value: T } | { readonly kind: "late" };

/** Starting the timeout costs a tenth of a millisecond, and making a context more than one: so all work has the same. */
const script = new Script("work()");
let box: Context | undefined;

/** Runs synchronous work of pure functions for at most so many milliseconds; it stops also within a regular expression. Throws as the work does. */
export function runWithin<T>(ms: number, work: () => T): Outcome<T> {
  let outcome: Outcome<T> = { kind: "late" };
  box ??= createContext({});
  box["work"] = () => {
    outcome = { kind: "done", value: work() };
  };
  try {
    script.runInContext(box, { timeout: ms });
  } catch (error) {
    if (!isTimeout(error)) throw error;
  } finally {
    // It holds what was checked.
    delete box["work"];
  }
  return outcome;
}

/** The error comes from another realm, so it is not an `instanceof` this realm's `Error`. */
const isTimeout = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
