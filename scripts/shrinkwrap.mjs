// Writes npm-shrinkwrap.json, so that users install the versions and hashes of package-lock.json.
//   node scripts/shrinkwrap.mjs            before npm pack (the script "prepack")
//   node scripts/shrinkwrap.mjs --remove   after it ("postpack"): otherwise npm would use it in the repository instead of package-lock.json
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { partOf, readLock } from "./lock.mjs";

/** The lock of the published package: dependencies and optional dependencies, without development dependencies and workspaces. */
export function shrinkwrapOf(root) {
  const { name, version, license, bin, engines, dependencies, optionalDependencies } = JSON.parse(
    fs.readFileSync(path.join(root, "package.json"), "utf8"),
  );
  const facts = { name, version, license, bin, engines, dependencies, optionalDependencies };
  const lock = partOf(readLock(path.join(root, "package-lock.json")), facts);
  const scripts = Object.entries(lock.packages).filter(([, entry]) => entry.hasInstallScript);
  if (scripts.length === 0) return lock;
  throw new Error(
    `these packages have install scripts, which users would run: ${scripts.map(([place]) => place).join(", ")}`,
  );
}

if (import.meta.main) {
  const root = path.dirname(import.meta.dirname);
  const file = path.join(root, "npm-shrinkwrap.json");
  if (process.argv.includes("--remove")) fs.rmSync(file, { force: true });
  else fs.writeFileSync(file, `${JSON.stringify(shrinkwrapOf(root), null, 2)}\n`);
}
