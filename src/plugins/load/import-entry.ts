import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import { errorCode } from "../../utils/missing.ts";
import { definitionIn, type PluginDefinition } from "./definition.ts";
import { defined } from "../../utils/defined.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { SdkModuleMissing } from "./sdk-resolution.ts";

export type Imported =
  | { readonly kind: "ok"; readonly definition: PluginDefinition; readonly entry: string }
  | ({ readonly kind: "failed" } & ImportProblem);

/** Runs the code of the plugin's preferred entry. Never rejects; it may never resolve, because the code is foreign. */
export async function importEntry({ root, package: { entries } }: FoundPlugin): Promise<Imported> {
  const [entry] = entries;
  if (entry === undefined) return { kind: "failed", why: "it has no entry file" };
  try {
    const definition = definitionIn(await importFile(join(root, entry)));
    if (definition) return { kind: "ok", definition, entry };
    return { kind: "failed", why: `${entry} exports neither a function nor an object with register` };
  } catch (error) {
    return { kind: "failed", ...importProblem(error) };
  }
}

/**
 * Codes for sources that Node's own removal of types does not accept: syntax beyond types, files below `node_modules`,
 * imports without an extension.
 */
const NOT_STRIPPED = new Set([
  "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX",
  "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING",
  "ERR_UNKNOWN_FILE_EXTENSION",
  "ERR_MODULE_NOT_FOUND",
  "ERR_UNSUPPORTED_DIR_IMPORT",
]);

/**
 * A syntax error of Node's own: of decorators, or of a type that is imported like a value. Nothing of the plugin has run then,
 * because all modules are linked before the first one runs; only the text of JSON may be wrong later.
 */
const needsCompiler = (error: unknown): boolean =>
  NOT_STRIPPED.has(errorCode(error) ?? "") || (error instanceof SyntaxError && !error.message.includes("JSON"));

/** The module of a file of JavaScript or TypeScript. Another `version` of the file is run anew. Rejects as the file's code does. */
export async function importFile(file: string, version?: string): Promise<unknown> {
  const { href } = pathToFileURL(file);
  try {
    return await import(version === undefined ? href : `${href}?${version}`);
  } catch (error) {
    if (!/\.[cm]?ts$/.test(file) || !needsCompiler(error)) throw error;
  }
  // The form that has its compiler in it: the bundle has no files beside it.
  const { createJiti } = await import("jiti/static");
  // The compiler's cache would change the plugin's folder, or be in a folder of temporary files, in which others might
  // put code.
  return createJiti(href, { interopDefault: false, fsCache: false }).import(file);
}

interface Pattern {
  readonly match: RegExp;
  say(found: RegExpExecArray): string;
  fix?(found: RegExpExecArray): string | undefined;
}

/** Why code cannot be imported, as half a sentence, and where it is known what to do, that as a sentence. */
interface ImportProblem {
  readonly why: string;
  readonly fix?: string;
}

/** Advice for dependencies that are missing: an archive and a folder are taken as they are. */
const WITH_DEPENDENCIES =
  "Install it with its dependencies: openclaw plugins install npm-pack:<archive> --force for an archive, npm:<name> from npm; in the source of a folder run npm install --omit=dev first.";

/** Node's messages for a module that cannot be linked, and their meaning for the operator. */
const PATTERNS: readonly Pattern[] = [
  {
    match: /requested module '([^']+)' does not provide an export named '([^']+)'/,
    say: ([, module, name]) => `it imports "${name}" from "${module}", which has no such export`,
  },
  {
    match: /Named export '([^']+)' not found\. The requested module '([^']+)' is a CommonJS module/,
    say: ([, name, module]) =>
      `it imports "${name}" by name from "${module}", a CommonJS module from which Node offers no such name`,
  },
  {
    match: /Cannot find (?:package|module) '([^']+)'/,
    say: ([, name]) => `it imports "${name}", which is not installed beside it`,
    // A path is a file of its own.
    fix: ([, name = ""]) => (/^[./]|^file:|^openclaw/.test(name) ? undefined : WITH_DEPENDENCIES),
  },
];

/** Why the code of a plugin could not be imported. */
function importProblem(error: unknown): ImportProblem {
  if (error instanceof SdkModuleMissing)
    return { why: `it imports "${error.specifier}", which this gateway does not have` };
  const text = errorText(error);
  for (const { match, say, fix } of PATTERNS) {
    const found = match.exec(text);
    if (found) return { why: say(found), ...defined({ fix: fix?.(found) }) };
  }
  const code = errorCode(error);
  return {
    why: `its code cannot be loaded: ${code === undefined || text.includes(code) ? text : `${text} (${code})`}`,
  };
}
