// Joins small files of a build: loading a file takes Node some 0.3 ms, whatever its size, and the gateway's start needs over a hundred.
import path from "node:path";

/** Bytes below which a file is small. */
const SMALL = 12_000;

/** The file of those that import nothing else. */
const LEAVES = "joined.js";

/** An import, as esbuild writes it without needless spaces, of a file that other files share. */
const IMPORT = /(?<=^|[;}\n ])import(?:\{([^{}]*)\}from)?"(?:\.\/|(?:\.\.?\/)+chunks\/)(chunk-\w+\.js)";/g;

const isShared = (file) => /\/chunk-\w+\.js$/.test(file);

const importsOf = (outputs, file) =>
  outputs[file].imports.filter((one) => !one.external && one.kind === "import-statement").map((one) => one.path);

/** The file itself, and all that it imports. */
function closureOf(outputs, file, found = new Set()) {
  if (found.has(file)) return found;
  found.add(file);
  for (const imported of importsOf(outputs, file)) closureOf(outputs, imported, found);
  return found;
}

/**
 * Which files of a build become parts of which, so that whoever loads one of them loads little that it would not load anyway: small ones
 * that import nothing else become parts of one file, and a small one that imports a large one, and nothing that the large one does not
 * load, becomes a part of that. `outputs`: as in esbuild's metafile; `read` gives a file's text; `entry`: only files that it loads get
 * parts, since a process that runs while the next build is made has these in memory and finds in them what it needs later.
 */
export function partsOf(outputs, read, entry) {
  const canMove = (file) => isShared(file) && !/\brequire\b|\bawait import\b/.test(read(file));
  const isSmall = (file) => canMove(file) && outputs[file].bytes < SMALL;
  const homes = new Map(leavesOf(outputs, Object.keys(outputs).filter(isSmall)).map((file) => [file, LEAVES]));
  const hosts = [...closureOf(outputs, entry)].filter((file) => canMove(file) && !homes.has(file));
  const loads = new Map(hosts.map((file) => [file, closureOf(outputs, file)]));
  const placeOf = (file) => (homes.has(file) ? path.posix.join(path.dirname(file), homes.get(file)) : file);
  const others = Object.keys(outputs).filter((file) => isSmall(file) && !homes.has(file));
  const taking = new Set();
  for (let left = -1; left !== homes.size;) {
    left = homes.size;
    for (const file of others) {
      // What took a part stays where it is: moved too, its code would be in two files, with the state of its modules.
      if (homes.has(file) || taking.has(file)) continue;
      const places = importsOf(outputs, file).map(placeOf);
      const needed = places.filter((one) => path.basename(one) !== LEAVES);
      const canTake = (host) => host !== file && !homes.has(host) && needed.every((one) => loads.get(host).has(one));
      const host = hosts.find((one) => needed.includes(one) && canTake(one));
      if (host === undefined) continue;
      homes.set(file, path.basename(host));
      taking.add(host);
    }
  }
  return homes;
}

function leavesOf(outputs, files) {
  const leaves = new Set(files);
  const needsOther = (file) =>
    outputs[file].imports.some((one) => !one.external && (one.kind !== "import-statement" || !leaves.has(one.path)));
  for (let left = -1; left !== leaves.size;) {
    left = leaves.size;
    for (const file of leaves) if (needsOther(file)) leaves.delete(file);
  }
  return [...leaves];
}

/** What a joined file calls an export of one of its parts. A part's name has the hash of its content, so no name means two things. */
const nameIn = (file, exported) => `${path.basename(file, ".js").replace("-", "_")}_${exported}`;

/** Bundles each file with its parts. `read` gives a file's text with its source map. Resolves with esbuild's results. */
export function joinParts(esbuild, homes, { outputs, read, root, options }) {
  const folder = path.dirname([...homes.keys()][0]);
  const names = [...new Set(homes.values())];
  return Promise.all(
    names.map((home) => {
      const parts = [...homes].filter(([, own]) => own === home).map(([file]) => file);
      const host = outputs[`${folder}/${home}`] && `${folder}/${home}`;
      const lines = parts.map((file) =>
        exportLine(
          file,
          outputs[file].exports.map((name) => `${name} as ${nameIn(file, name)}`),
        ),
      );
      if (host) lines.unshift(exportLine(host, outputs[host].exports));
      const inside = new Set([...parts, ...(host ? [host] : [])].map((file) => path.basename(file)));
      return esbuild.build({
        ...options,
        stdin: { contents: lines.join("\n"), resolveDir: path.join(root, folder), sourcefile: "joined-parts.js" },
        outfile: path.join(root, folder, home),
        plugins: [fromMemory(inside, path.join(root, folder), (name) => read(`${folder}/${name}`))],
      });
    }),
  );
}

const exportLine = (file, names) =>
  `${names.length > 0 ? `export{${names.join(",")}}from` : "import"}"./${path.basename(file)}";`;

/** Files of the build that are not written yet; all but those `inside` stay imports. */
const fromMemory = (inside, folder, read) => ({
  name: "from-memory",
  setup(build) {
    build.onResolve({ filter: /^\.\.?\// }, ({ path: name }) =>
      inside.has(path.basename(name))
        ? { path: path.join(folder, path.basename(name)) }
        : { path: name, external: true },
    );
    build.onLoad({ filter: /\.js$/ }, (args) => ({ contents: read(path.basename(args.path)) }));
  },
});

/**
 * The text, which imports parts from where they are. Spaces are left in the place of each such import, so that the source map is right;
 * the new imports come before the text. `folder`: from the text's file to the shared files. Throws when a part is still named.
 */
export function readParts(text, homes, folder) {
  const byName = new Map([...homes].map(([file, home]) => [path.basename(file), home]));
  const imported = new Map();
  const rest = text.replaceAll(IMPORT, (whole, list, name) => {
    const home = byName.get(name);
    if (home === undefined) return whole;
    const names = (list?.split(",") ?? []).map((one) => {
      const [exported, local = exported] = one.trim().split(" as ");
      return `${nameIn(name, exported)} as ${local}`;
    });
    imported.set(home, [...(imported.get(home) ?? []), ...names]);
    return " ".repeat(whole.length);
  });
  const missed = [...byName.keys()].find((name) => rest.includes(`/${name}"`));
  if (missed) throw new Error(`an import of ${missed} is not written as expected`);
  const lines = [...imported].map(([home, names]) => {
    const place = path.posix.join(folder, home).replace(/^(?!\.)/, "./");
    return `${names.length > 0 ? `import{${names.join(",")}}from` : "import"}"${place}";`;
  });
  return lines.join("") + rest;
}
