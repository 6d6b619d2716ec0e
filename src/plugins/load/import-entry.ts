import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import { errorCode } from "../../utils/missing.ts";
import { definitionIn, type PluginDefinition } from "./definition.ts";
import { importProblem, type ImportProblem } from "./import-error.ts";

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

/** What Node's own removal of types does not take: syntax beyond types, files below `node_modules`, imports without an extension. */
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
  // Its cache would change the plugin's folder, or be in a folder of temporary files, in which others might put code.
  return createJiti(href, { interopDefault: false, fsCache: false }).import(file);
}
