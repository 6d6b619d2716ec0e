/**
 * Checks these rules. Imports: a module in src/ imports itself and modules that sort after it; an extension imports its own
 * files, npm packages and openclaw/plugin-sdk; only the plugin SDK imports the suites in testing/. Parts: inside a module,
 * imports point down the order in `module-parts.ts`, and no two parts or folders need each other. Width: an object type
 * has few fields, and no port of dispatch is optional. Folders: a folder contains few files. Model calls: one function
 * opens the stream of a model. Tools access files and processes through their backends.
 */
import fs from "node:fs";
import path from "node:path";
import { FLAT, PARTS } from "./module-parts.ts";
import { WIDE } from "./wide-objects.ts";

/** One import that breaks the rule, with the reason as a text. */
export interface Breach {
  readonly file: string;
  readonly imported: string;
  readonly reason: string;
}

interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
}

const STATEMENT = /^[ \t]*(?:import|export)\s+(type\s)?[^;"'`]*?\bfrom\s*["']([^"'\n]+)["']/gm;
const BARE = /^[ \t]*import\s*["']([^"'\n]+)["']/gm;
const DYNAMIC = /(?:\bimport|\brequire)\(\s*["'`]([^"'`\n]+)["'`]/g;

const SDK = /^openclaw\/plugin-sdk(?:\/|$)/;
const PI = /^@mariozechner\/pi-/;
const PI_MODULES = new Set(["harness", "providers"]);

/** Every module that a source text imports. Never throws; text inside a template string may be reported too. */
export function importsOf(source: string): Import[] {
  const found: Import[] = [];
  for (const match of source.matchAll(STATEMENT)) {
    if (match[2]) found.push({ specifier: match[2], typeOnly: match[1] !== undefined });
  }
  for (const match of [...source.matchAll(BARE), ...source.matchAll(DYNAMIC)]) {
    if (match[1]) found.push({ specifier: match[1], typeOnly: false });
  }
  return found;
}

/** Checks one file by its path from the repository's root (with `/`) and its text. */
export function breachesIn(file: string, source: string): Breach[] {
  const judge = ruleFor(file);
  if (!judge) return [];
  return importsOf(source).flatMap((item) => {
    const reason = judge(item);
    return reason === undefined ? [] : [{ file, imported: item.specifier, reason }];
  });
}

type Rule = (item: Import) => string | undefined;

function ruleFor(file: string): Rule | undefined {
  const [top, name] = file.split("/");
  if (top === "src") return (item) => moduleRule(file, item);
  if (top === "testing") return (item) => suiteRule(file, item);
  if (top !== "extensions" || file.startsWith(`extensions/${name}/test/`)) return undefined;
  return (item) => extensionRule(file, item);
}

function moduleRule(file: string, { specifier, typeOnly }: Import): string | undefined {
  const module = moduleOf(file);
  if (module === undefined) return "a source file lies in a module, not in src/ itself";
  if (!specifier.startsWith(".")) return packageRule(file, specifier, typeOnly);
  const target = path.posix.join(path.posix.dirname(file), specifier);
  if (target === "package.json") return undefined;
  if (target.startsWith("extensions/")) return module === "app" ? undefined : "only app/ knows the extensions";
  if (target.startsWith("testing/")) return module === "api" ? undefined : "only the plugin SDK imports the suites";
  const targetModule = moduleOf(target);
  if (targetModule === undefined) return "outside src/";
  if (targetModule === module) return insideRule(file, target, typeOnly);
  if (targetModule > module) return undefined;
  return `${module}/ may not import ${targetModule}/: imports only point down the listing of src/`;
}

function insideRule(file: string, target: string, typeOnly: boolean): string | undefined {
  return partRule(file, target) ?? (isTool(file) && isBackend(target) && !typeOnly ? USES_BACKEND : undefined);
}

/** `src/dispatch/turn/body.ts` lies in the part `turn` of the module `src/dispatch`. */
function placeOf(file: string): { readonly module: string; readonly part: string } {
  const [top = "", name = "", part = ""] = file.split("/");
  return { module: `${top}/${name}`, part };
}

function partRule(file: string, target: string): string | undefined {
  const { module, part } = placeOf(file);
  const order = PARTS[module];
  if (!order) return undefined;
  const to = placeOf(target).part;
  const [at, below] = [order.indexOf(part), order.indexOf(to)];
  if (at === -1 || below === -1 || below >= at) return undefined;
  return `${module}/${part} may not import ${to}: see the order in scripts/module-parts.ts`;
}

const BACKENDS = ["src/tools/host/", "src/tools/sandbox/"];
const isBackend = (file: string): boolean => BACKENDS.some((folder) => file.startsWith(folder));
const MACHINE = /^(?:node:)?(?:fs|child_process)(?:\/|$)/;
const USES_BACKEND = "a tool reaches files and processes through the backends of its run (types/run/backend.ts)";
const isTool = (file: string): boolean => file.startsWith("src/tools/") && !isBackend(file);

function packageRule(file: string, specifier: string, typeOnly: boolean): string | undefined {
  if (specifier.startsWith("openclaw/") || specifier === "openclaw") return "a module imports by path, not by the SDK";
  if (isTool(file) && MACHINE.test(specifier)) return USES_BACKEND;
  if (PI.test(specifier) && !typeOnly && !PI_MODULES.has(moduleOf(file) ?? ""))
    return "the pi SDK is for providers/ and harness/";
  return undefined;
}

function extensionRule(file: string, { specifier }: Import): string | undefined {
  const own = file.split("/").slice(0, 2).join("/");
  if (specifier.startsWith(".")) {
    const target = path.posix.join(path.posix.dirname(file), specifier);
    return target.startsWith(`${own}/`)
      ? partRule(file, target)
      : "an extension imports its own files and openclaw/plugin-sdk";
  }
  if (specifier.startsWith("openclaw") && !SDK.test(specifier)) return "only openclaw/plugin-sdk is open to extensions";
  if (PI.test(specifier)) return "the pi SDK is for providers/ and harness/";
  return undefined;
}

/** The suites of the plugin SDK: what `src/api` may import, and each other. */
function suiteRule(file: string, { specifier }: Import): string | undefined {
  if (!specifier.startsWith(".")) return packageRule(file, specifier, false);
  const target = path.posix.join(path.posix.dirname(file), specifier);
  if (target.startsWith("testing/") || (moduleOf(target) ?? "api") !== "api") return undefined;
  return "a suite imports modules of src/ below the plugin SDK, and other suites";
}

function moduleOf(file: string): string | undefined {
  const parts = file.split("/");
  return parts[0] === "src" && parts.length > 2 ? parts[1] : undefined;
}

/** A folder that no order names: new folders get their place in the list of their module. */
export function unlistedFoldersIn(files: readonly string[]): string[] {
  const places = files.filter((file) => file.split("/").length > 3).map(placeOf);
  const missing = places.filter(({ module, part }) => PARTS[module]?.includes(part) === false);
  return [
    ...new Set(missing.map(({ module, part }) => `${module}/${part} is not in the order of scripts/module-parts.ts`)),
  ];
}

/** An import of a file of the same module; paths from the root. */
interface Edge {
  readonly from: string;
  readonly to: string;
}

const edgeTo = (file: string, specifier: string): Edge => ({
  from: file,
  to: path.posix.join(path.posix.dirname(file), specifier),
});

export function edgesIn(file: string, source: string): Edge[] {
  const { module } = placeOf(file);
  return importsOf(source)
    .filter(({ specifier }) => specifier.startsWith("."))
    .map(({ specifier }) => edgeTo(file, specifier))
    .filter(({ to }) => to.startsWith(`${module}/`));
}

/** Pairs of folders of one module, or of its parts, that import each other, one line each. */
export function mutualPairsIn(edges: readonly Edge[]): string[] {
  const pairs = new Set<string>();
  const inside = edges.filter(({ from }) => !FLAT.includes(placeOf(from).module));
  for (const { from, to } of inside) {
    const [one, other] = [placeOf(from), placeOf(to)];
    const [folder, below] = [path.posix.dirname(from), path.posix.dirname(to)];
    if (one.part !== other.part) pairs.add(`${one.module}/${one.part} ${other.module}/${other.part}`);
    else if (folder !== below) pairs.add(`${folder} ${below}`);
  }
  const isMutual = (pair: string) => pairs.has(pair.split(" ").toReversed().join(" "));
  return [...pairs]
    .filter(isMutual)
    .filter((pair) => pair < pair.split(" ").toReversed().join(" "))
    .map((pair) => `${pair.replace(" ", " and ")} import each other`);
}

const MAX_FIELDS = 12;
const MAX_BOOLEANS = 2;
const OBJECT_TYPE = /^(?:export )?(?:interface (\w+)\b[^{\n]*|type (\w+) = (?:[^{;\n]*& )?)\{\n([\s\S]*?)\n\}/gm;

/**
 * Object types with more than 12 fields or 2 booleans, one line each. `wide-objects.ts` has exceptions with
 * their own limits.
 */
export function wideObjectsIn(file: string, source: string, allowed: typeof WIDE = WIDE): string[] {
  return [...source.matchAll(OBJECT_TYPE)].flatMap((match) => {
    const name = match[1] ?? match[2] ?? "";
    const lines = (match[3] ?? "").split("\n").filter((line) => /^ {2}(?:readonly )?\w+\??[:(<]/.test(line));
    const booleans = lines.filter((line) => /: boolean/.test(line)).length;
    const { fields = MAX_FIELDS, booleans: most = MAX_BOOLEANS } = allowed[name] ?? {};
    if (lines.length <= fields && booleans <= most) return [];
    return [
      `${file}: ${name} has ${lines.length} fields, ${booleans} of them boolean; the limits are ${fields} and ${most}`,
    ];
  });
}

const PORTS = /^export interface (\w+Ports)\b([^{\n]*)\{\n([\s\S]*?)\n\}/gm;

/** Groups of ports of dispatch with optional members, or with members of another group, one line each. */
export function openPortsIn(file: string, source: string): string[] {
  if (file !== "src/dispatch/ports.ts") return [];
  return [...source.matchAll(PORTS)].flatMap(([, name, heading = "", members = ""]) => {
    const optional = members.match(/^ {2}(?:readonly )?\w+\?[:(<]/gm) ?? [];
    return [
      ...optional.map((line) => `${file}: ${name} has an optional port, which somebody may forget: ${line.trim()}`),
      ...(/\bextends\b/.test(heading) ? [`${file}: ${name} takes in other groups: name them as its members`] : []),
    ];
  });
}

const MAX_FILES = 25;

/** Folders that directly contain more than 25 files, one line each. `files` are paths from the root. */
export function fullFoldersIn(files: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const file of files) counts.set(path.posix.dirname(file), (counts.get(path.posix.dirname(file)) ?? 0) + 1);
  return [...counts].flatMap(([dir, count]) =>
    count > MAX_FILES ? [`${dir}/ has ${count} files; the limit is ${MAX_FILES}`] : [],
  );
}

/** Functions that open the stream of a model, each with the only files that may use it. */
const STREAM_OPENERS: readonly { readonly text: RegExp; readonly files: readonly string[] }[] = [
  { text: /\b(?:stream|complete)Simple(?:[A-Z]\w*)?\b/, files: ["src/providers/handle.ts"] },
  { text: /\bopenStream\b/, files: ["src/providers/handle.ts", "src/providers/models.ts", "src/providers/call.ts"] },
  // Without our stream function the SDK's loop opens its own stream.
  { text: /pi-agent-core[^]*\bnew Agent\(/, files: ["src/harness/attempts/attempt.ts"] },
  {
    text: /\bstreamFn\b/,
    // The name is the field's: the provider of a plugin gets a stream that only `callModel` opens.
    files: ["src/harness/attempts/attempt.ts", "src/plugins/api/registrations/provider/stream.ts"],
  },
];

/** Files that could call a model without the meter of `callModel`, one line each. */
export function unmeteredCallsIn(file: string, source: string): string[] {
  return STREAM_OPENERS.filter(({ text, files }) => text.test(source) && !files.includes(file)).map(
    ({ text }) =>
      `${file}: ${text.source} may not be used in this file: call a model with callModel in src/providers/call.ts`,
  );
}

function sourceFiles(root: string): string[] {
  return ["src", "extensions", "testing", "test"].flatMap((top) => {
    const dir = path.join(root, top);
    if (!fs.existsSync(dir)) return [];
    const names = fs.readdirSync(dir, { recursive: true, encoding: "utf8" });
    return names
      .map((name) => `${top}/${name.replaceAll(path.sep, "/")}`)
      .filter((name) => /\.(?:ts|tsx|mts)$/.test(name) && !name.includes("node_modules/"));
  });
}

/** The lines of a file that has one importer belong into that importer, where they are few. */
const FEW_LINES = 60;
/** The number of such files may only decrease. Rows of tables, and files that are loaded when they are needed, stay. */
const MOST_SMALL = 161;

type SourceText = { readonly file: string; readonly text: string };

/** Files of few lines that one file imports, in whatever module it lies. `texts`: every source file. */
function smallFilesOf(texts: readonly SourceText[]): readonly SourceText[] {
  const edges = texts.flatMap(({ file, text }) => importsOf(text).map(({ specifier }) => edgeTo(file, specifier)));
  const importers = Map.groupBy(edges, ({ to }) => to);
  return texts.filter(
    ({ file, text }) =>
      new Set(importers.get(file)?.map(({ from }) => from)).size === 1 && text.split("\n").length <= FEW_LINES,
  );
}

function countsOf(texts: readonly SourceText[], small: number): string {
  const sizes = [...Map.groupBy(texts, ({ file }) => file.split("/")[0])].map(([top, own]) => {
    const lines = own.reduce((sum, { text }) => sum + text.split("\n").length - 1, 0);
    return `${top} has ${own.length} files with ${lines} lines`;
  });
  return `layers: ${sizes.join(", ")}; ${small} files of less than ${FEW_LINES} lines have one importer`;
}

function main(root: string): void {
  const files = sourceFiles(root);
  const isSource = (file: string) => !file.startsWith("test/") && !/^extensions\/[\w-]+\/test\//.test(file);
  const texts = files.filter(isSource).map((file) => ({ file, text: fs.readFileSync(path.join(root, file), "utf8") }));
  const breaches = texts.flatMap(({ file, text }) => breachesIn(file, text));
  const wide = texts.flatMap(({ file, text }) => wideObjectsIn(file, text));
  const ports = texts.flatMap(({ file, text }) => openPortsIn(file, text));
  const full = fullFoldersIn(files);
  const existing = new Set(files);
  // A template string may have a text that looks like an import.
  const edges = texts.flatMap(({ file, text }) => edgesIn(file, text)).filter(({ to }) => existing.has(to));
  const inside = [...mutualPairsIn(edges), ...unlistedFoldersIn(texts.map(({ file }) => file))];
  for (const { file, imported, reason } of breaches) console.error(`${file}: imports "${imported}": ${reason}`);
  const unmetered = texts.flatMap(({ file, text }) => unmeteredCallsIn(file, text));
  for (const line of [...wide, ...ports, ...full, ...unmetered, ...inside]) console.error(line);
  if (breaches.length + wide.length + ports.length + full.length + unmetered.length + inside.length > 0)
    process.exitCode = 1;
  else console.log(`layers: ${texts.length} files keep the import rule, and 0 pairs of folders import each other`);
  const small = smallFilesOf(texts).length;
  console.log(countsOf(texts, small));
  if (small <= MOST_SMALL) return;
  console.error(`layers: ${small} such files are too many (${MOST_SMALL}): fold a new one into its importer`);
  process.exitCode = 1;
}

if (import.meta.main) main(path.dirname(import.meta.dirname));
