// Joins the small files of a build into one: loading a file takes Node some 0.3 ms, whatever its size, and a start loads over a hundred.
import path from "node:path";

/** Bytes below which a file is small. */
const SMALL = 12_000;

/** The file that has them. A process that runs while the next build is made has it in memory, and finds what it names in it. */
export const JOINED = "joined.js";

/** An import, as esbuild writes it without needless spaces, of a file that other files share. */
const IMPORT = /(?<=^|[;}\n ])import(?:\{([^{}]*)\}from)?"(?:\.\/|(?:\.\.?\/)+chunks\/)(chunk-\w+\.js)";/g;

/**
 * The small files that others share and that import nothing but each other, so that whoever loads one of them loads little that it does
 * not need. `outputs`: as in esbuild's metafile; `read` gives a file's text.
 */
export function smallChunks(outputs, read) {
  const isSmall = (file) =>
    /\/chunk-\w+\.js$/.test(file) && outputs[file].bytes < SMALL && !/\brequire\b|\bawait import\b/.test(read(file));
  const small = new Set(Object.keys(outputs).filter(isSmall));
  const needsOther = (file) =>
    outputs[file].imports.some((one) => !one.external && (one.kind !== "import-statement" || !small.has(one.path)));
  for (let left = -1; left !== small.size; ) {
    left = small.size;
    for (const file of small) if (needsOther(file)) small.delete(file);
  }
  return small;
}

/** What the joined file calls an export of one of its parts. A part's name has the hash of its content, so no name means two things. */
const nameIn = (file, exported) => `${path.basename(file, ".js").replace("-", "_")}_${exported}`;

/** Bundles the small files. `read` gives a file's text with its source map. Resolves with esbuild's result. */
export function joinChunks(esbuild, small, { outputs, read, root, options }) {
  const lines = [...small].map((file) => {
    const names = outputs[file].exports.map((name) => `${name} as ${nameIn(file, name)}`);
    return `${names.length > 0 ? `export{${names.join(",")}}from` : "import"}"./${path.basename(file)}";`;
  });
  const [first] = small;
  const folder = path.dirname(path.join(root, first));
  const parts = {
    name: "parts",
    setup(build) {
      build.onResolve({ filter: /^\.\/chunk-/ }, ({ path: name }) => ({ path: path.join(folder, name) }));
      build.onLoad({ filter: /[/\\]chunk-\w+\.js$/ }, (args) => ({
        contents: read(path.relative(root, args.path).replaceAll(path.sep, "/")),
      }));
    },
  };
  return esbuild.build({
    ...options,
    stdin: { contents: lines.join("\n"), resolveDir: folder, sourcefile: "joined-parts.js" },
    outfile: path.join(folder, JOINED),
    plugins: [parts],
  });
}

/**
 * The text, which imports from the joined file what it imported from the small ones. Spaces are left in the place of each import, so that
 * the source map is right; the new import comes before the text. Throws when a small file is still named.
 */
export function readJoined(text, small, folder) {
  const names = new Set([...small].map((file) => path.basename(file)));
  const imported = [];
  let isNeeded = false;
  const rest = text.replaceAll(IMPORT, (whole, list, name) => {
    if (!names.has(name)) return whole;
    isNeeded = true;
    for (const one of list?.split(",") ?? []) {
      const [exported, local = exported] = one.trim().split(" as ");
      imported.push(`${nameIn(name, exported)} as ${local}`);
    }
    return " ".repeat(whole.length);
  });
  const missed = [...names].find((name) => rest.includes(`/${name}"`));
  if (missed) throw new Error(`an import of ${missed} is not written as expected`);
  if (!isNeeded) return rest;
  return `${imported.length > 0 ? `import{${imported.join(",")}}from` : "import"}"${path.posix.join(folder, JOINED).replace(/^(?!\.)/, "./")}";${rest}`;
}
