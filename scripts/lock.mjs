// Reads package-lock.json: finds the dependencies of a package, and makes a lock for a part of the packages.
import fs from "node:fs";

export const readLock = (file) => JSON.parse(fs.readFileSync(file, "utf8"));

/** The package name in a path of the lock: `@b/c` for `node_modules/a/node_modules/@b/c`. */
export const nameAt = (place) => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);

/** The path where Node finds `name` from the package at `place` ("" is the root), or undefined. */
function placeOf(lock, place, name) {
  for (let at = place; ; at = at.slice(0, Math.max(0, at.lastIndexOf("node_modules/") - 1))) {
    const found = at === "" ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (lock.packages[found]) return found;
    if (at === "") return undefined;
  }
}

/** The paths of a package's dependencies at run time, without optional peers. */
export function dependenciesOf(lock, place) {
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = lock.packages[place];
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional);
  const names = [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
  return names.map((name) => placeOf(lock, place, name)).filter((found) => found !== undefined);
}

/** A comparison for `sort` that does not depend on the machine's locale. */
export const byText = (a, b) => (a < b ? -1 : Number(a > b));

/** The packages at `places` and all their dependencies, sorted. */
export function closureOf(lock, places) {
  const found = new Set();
  const open = [...places];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (found.has(place)) continue;
    found.add(place);
    open.push(...dependenciesOf(lock, place));
  }
  return [...found].sort(byText);
}

// `resolved` contains the registry of the machine that made the lock. Without it npm uses the registry of the machine that
// installs, and checks the packages by `integrity`.
const NOT_KEPT = new Set(["resolved", "dev", "devOptional", "optional", "peer", "link"]);

/** A separate lock for `root` (the fields of a package.json), with the versions and hashes of `lock`. */
export function partOf(lock, root) {
  const roots = (names) => Object.keys(names ?? {}).map((name) => needed(lock, name));
  const always = new Set(closureOfRequired(lock, roots(root.dependencies)));
  const all = closureOf(lock, [...roots(root.dependencies), ...roots(root.optionalDependencies)]);
  const packages = Object.fromEntries(all.map((place) => [place, entryOf(lock.packages[place], always.has(place))]));
  const { name, version } = root;
  return { name, version, lockfileVersion: 3, requires: true, packages: { "": root, ...packages } };
}

function needed(lock, name) {
  const place = placeOf(lock, "", name);
  if (!place) throw new Error(`package-lock.json does not have ${name}: run npm install`);
  return place;
}

/** The packages that remain when every optional dependency fails to install. */
function closureOfRequired(lock, places) {
  const required = structuredClone(lock);
  for (const entry of Object.values(required.packages)) {
    for (const name of Object.keys(entry.optionalDependencies ?? {})) delete entry.dependencies?.[name];
    delete entry.optionalDependencies;
  }
  return closureOf(required, places);
}

function entryOf(entry, isRequired) {
  if (!entry.integrity) throw new Error(`package-lock.json has no integrity for version ${entry.version} of a package`);
  const kept = Object.entries(entry).filter(([key]) => !NOT_KEPT.has(key));
  return { ...Object.fromEntries(kept), ...(!isRequired && { optional: true }) };
}
