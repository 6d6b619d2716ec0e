import process from "node:process";

/** Whether this process only prepares the daemon: `bin/openclaw.mjs` replaces it, and the next one reads NODE_OPTIONS again. */
export const isReplaced =
  process.argv[1]?.endsWith("openclaw.mjs") === true &&
  process.env.OPENCLAW_PREPARED === undefined &&
  typeof process.execve === "function";
