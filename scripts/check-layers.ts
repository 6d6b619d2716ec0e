/**
 * The import rule as a check: a room in src/ imports itself and rooms that sort after it; an extension imports its own
 * files, npm packages and openclaw/plugin-sdk. Wide parameter objects are listed, not refused.
 */
import fs from "node:fs";
import path from "node:path";

/** One import that breaks the rule, with the reason in words. */
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
const PI_ROOMS = new Set(["harness", "providers"]);

/** Every module a source text names. Never throws; text inside a template string may be reported too. */
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
  if (top === "src") return (item) => roomRule(file, item);
  if (top !== "extensions" || file.startsWith(`extensions/${name}/test/`)) return undefined;
  return (item) => extensionRule(file, item);
}

function roomRule(file: string, { specifier, typeOnly }: Import): string | undefined {
  const room = roomOf(file);
  if (room === undefined) return "a source file lies in a room, not in src/ itself";
  if (!specifier.startsWith(".")) return packageRule(room, specifier, typeOnly);
  const target = path.posix.join(path.posix.dirname(file), specifier);
  if (target === "package.json") return undefined;
  if (target.startsWith("extensions/")) return room === "app" ? undefined : "only app/ knows the extensions";
  const targetRoom = roomOf(target);
  if (targetRoom === undefined) return "outside src/";
  if (targetRoom >= room) return undefined;
  return `${room}/ may not import ${targetRoom}/: imports only point down the listing of src/`;
}

function packageRule(room: string, specifier: string, typeOnly: boolean): string | undefined {
  if (specifier.startsWith("openclaw/") || specifier === "openclaw") return "a room imports by path, not by the SDK";
  if (PI.test(specifier) && !typeOnly && !PI_ROOMS.has(room)) return "the pi SDK is for providers/ and harness/";
  return undefined;
}

function extensionRule(file: string, { specifier }: Import): string | undefined {
  const own = file.split("/").slice(0, 2).join("/");
  if (specifier.startsWith(".")) {
    const target = path.posix.join(path.posix.dirname(file), specifier);
    return target.startsWith(`${own}/`) ? undefined : "an extension imports its own files and openclaw/plugin-sdk";
  }
  if (specifier.startsWith("openclaw") && !SDK.test(specifier)) return "only openclaw/plugin-sdk is open to extensions";
  if (PI.test(specifier)) return "the pi SDK is for providers/ and harness/";
  return undefined;
}

function roomOf(file: string): string | undefined {
  const parts = file.split("/");
  return parts[0] === "src" && parts.length > 2 ? parts[1] : undefined;
}

const MAX_FIELDS = 12;
const MAX_BOOLEANS = 2;
const PARAMETER_OBJECT =
  /(?:interface (\w*(?:Options|Params|Args|Deps))\b[^{]*|type (\w*(?:Options|Params|Args|Deps)) = )\{\n([\s\S]*?)\n\}/g;

/** Names the parameter objects with more than 12 fields or 2 booleans, one line each. */
export function wideObjectsIn(file: string, source: string): string[] {
  return [...source.matchAll(PARAMETER_OBJECT)].flatMap((match) => {
    const fields = (match[3] ?? "").split("\n").filter((line) => /^ {2}(?:readonly )?\w+\??[:(]/.test(line));
    const booleans = fields.filter((line) => /: boolean/.test(line)).length;
    if (fields.length <= MAX_FIELDS && booleans <= MAX_BOOLEANS) return [];
    return [`${file}: ${match[1] ?? match[2]} has ${fields.length} fields, ${booleans} of them boolean`];
  });
}

function sourceFiles(root: string): string[] {
  return ["src", "extensions"].flatMap((top) => {
    const dir = path.join(root, top);
    if (!fs.existsSync(dir)) return [];
    const names = fs.readdirSync(dir, { recursive: true, encoding: "utf8" });
    return names
      .map((name) => `${top}/${name.replaceAll(path.sep, "/")}`)
      .filter((name) => /\.(?:ts|tsx|mts)$/.test(name) && !name.includes("node_modules/"));
  });
}

function main(root: string): void {
  const texts = sourceFiles(root).map((file) => ({ file, text: fs.readFileSync(path.join(root, file), "utf8") }));
  for (const line of texts.flatMap(({ file, text }) => wideObjectsIn(file, text))) console.log(`note: ${line}`);
  const breaches = texts.flatMap(({ file, text }) => breachesIn(file, text));
  for (const { file, imported, reason } of breaches) console.error(`${file}: imports "${imported}": ${reason}`);
  if (breaches.length > 0) process.exitCode = 1;
  else console.log(`layers: ${texts.length} files keep the import rule`);
}

if (import.meta.main) main(path.dirname(import.meta.dirname));
