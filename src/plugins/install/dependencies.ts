import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { exists } from "../../utils/exists.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { runNpm, type Programs } from "./programs.ts";
import { invalid, unsafe } from "./refusals.ts";
import { readTextFile } from "../../store/text-file.ts";

const table = z.record(z.string(), z.string()).optional().catch(undefined);
const packageShape = z.looseObject({
  dependencies: table,
  optionalDependencies: table,
  peerDependencies: table,
  peerDependenciesMeta: z
    .record(z.string(), z.looseObject({ optional: z.boolean().optional() }))
    .optional()
    .catch(undefined),
  bundleDependencies: z.array(z.string()).optional().catch(undefined),
  bundledDependencies: z.array(z.string()).optional().catch(undefined),
});

type Package = z.output<typeof packageShape>;
type Table = Readonly<Record<string, string>>;

/**
 * Fetches the dependencies of an unpacked plugin into its `node_modules`, with the lock of the fetched packages as its
 * `package-lock.json`. npm works in `draft`, a new folder, so that no setting of the plugin's author reaches it, and
 * runs no script. Throws `PLUGIN_FETCH`, and `PLUGIN_UNSAFE` for a dependency that is not in a registry.
 */
export async function fetchDependencies(programs: Programs, folder: string, draft: string): Promise<void> {
  const own = await packageOf(folder);
  const dependencies = neededOf(own);
  const optionalDependencies = without(own.optionalDependencies, own);
  if (Object.keys({ ...dependencies, ...optionalDependencies }).length === 0) return;
  refuseForeign({ ...dependencies, ...optionalDependencies });
  await mkdir(draft, { recursive: true, mode: 0o700 });
  const manifest = { name: "plugin-dependencies", version: "0.0.0", private: true, dependencies, optionalDependencies };
  await writeFile(join(draft, "package.json"), JSON.stringify(manifest));
  const args = ["install", "--ignore-scripts", "--omit=dev", "--allow-git=none", "--package-lock=true"];
  await runNpm(programs, args, { cwd: draft, what: "The dependencies could not be fetched" });
  await mergeModules(join(draft, "node_modules"), join(folder, "node_modules"));
  const lock = await unlessMissing(readFile(join(draft, "package-lock.json")));
  if (lock) await writeFile(join(folder, "package-lock.json"), lock);
}

async function packageOf(folder: string): Promise<Package> {
  const text = await readTextFile(join(folder, "package.json"));
  const json: unknown = text === undefined ? {} : JSON.parse(text.replace(/^\uFEFF/, ""));
  return packageShape.parse(json);
}

/** Runtime dependencies, and peers that are not optional. The gateway itself is linked, whatever asks for it. */
function neededOf(own: Package): Table {
  const peers = Object.entries(own.peerDependencies ?? {}).filter(
    ([name]) => own.peerDependenciesMeta?.[name]?.optional !== true,
  );
  return without({ ...Object.fromEntries(peers), ...own.dependencies }, own);
}

function without(given: Table | undefined, own: Package): Table {
  const bundled = new Set(["openclaw", ...(own.bundleDependencies ?? []), ...(own.bundledDependencies ?? [])]);
  return Object.fromEntries(Object.entries(given ?? {}).filter(([name]) => !bundled.has(name)));
}

/** A folder, an address or a repository is fetched in other ways, some of which run programs. */
function refuseForeign(dependencies: Table): void {
  const foreign = Object.entries(dependencies).find(([, range]) => !isRegistryRange(range));
  if (!foreign) return;
  const [name, range] = foreign;
  throw unsafe(`Its dependency ${name} is not from a registry but from ${range}.`, "Ask its author to publish it.");
}

const isRegistryRange = (range: string): boolean =>
  /^npm:(?:@[^/:]+\/)?[^/:]+$/.test(range) || !/[:/]|^\.+$/.test(range);

/** Moves packages next to the packages that the plugin brought with it, which stay. */
async function mergeModules(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  const names = (await unlessMissing(readdir(from))) ?? [];
  for (const name of names.filter((one) => one !== ".package-lock.json")) {
    const [source, target] = [join(from, name), join(to, name)];
    const isShared = name.startsWith("@") || name === ".bin";
    if (isShared && (await exists(target))) await mergeModules(source, target);
    else if (!(await exists(target))) await rename(source, target);
  }
}

/** Runs the install scripts of the plugin and of its dependencies, which the operator allowed. Throws `PLUGIN_FETCH`. */
export async function runInstallScripts(programs: Programs, folder: string): Promise<void> {
  const at = { cwd: folder, what: "An install script failed" };
  await runNpm(programs, ["rebuild", "--ignore-scripts=false", "--foreground-scripts"], at);
  for (const script of ["preinstall", "install", "postinstall"])
    await runNpm(programs, ["run", script, "--if-present", "--ignore-scripts=false"], at);
}

const lockShape = z.looseObject({
  packages: z.record(
    z.string(),
    z.looseObject({ version: z.string().optional(), hasInstallScript: z.boolean().optional() }),
  ),
});

/** The fetched dependencies that have install scripts, as `name@version`. */
export async function scriptedDependencies(folder: string): Promise<readonly string[]> {
  const lock = lockShape.safeParse(await readLock(join(folder, "package-lock.json")));
  return Object.entries(lock.data?.packages ?? {}).flatMap(([path, { version, hasInstallScript }]) =>
    hasInstallScript === true && path !== "" ? `${path.split("node_modules/").at(-1)}@${version}` : [],
  );
}

async function readLock(file: string): Promise<unknown> {
  try {
    const text = await readTextFile(file);
    return text === undefined ? undefined : JSON.parse(text);
  } catch (error) {
    const fix = "Ask its author to mend or to remove the file.";
    throw invalid(`The package-lock.json of the plugin cannot be read: ${errorText(error)}`, fix, error);
  }
}
