import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder with our `package.json`, from the sources and from the bundle alike. */
export const packageRoot: string = findRoot(dirname(fileURLToPath(import.meta.url)));

function findRoot(from: string): string {
  for (let dir = from; dir !== dirname(dir); dir = dirname(dir)) if (existsSync(join(dir, "package.json"))) return dir;
  return from;
}

/**
 * The folder of the package that was installed. `packageRoot` is another one when `bin/openclaw.mjs` there has started a version that
 * `openclaw update` has put beside it.
 */
export function installedRoot(): string {
  const script = process.argv[1];
  if (script === undefined || !existsSync(script)) return packageRoot;
  const root = dirname(dirname(realpathSync(script)));
  return realpathSync(script) === join(root, "bin", "openclaw.mjs") ? root : packageRoot;
}

/** Our version, from `package.json`. */
export function packageVersion(root = packageRoot): string {
  const version = fieldOf(manifestIn(root), "version");
  return typeof version === "string" ? version : "0.0.0";
}

/** The oldest Node that runs this program, as `22.19`. */
export function oldestNode(): string {
  const range = fieldOf(fieldOf(manifestIn(packageRoot), "engines"), "node");
  return typeof range === "string" ? range.replace(/^>=/, "") : "0";
}

const manifestIn = (root: string): unknown => JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

// `--version` needs this file alone.
const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
