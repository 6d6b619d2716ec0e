import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { errorText } from "../../utils/text/error-text.ts";
import { ownFiles } from "../found/own-files.ts";
import type { SdkUrls } from "./sdk-resolution.ts";

const MOST_FILES = 500;
const MOST_BYTES = 8 * 1_048_576;
const MOST_MS = 1000;

const CODE = /\.(?:[cm]?js|[cm]?ts)$/;
/** Declarations, tests and configurations of tools do not run in the gateway. */
const NO_CODE = /\.d\.[cm]?ts$|\.(?:test|spec|config)\.[cm]?[jt]s$|(?:^|\/)(?:tests?|__tests__|types)\//;

const TYPE_IMPORT = /\b(?:import|export)\s+type\b[^;'"`]*?\bfrom\s*["'][^"'\n]+["']/g;
/** Matches comments at the begin of a line or after a space: a string may hold the same signs. */
const COMMENT = /(?:^|\s)\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;
const LITERAL = /["'`](openclaw\/plugin-sdk(?:\/[\w./-]+)?)["'`]/g;

const LOADED = String.raw`(?:await\s+import|require)\s*\(\s*["'\`](openclaw\/plugin-sdk(?:\/[\w./-]+)?)["'\`]\s*\)`;
/** `const { a, b: c } = await import("…")`, also with `require`. */
const DESTRUCTURED = new RegExp(String.raw`\{([^{}()]*)\}\s*=\s*${LOADED}`, "g");
/** `(await import("…")).a` and `require("…").a`. */
const MEMBER = new RegExp(String.raw`${LOADED}\s*\)?\s*\.\s*([A-Za-z_$][\w$]*)`, "g");

/** Use of the SDK that would fail, and the first file with it. */
interface Use {
  readonly specifier: string;
  /** Undefined for the module itself. */
  readonly name?: string;
  readonly file: string;
}

/**
 * Imports of the SDK in a plugin's own code that this gateway does not have, as far as the text of its files shows
 * them: modules, and names that are taken from an `import()` or a `require`. One text for each, with the file. Runs
 * none of the plugin's code, reads a limited part of it, and never rejects.
 */
export async function missingSdk(root: string, urlOf: SdkUrls): Promise<readonly string[]> {
  const uses = await usesIn(root).catch(() => []);
  const missing = new Map<string, string>();
  for (const { specifier, name, file } of uses) {
    const problem = await problemOf(specifier, name, urlOf);
    if (problem !== undefined && !missing.has(problem)) missing.set(problem, `${problem} (${file})`);
  }
  return [...missing.values()];
}

async function problemOf(specifier: string, name: string | undefined, urlOf: SdkUrls): Promise<string | undefined> {
  const url = urlOf(specifier.replace(/^openclaw\/plugin-sdk\/?/, "").replace(/\.js$/, ""));
  if (url === undefined) return specifier;
  if (name === undefined) return undefined;
  try {
    const module: object = await import(url);
    return name in module ? undefined : `"${name}" of ${specifier}`;
  } catch (error) {
    return `${specifier}, which cannot be loaded: ${errorText(error)}`;
  }
}

async function usesIn(root: string): Promise<readonly Use[]> {
  const until = performance.now() + MOST_MS;
  const uses: Use[] = [];
  let bytes = 0;
  const files = (await ownFiles(root)).filter(({ name }) => CODE.test(name) && !NO_CODE.test(name));
  for (const { name: file, bytes: size } of files.slice(0, MOST_FILES)) {
    bytes += size;
    if (bytes > MOST_BYTES || performance.now() > until) break;
    uses.push(...usesOf(await readFile(join(root, file), "utf8"), file));
  }
  return uses;
}

function usesOf(source: string, file: string): readonly Use[] {
  if (!source.includes("openclaw/plugin-sdk")) return [];
  const text = source.replaceAll(COMMENT, "").replaceAll(TYPE_IMPORT, "");
  const modules = [...text.matchAll(LITERAL)].map(([, specifier = ""]) => ({ specifier, file }));
  const members = [...text.matchAll(MEMBER)].map(([, specifier = "", name = ""]) => ({ specifier, name, file }));
  const taken = [...text.matchAll(DESTRUCTURED)].flatMap(([, list = "", specifier = ""]) =>
    namesIn(list).map((name) => ({ specifier, name, file })),
  );
  // A promise of the module has methods of its own.
  return [...modules, ...members.filter(({ name }) => !["then", "catch", "finally"].includes(name)), ...taken];
}

/** The names on the left of `{ a, b: c, d = 1, ...rest }`. */
const namesIn = (list: string): readonly string[] =>
  list.split(",").flatMap((part) => /^\s*([A-Za-z_$][\w$]*)\s*(?:[:=]|$)/.exec(part)?.[1] ?? []);
