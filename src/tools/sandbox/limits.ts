import type { Launch } from "../../types/run/backend.ts";
import type { BwrapSettings } from "../../types/sandbox.ts";

/**
 * Shell text that sets the limits; the shell then becomes the command. A limit that is already lower stays, which is
 * why errors are not shown. Shells disagree on the letter for processes. Files are counted in blocks of 512 bytes.
 */
const SCRIPT = [
  'ulimit -c 0; ulimit -t "$1"; ulimit -f "$2"; ulimit -d "$3"; ulimit -u "$4" || ulimit -p "$4"',
  "shift 4",
];

/** The argv of a process whose limits are set before it begins. Pure. */
export const limitedArgv = (
  argv: Launch["argv"],
  { cpuSeconds, fileSizeMb, memoryMb, processes }: BwrapSettings,
): Launch["argv"] => [
  "/bin/sh",
  "-c",
  `{ ${SCRIPT.join("; ")}; } 2>/dev/null; exec "$@"`,
  "sh",
  ...[cpuSeconds, fileSizeMb * 2048, memoryMb * 1024, processes].map(String),
  ...argv,
];
