/** Resolves at the first SIGTERM, SIGINT or SIGHUP. A second one ends the process at once. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let stopping = false;
    const take = (signal: NodeJS.Signals) => {
      if (stopping) process.exit(signal === "SIGINT" ? 130 : 143);
      stopping = true;
      resolve(signal);
    };
    for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, take);
  });
}
