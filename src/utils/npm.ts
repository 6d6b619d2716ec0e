import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { errorText } from "./text/error-text.ts";
import type { Env } from "./env.ts";

/** A program with the arguments that come before the caller's own. */
export type Program = readonly [string, ...string[]];

/** The npm that came with this Node, else the npm of `PATH`. */
export function findNpm(): Program {
  const bin = dirname(process.execPath);
  const places = [join(bin, "../lib/node_modules"), join(bin, "node_modules")];
  const found = places.map((place) => join(place, "npm/bin/npm-cli.js")).find((file) => existsSync(file));
  return found === undefined ? ["npm"] : [process.execPath, found];
}

const KEPT =
  /^(?:PATH|HOME|USERPROFILE|APPDATA|LOCALAPPDATA|SYSTEMROOT|TMPDIR|TEMP|TMP|NPM_TOKEN|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR)|(?:https?|no|all)_proxy|npm_config_.*)$/i;

/**
 * Variables of an environment that npm needs: its own settings and the way to the network, and no key of the gateway.
 */
export const npmEnv = (env: Env): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => KEPT.test(name)));

/** The errors that a failed npm wrote, without the path of its own log; else how it ended. */
export function npmErrorText(cause: unknown): string {
  const output = cause instanceof Error && "stderr" in cause && typeof cause.stderr === "string" ? cause.stderr : "";
  const lines = output.split("\n").filter((line) => line.startsWith("npm error") && !line.includes("complete log"));
  const texts = lines.map((line) => line.slice("npm error".length).trim()).filter((line) => line !== "");
  return texts.length > 0 ? texts.join(" ") : errorText(cause);
}
