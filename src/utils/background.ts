interface ErrorLog {
  error(message: string, fields: Readonly<Record<string, unknown>>): void;
}

/**
 * Starts work that no caller awaits. The only way to do so: the linter refuses a bare `void promise`.
 * A rejection is logged with `what`. Without a log it reaches the process guard, which logs it; the gateway keeps running.
 */
export function background(what: string, work: Promise<unknown>, log?: ErrorLog): void {
  work.catch((error: unknown) => {
    if (!log) throw new Error(`${what} failed`, { cause: error });
    log.error("background work failed", { what, error });
  });
}
