import { realpath, stat } from "node:fs/promises";
import { basename, join, relative, sep, posix } from "node:path";
import { z } from "zod";
import type { BrokenPlugin, FoundPlugin, PluginOrigin, PluginPackage } from "../../types/plugin/manifest.ts";
import { errorCode, isMissing } from "../../utils/missing.ts";
import { readRegular } from "../../utils/read-regular.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { parseManifest, type ParsedManifest } from "./parse-manifest.ts";
import { defined } from "../../utils/defined.ts";

export const MANIFEST = "openclaw.plugin.json";
const MOST_BYTES = 1_048_576;

export type ReadPlugin =
  | { readonly kind: "found"; readonly plugin: FoundPlugin }
  | { readonly kind: "broken"; readonly broken: BrokenPlugin }
  /** The folder has no manifest: it is no plugin. */
  | { readonly kind: "none" };

/** Reads the manifest and the package of a folder, without running any code of the folder. Never rejects. */
export async function readPlugin(folder: string, origin: PluginOrigin): Promise<ReadPlugin> {
  const root = await realpath(folder).catch(() => folder);
  const broken = (why: string, id = basename(folder)): ReadPlugin => ({
    kind: "broken",
    broken: { id, root, origin, why },
  });
  const manifestJson = await readJson(root, MANIFEST);
  if (manifestJson.kind === "missing") return { kind: "none" };
  if (manifestJson.kind === "broken") return broken(manifestJson.why);
  const manifest = parseManifest(manifestJson.value);
  if (manifest.kind === "broken") return broken(manifest.why);
  const { id } = manifest.value;
  const packageJson = await readJson(root, "package.json");
  if (packageJson.kind === "broken") return broken(packageJson.why, id);
  const parsed = parsePackage(packageJson.kind === "missing" ? {} : packageJson.value);
  if (parsed.kind === "broken") return broken(parsed.why, id);
  const entries = await existing(root, withUsual(parsed.value));
  if (entries.kind === "broken") return broken(entries.why, id);
  const skills = await foldersOf(root, manifest.value.skills);
  if (skills.kind === "broken") return broken(skills.why, id);
  const plugin = {
    manifest: { ...manifest.value, skills: skills.value },
    package: { ...parsed.value, entries: entries.value },
    root,
    origin,
    engines: [],
  };
  return { kind: "found", plugin };
}

type Json = ParsedManifest<unknown> | { readonly kind: "missing" };

async function readJson(root: string, name: string): Promise<Json> {
  try {
    const bytes = await readRegular(join(root, name), MOST_BYTES);
    return { kind: "ok", value: JSON.parse(bytes.toString("utf8").replace(/^\uFEFF/, "")) };
  } catch (error) {
    if (isMissing(error) || (error instanceof Error && isMissing(error.cause))) return { kind: "missing" };
    return { kind: "broken", why: `its ${name} cannot be read: ${errorText(error)}` };
  }
}

/** The usual entries, for a plugin whose package names none. */
const withUsual = ({ entries }: PluginPackage): readonly string[] =>
  entries.length > 0 ? entries : ["dist/index.js", "index.js", "index.mjs", "index.cjs", "index.ts"];

/**
 * The entries that are files inside the folder. An entry that leads out of the folder is refused, whether it exists or
 * not.
 */
async function existing(root: string, entries: readonly string[]): Promise<ParsedManifest<readonly string[]>> {
  const found: string[] = [];
  for (const entry of entries) {
    const place = await placeOf(root, entry);
    if (place.kind === "broken") return { kind: "broken", why: `its entry ${entry} ${place.why}` };
    if (place.kind === "there" && (await stat(place.real)).isFile()) found.push(relative(root, place.real));
  }
  if (found.length > 0) return { kind: "ok", value: found };
  return { kind: "broken", why: `none of its entry files exists: ${entries.join(", ")}` };
}

