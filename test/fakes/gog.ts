import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jsonLinesIn } from "../kit/json-lines.ts";

/** What a fake `gog` was called with. */
export interface GogCall {
  readonly args: readonly string[];
  readonly env: readonly string[];
}

/** A `gog` in a folder of its own, for `PATH`. */
export interface FakeGog {
  readonly path: string;
  calls(): readonly GogCall[];
}

/**
 * Writes a program `gog` that notes its calls. `watch serve` runs `serve`, the body of an async function of `url` and `token`, and then
 * waits for its end; each other call ends at once.
 */
export function fakeGog(dir: string, serve = ""): FakeGog {
  mkdirSync(dir, { recursive: true });
  const log = join(dir, "calls.jsonl");
  const code = `#!${process.execPath}
const { appendFileSync } = require("node:fs");
const args = process.argv.slice(2);
appendFileSync(${JSON.stringify(log)}, JSON.stringify({ args, env: Object.keys(process.env) }) + "\\n");
const flag = (name) => args[args.indexOf(name) + 1];
async function run() {
  if (args[2] !== "serve") return;
  const [url, token] = [flag("--hook-url"), flag("--hook-token")];
  ${serve}
  setInterval(() => undefined, 1000);
}
run();
`;
  const file = join(dir, "gog");
  writeFileSync(file, code);
  chmodSync(file, 0o755);
  const calls = (): readonly GogCall[] => jsonLinesIn(log);
  return { path: dir, calls };
}
