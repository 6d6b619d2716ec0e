import process from "node:process";

/** Whether this process only prepares the daemon: `bin/openclaw.mjs` replaces it, and the next one reads NODE_OPTIONS again. */
export const isReplaced =
  /openclaw\.mjs$/.test(process.argv[1] ?? "") &&
  process.env.OPENCLAW_PREPARED === undefined &&
  typeof process.execve === "function";