/** The skill folders that exist, once each. One that leads out of the plugin's folder is refused. */
async function foldersOf(root: string, folders: readonly string[]): Promise<ParsedManifest<readonly string[]>> {
  const found = new Set<string>();
  for (const folder of folders) {
    const place = await placeOf(root, folder);
    if (place.kind === "broken") return { kind: "broken", why: `its skill folder ${folder} ${place.why}` };
    if (place.kind === "there" && (await stat(place.real)).isDirectory()) found.add(relative(root, place.real));
  }
  return { kind: "ok", value: [...found] };
}

/** `why` is the rest of a sentence about it. */
type Place =
  | { readonly kind: "there"; readonly real: string }
  | { readonly kind: "missing" }
  | { readonly kind: "broken"; readonly why: string };

/** Where a path of the manifest leads. */
async function placeOf(root: string, name: string): Promise<Place> {
  const path = join(root, name);
  if (!isInside(root, path)) return { kind: "broken", why: "is outside its folder" };
  try {
    const real = await realpath(path);
    return isInside(root, real) ? { kind: "there", real } : { kind: "broken", why: "leads outside its folder" };
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "")) return { kind: "missing" };
    return { kind: "broken", why: `cannot be read: ${errorText(error)}` };
  }
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`);
}

const text = z.string().max(10_000);
const texts = z.array(text).max(100).optional().catch(undefined);
const optionalText = text.optional().catch(undefined);
const table = z.record(z.string(), z.unknown()).optional().catch(undefined);

const packageShape = z.lazy(() =>
  z.looseObject({
    name: optionalText,
    version: optionalText,
    description: optionalText,
    author: z
      .union([text, z.looseObject({ name: text }).transform(({ name }) => name)])
      .optional()
      .catch(undefined),
    license: optionalText,
    main: optionalText,
    dependencies: table,
    scripts: table,
    openclaw: z
      .looseObject({
        extensions: texts,
        runtimeExtensions: texts,
        compat: z.looseObject({ pluginApi: optionalText }).optional().catch(undefined),
        install: z.looseObject({ minHostVersion: optionalText }).optional().catch(undefined),
      })
      .optional()
      .catch(undefined),
  }),
);

/** Scripts that npm runs when it installs a package of the registry. */
const INSTALL_SCRIPTS = ["preinstall", "install", "postinstall", "prepare"];

/** Reads the parsed JSON of a plugin's `package.json`. Entries are still unchecked paths. */
function parsePackage(json: unknown): ParsedManifest<PluginPackage> {
  const parsed = packageShape.safeParse(json);
  if (!parsed.success) return { kind: "broken", why: "its package.json holds no object" };
  const { name, version, description, author, license, main, openclaw, dependencies, scripts } = parsed.data;
  const pluginApi = openclaw?.compat?.pluginApi ?? openclaw?.install?.minHostVersion;
  return {
    kind: "ok",
    value: {
      ...defined({ name, version, description, author, license, pluginApi }),
      entries: entriesOf(openclaw, main),
      dependencies: Object.keys(dependencies ?? {}),
      installScripts: INSTALL_SCRIPTS.filter((script) => typeof scripts?.[script] === "string"),
    },
  };
}

/** Built JavaScript first; each source is followed by the places where its built form usually is. */
function entriesOf(openclaw: z.output<typeof packageShape>["openclaw"], main: string | undefined): readonly string[] {
  const sources = openclaw?.extensions ?? (main === undefined ? [] : [main]);
  const built = sources.flatMap((source) => (/\.[cm]?ts$/.test(source) ? builtFormsOf(source) : []));
  const all = [...(openclaw?.runtimeExtensions ?? []), ...built, ...sources];
  return [...new Set(all.map((path) => posix.normalize(path)))];
}

function builtFormsOf(source: string): readonly string[] {
  const plain = source.replace(/\.([cm]?)ts$/, ".$1js");
  return [`dist/${plain}`, `dist/${plain.replace(/^src\//, "")}`, plain];
}
