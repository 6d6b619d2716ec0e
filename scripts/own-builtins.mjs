// Takes Node's own modules from `process.getBuiltinModule` instead of importing them.
import { isBuiltin } from "node:module";

/** An import, as esbuild writes it without needless spaces: of a default, of the whole, of names. */
const IMPORT = /(?<=^|[;}\n])import(?: ([\w$]+) ?|\*as ([\w$]+) )?,?(?:\{([^{}]*)\})?from"([\w:/]+)";/g;

function constantsOf([, byDefault, whole, named, name]) {
  const module = `globalThis.process.getBuiltinModule("${name}")`;
  const own = byDefault ?? whole;
  const names = named === undefined ? "" : `const{${named.replaceAll(" as ", ":")}}=${own ?? module};`;
  return own === undefined ? names : `const ${own}=${module};${names}`;
}

/**
 * An import of one of Node's modules reads all of its exports, also those that it makes when they are read: `node:http` loads
 * undici that way, `node:fs` its streams, `node:crypto` the web cryptography. A start would take a tenth longer. Here only what is
 * named is read. `imported`: the modules that the file imports, as esbuild counts them; throws when they are not found in it.
 */
export function readBuiltins(text, imported) {
  const found = [...text.matchAll(IMPORT)].filter((match) => isBuiltin(match[4]));
  const missed = new Set(imported).symmetricDifference(new Set(found.map((match) => match[4])));
  if (missed.size > 0) throw new Error(`imports of ${[...missed].join(", ")} are not written as expected`);
  // Spaces in the place of each import, so that the source map is right.
  const rest = text.replaceAll(IMPORT, (...match) => (isBuiltin(match[4]) ? " ".repeat(match[0].length) : match[0]));
  return found.map(constantsOf).join("") + rest;
}
