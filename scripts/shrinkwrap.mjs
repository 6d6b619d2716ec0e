// Writes npm-shrinkwrap.json: what users install is what package-lock.json names, to the last hash.
//   node scripts/shrinkwrap.mjs            before npm pack (the script "prepack")
//   node scripts/shrinkwrap.mjs --remove   after it ("postpack"): in the repository npm would read it instead of package-lock.json
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { partOf, readLock } from "./lock.mjs";

/** The lock of the published package: its dependencies and their optional parts, nothing for development, no workspace. */
export function shrinkwrapOf(root) {
  const { name, version, license, bin, engines, dependencies, optionalDependencies } = JSON.parse(
    fs.readFileSync(path.join(root, "package.json"), "utf8"),
  );
  const facts = { name, version, license, bin, engines, dependencies, optionalDependencies };
  const lock = partOf(readLock(path.join(root, "package-lock.json")), facts);
  const scripts = Object.entries(lock.packages).filter(([, entry]) => entry.hasInstallScript);
  if (scripts.length === 0) return lock;
  throw new Error(`users would run the install scripts of ${scripts.map(([place]) => place).join(", ")}`);
}

if (import.meta.main) {
  const root = path.dirname(import.meta.dirname);
  const file = path.join(root, "npm-shrinkwrap.json");
  if (process.argv.includes("--remove")) fs.rmSync(file, { force: true });
  else fs.writeFileSync(file, `${JSON.stringify(shrinkwrapOf(root), null, 2)}\n`);
}
