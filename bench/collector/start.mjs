// node [FLAGS] start.mjs gateway run …   Runs the built gateway as bin/openclaw.mjs does, but with the flags of V8 in $LATER_FLAGS instead of
// its own. They are set while V8 runs already, as the program does it; flags that count only at the start of V8 go before the file's name.
import { enableCompileCache } from "node:module";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";

enableCompileCache(path.join(process.env.HOME, ".cache", "openclaw", "compile"));
for (const flag of (process.env.LATER_FLAGS ?? "").split(" ").filter(Boolean)) setFlagsFromString(flag);
await import(pathToFileURL(path.resolve(import.meta.dirname, "..", "..", "dist", "main.js")).href);
