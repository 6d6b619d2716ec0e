import { setFlagsFromString } from "node:v8";

/**
 * Flags of V8 for a gateway that has started. At the start of the process they would cost more than they save; `bin/openclaw.mjs` says
 * why, and docs/performance.md what each of them is worth.
 */
const FLAGS: readonly string[] = [
  // From now on V8 translates a function into machine code when it is called first, not after some hundred calls: what runs now is
  // called for each message.
  "--always-sparkplug",
  "--heap-growing-percent=50",
  // How often V8 collects all garbage when it becomes idle. The second time finds nothing.
  "--memory-reducer-gc-count=1",
  // Frees the memory of a compilation when it is done. Otherwise it waits for a thread that is free: under load that is 10 to 90 MiB.
  "--no-maglev-destroy-on-background",
];

/** Sets the flags, but for those that the command line sets. */
export function setEngineFlags(): void {
  const given = new Set(process.execArgv.map(nameOf));
  for (const flag of FLAGS) if (!given.has(nameOf(flag))) setFlagsFromString(flag);
}

/** `--no-some-flag` and `--some_flag=1` are about the same flag. */
const nameOf = (flag: string): string =>
  flag
    .replaceAll("_", "-")
    .replace(/^--(?:no-?)?/, "")
    .replace(/=.*/, "");
