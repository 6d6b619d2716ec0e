import fs from "node:fs";
import fsp from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

// Loaded before the program: kills this process before the change number KILL_AT of a file below KILL_BELOW. With a number that
// is never reached, it writes the count of the changes into the file KILL_COUNT at the end.

const { KILL_AT = "0", KILL_BELOW = "/nowhere", KILL_COUNT } = process.env;
const CHANGES = ["rename", "open", "rm", "unlink", "rmdir", "mkdir", "writeFile", "symlink", "copyFile"];
let count = 0;

function step(name: string, args: readonly unknown[]): void {
  if (!args.some((arg) => typeof arg === "string" && arg.startsWith(KILL_BELOW))) return;
  if (name.startsWith("open") && !(typeof args[1] === "string" && /[wax+]/.test(args[1]))) return;
  count += 1;
  if (count === Number(KILL_AT)) process.kill(process.pid, "SIGKILL");
}

for (const name of CHANGES)
  for (const [holder, key] of [[fsp, name] as const, [fs, name] as const, [fs, `${name}Sync`] as const]) {
    const original: unknown = Reflect.get(holder, key);
    if (typeof original !== "function") continue;
    Reflect.set(holder, key, function (this: unknown, ...args: unknown[]): unknown {
      step(key, args);
      return Reflect.apply(original, this, args);
    });
  }
syncBuiltinESMExports();
if (KILL_COUNT !== undefined) process.on("exit", () => fs.appendFileSync(KILL_COUNT, String(count)));
