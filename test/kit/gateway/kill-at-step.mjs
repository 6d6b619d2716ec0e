// Loaded by `--import`: kills the process that has noted the step KILL_AT_STEP of an update.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const { rename } = fs.promises;

fs.promises.rename = async (from, to) => {
  await rename(from, to);
  if (!String(to).endsWith("updates.json")) return;
  const { updates } = JSON.parse(fs.readFileSync(to, "utf8"));
  if (updates.at(-1).steps.at(-1).step === process.env["KILL_AT_STEP"]) process.kill(process.pid, "SIGKILL");
};
syncBuiltinESMExports();
