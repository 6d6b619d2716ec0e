// Preloaded with --import: writes the address of every module that is loaded to standard error at exit.
import { registerHooks } from "node:module";

const loaded = [];
registerHooks({
  load(url, context, next) {
    if (!url.startsWith("node:")) loaded.push(url);
    return next(url, context);
  },
});
process.on("exit", () => process.stderr.write(`LOADED ${JSON.stringify(loaded)}\n`));
