/**
 * Resolves at the first SIGTERM, SIGINT or SIGHUP; with standard input also as at a SIGHUP when that ends, because the program that
 * held it has ended in whatever way. A second one ends the process at once.
 */
export function untilSignal(withStdin: boolean): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let stopping = false;
    const take = (signal: NodeJS.Signals) => {
      if (stopping) process.exit(signal === "SIGINT" ? 130 : 143);
      stopping = true;
      resolve(signal);
    };
    for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, take);
    if (!withStdin) return;
    process.stdin.once("close", () => {
      if (!stopping) take("SIGHUP");
    });
    process.stdin.on("error", () => undefined).resume();
  });
}
