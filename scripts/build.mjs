// Bundles src/, the bundled extensions and the chat page into dist/.
//   node scripts/build.mjs             builds when an input is newer than the last build
//   node scripts/build.mjs --force     builds anyway
//   node scripts/build.mjs --release   starts from an empty dist/, makes no source maps and adds the type declarations of the plugin SDK
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { bundledPlaces, noticesOf, packageAt, sbomOf } from "./licenses.mjs";
import { closureOf, partOf, readLock } from "./lock.mjs";
import { joinParts, partsOf, readParts } from "./join-chunks.mjs";
import { readBuiltins } from "./own-builtins.mjs";
import { catalogueFiles, packageEdits } from "./package-edits.mjs";
import { bundlePage, pageFolder, pageStatics, workerOptions } from "./page-options.mjs";

const root = path.dirname(import.meta.dirname);
const dist = path.join(root, "dist");
const stamp = path.join(dist, ".built");
const release = process.argv.includes("--release");
const force = release || process.argv.includes("--force");
const staleAfterMs = 24 * 3600 * 1000;

// Libraries that are fetched when they are first needed, by what needs them; docs/decisions/0023-whatsapp-library-on-demand.md.
const fetched = { whatsapp: "@whiskeysockets/baileys", browser: "playwright-core" };
// Native or optional modules: loaded at run time if they are installed, never bundled.
const native = ["@opentelemetry/api", "bufferutil", "utf-8-validate", "@vscode/ripgrep", "@lydell/node-pty"];
// fetch-blob imports it if Node lacks web streams, which Node 18 and newer have. An override in package.json empties it.
const never = ["web-streams-polyfill/dist/ponyfill.es2018.js"];
const external = [...native, ...never, ...Object.values(fetched)];

/**
 * Gives a bundled CommonJS package its named exports. As a separate chunk it would have only a default export, unlike in Node.
 */
const namedExports = {
  name: "named-exports",
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, async (args) => {
      if (args.kind !== "dynamic-import" || args.pluginData === namedExports || external.includes(args.path)) return;
      const { importer, resolveDir } = args;
      const options = { importer, resolveDir, kind: "import-statement", pluginData: namedExports };
      const found = await build.resolve(args.path, options);
      if (found.external || found.namespace !== "file" || isModule(found.path)) return;
      return { path: found.path, namespace: "named", pluginData: resolveDir };
    });
    build.onLoad({ filter: /.*/, namespace: "named" }, async (args) => {
      const names = Object.keys(await import(pathToFileURL(args.path).href));
      const listed = names.filter((name) => /^[A-Za-z_$][\w$]*$/.test(name) && name !== "default");
      const from = JSON.stringify(args.path);
      const contents = `export { ${listed.join(", ")} } from ${from};\nexport { default } from ${from};`;
      return { contents, loader: "js", resolveDir: args.pluginData };
    });
  },
};

function isModule(file) {
  if (/\.(?:mjs|mts|ts|tsx)$/.test(file)) return true;
  if (file.endsWith(".cjs")) return false;
  for (let dir = path.dirname(file); dir !== path.dirname(dir); dir = path.dirname(dir)) {
    const manifest = path.join(dir, "package.json");
    if (fs.existsSync(manifest)) return JSON.parse(fs.readFileSync(manifest, "utf8")).type === "module";
  }
  return false;
}

const banner = `const require=globalThis.process.getBuiltinModule("node:module").createRequire(import.meta.url);`;

/** The newest modification time below `name`. Folders count too, so that a deleted file is detected. */
function newest(name, found = { ms: 0 }) {
  const stat = fs.statSync(name, { throwIfNoEntry: false });
  if (!stat) return found;
  found.ms = Math.max(found.ms, stat.mtimeMs);
  if (!stat.isDirectory()) return found;
  for (const entry of fs.readdirSync(name)) {
    if (entry !== "node_modules" && entry !== "test") newest(path.join(name, entry), found);
  }
  return found;
}

function upToDate() {
  const built = fs.statSync(stamp, { throwIfNoEntry: false });
  if (!built) return false;
  const inputs = ["src", "extensions", "testing", "scripts", "package.json", "package-lock.json"];
  return inputs.every((input) => newest(path.join(root, input)).ms < built.mtimeMs);
}

const exists = (name) => fs.existsSync(path.join(root, name));
const list = (name) => (exists(name) ? fs.readdirSync(path.join(root, name)) : []);

/** Programs that the gateway starts in a thread or a process of their own, below src/ and without the ends of their names. */
const programs =
  "outbox/render ../extensions/memory-core/memory tools/web/page/page tools/media/pdf/pdf tools/host/command/terminal";

function entryPoints() {
  const entries = {
    main: "src/app/main.ts",
    "plugin-trial": "src/app/plugins/trial-process.ts",
  };
  for (const name of programs.split(" "))
    entries[`${path.basename(name)}-program`] = path.join("src", `${name}-program.ts`);
  for (const file of list("src/api").filter((name) => name.endsWith(".ts"))) {
    const name = file.slice(0, -3);
    entries[name === "plugin-sdk" ? name : `plugin-sdk/${name}`] = `src/api/${file}`;
  }
  for (const id of list("extensions")) {
    if (exists(`extensions/${id}/index.ts`)) entries[`extensions/${id}`] = `extensions/${id}/index.ts`;
    // Config is checked without loading the channel's SDK.
    if (exists(`extensions/${id}/config.ts`)) entries[`extensions/${id}.config`] = `extensions/${id}/config.ts`;
  }
  return entries;
}

/** Writes changed files only, each by a rename, because other processes may run from this folder. */
function place(file, contents) {
  const before = fs.existsSync(file) ? fs.readFileSync(file) : undefined;
  if (before?.equals(contents)) return fs.utimesSync(file, new Date(), new Date());
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const draft = `${file}.${process.pid}.tmp`;
  fs.writeFileSync(draft, contents);
  fs.renameSync(draft, file);
}

const nodeOptions = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node22.19",
  banner: { js: banner },
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  // `npm run bench -- profile` finds the source of a function with these. Node does not load them: no file names them.
  sourcemap: release ? false : "external",
  sourcesContent: false,
  logLevel: "warning",
  write: false,
  metafile: true,
};

async function bundleNode(esbuild) {
  const result = await esbuild.build({
    ...nodeOptions,
    entryPoints: entryPoints(),
    outdir: dist,
    chunkNames: "chunks/[name]-[hash]",
    splitting: true,
    conditions: ["source"],
    external,
    plugins: [...packageEdits, namedExports],
    // Node's own punycode causes a warning; an old dependency of grammY imports it.
    alias: { punycode: "punycode.js" },
  });
  if (process.argv.includes("--meta")) {
    fs.mkdirSync(dist, { recursive: true });
    fs.writeFileSync(path.join(dist, "meta.json"), JSON.stringify(result.metafile));
  }
  const { outputs } = result.metafile;
  const texts = new Map(result.outputFiles.map((file) => [nameOf(file.path), file.text]));
  const read = (name) => texts.get(name).replace(banner, "");
  const gateway = Object.keys(outputs).find((name) => outputs[name].entryPoint === "src/app/gateway/run.ts");
  const homes = partsOf(outputs, read, gateway);
  const mapped = (name) => `${read(name)}${mapComment(texts.get(`${name}.map`))}`;
  const joined = await joinParts(esbuild, homes, { outputs, read: mapped, root, options: nodeOptions });
  const made = new Set(joined.flatMap(({ outputFiles }) => outputFiles.map((file) => file.path)));
  const isApart = ({ path: file }) => !made.has(file) && !homes.has(nameOf(file).replace(/\.map$/, ""));
  const files = [
    ...joined.flatMap(({ outputFiles, metafile }) =>
      outputFiles.map((file) => finished(file, metafile.outputs, homes)),
    ),
    ...result.outputFiles.filter(isApart).map((file) => finished(file, outputs, homes)),
  ];
  return { files, metafile: result.metafile };
}

/** A file's name in esbuild's metafile. */
const nameOf = (file) => path.relative(root, file).replaceAll(path.sep, "/");

const mapComment = (map) =>
  map === undefined
    ? ""
    : `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString("base64")}\n`;

/** A file of JavaScript as it is written. The first line is not in the source map, so only that one may change its length. */
function finished(file, outputs, homes) {
  if (!file.path.endsWith(".js")) return file;
  const { imports } = outputs[nameOf(file.path)];
  const builtins = imports.filter((one) => one.external && one.kind === "import-statement" && isBuiltin(one.path));
  const code = file.text.replace(banner, "");
  // Few files call it, and it takes time to make.
  const first = /\brequire\b/.test(code) ? banner : "";
  const own = readBuiltins(
    code,
    builtins.map((one) => one.path),
  );
  const folder = path.posix.relative(path.posix.dirname(nameOf(file.path)), "dist/chunks");
  const text = first + readParts(own, homes, folder);
  return { path: file.path, contents: Buffer.from(inLatin1(text)) };
}

/**
 * One character that is not Latin-1 makes the engine keep the whole file with two bytes for each. esbuild leaves such characters
 * in regular expressions and raw templates, in which an escape means the same: all raw templates here are patterns.
 */
function inLatin1(text) {
  const escape = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(/[\u0100-\uffff]/g, escape);
}

async function pageFiles(esbuild) {
  if (!exists(`${pageFolder}/main.tsx`)) return { files: [], metafile: { outputs: {} } };
  const page = await bundlePage(esbuild);
  const statics = pageStatics.map((name) => ({
    path: path.join(dist, "page", name),
    contents: fs.readFileSync(path.join(root, pageFolder, name)),
  }));
  const files = [...page.files, ...statics];
  const worker = await esbuild.build(workerOptions(shellOf(files)));
  return { files: [...files, ...worker.outputFiles], metafile: page.metafile };
}

/** The files that a browser keeps of the page: those that its first view needs, and the code of the views. */
function shellOf(files) {
  const hash = createHash("sha256");
  for (const { contents } of files) hash.update(contents);
  const names = files.map((file) => path.relative(path.join(dist, "page"), file.path).replaceAll(path.sep, "/"));
  return { mark: hash.digest("hex").slice(0, 12), files: names.filter((name) => name !== "index.html").toSorted() };
}

/** The notices and the SBOM of the package, and the locks of libraries that channels fetch. Throws for a license that is not allowed. */
function supplyFiles(metafiles) {
  const manifest = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));
  const lock = readLock(path.join(root, "package-lock.json"));
  const placesOf = (names) =>
    closureOf(
      lock,
      names.map((name) => `node_modules/${name}`),
    );
  const bundled = bundledPlaces(metafiles, root);
  const depends = placesOf(Object.keys(manifest.dependencies));
  const parts = {
    bundled,
    installed: depends.filter((place) => !lock.packages[place].optional),
    optional: depends.filter((place) => lock.packages[place].optional),
    fetched: placesOf(Object.values(fetched)),
  };
  const json = (value) => Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
  const notices = noticesOf(bundled.map((place) => packageAt(place, root)));
  const locks = Object.entries(fetched).map(([channel, name]) => {
    const dependencies = { [name]: lock.packages[`node_modules/${name}`].version };
    // Without the gateway's version, so that a release with the same library does not fetch it again.
    const part = partOf(lock, {
      name: `openclaw-${channel}`,
      version: dependencies[name],
      private: true,
      dependencies,
    });
    return { path: path.join(dist, "libraries", `${channel}.package-lock.json`), contents: json(part) };
  });
  return [
    { path: path.join(dist, "THIRD_PARTY_NOTICES"), contents: Buffer.from(notices) },
    { path: path.join(dist, "sbom.json"), contents: json(sbomOf({ lock, manifest, parts })) },
    ...locks,
  ];
}

function extensionManifests() {
  return list("extensions")
    .filter((id) => exists(`extensions/${id}/openclaw.plugin.json`))
    .map((id) => ({
      path: path.join(dist, "extensions", `${id}.plugin.json`),
      contents: fs.readFileSync(path.join(root, "extensions", id, "openclaw.plugin.json")),
    }));
}

/** Removes old chunks after a day: a running gateway may still load one of them. */
function prune(kept) {
  const limit = Date.now() - staleAfterMs;
  for (const entry of fs.readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (!entry.isFile() || kept.has(file) || file.startsWith(path.join(dist, "types")) || file === stamp) continue;
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (stat && stat.mtimeMs < limit) fs.rmSync(file, { force: true });
  }
}

function declarations() {
  if (!exists("src/api")) return;
  const tsc = path.join(root, "node_modules/typescript/bin/tsc");
  const run = spawnSync(process.execPath, [tsc, "-p", "tsconfig.release.json"], { cwd: root, stdio: "inherit" });
  if (run.status !== 0) throw new Error("the type declarations of the plugin SDK could not be generated");
}

async function build() {
  const started = performance.now();
  const begun = new Date();
  const esbuild = await import("esbuild");
  if (release) fs.rmSync(dist, { recursive: true, force: true });
  const bundles = await Promise.all([bundleNode(esbuild), pageFiles(esbuild)]);
  const supply = supplyFiles(bundles.map((bundle) => bundle.metafile));
  const models = catalogueFiles().map(([name, text]) => ({ path: path.join(dist, name), contents: Buffer.from(text) }));
  const files = [...bundles.flatMap((bundle) => bundle.files), ...supply, ...extensionManifests(), ...models];
  // Chunks are written before the entries that import them, so that an entry never lacks a chunk.
  files.sort((a, b) => Number(b.path.includes("chunks")) - Number(a.path.includes("chunks")));
  for (const file of files) place(file.path, Buffer.from(file.contents));
  if (release) declarations();
  else prune(new Set(files.map((file) => file.path)));
  fs.writeFileSync(stamp, "");
  // The build's time is that of its start, so that an input that changes during the build is newer.
  fs.utimesSync(stamp, begun, begun);
  const bytes = files.reduce((sum, file) => sum + file.contents.length, 0);
  const took = Math.round(performance.now() - started);
  console.log(`built dist/: ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB in ${took} ms`);
}

if (force || !upToDate()) {
  await build().catch((error) => {
    if (!error.errors) console.error(error);
    process.exitCode = 1;
  });
}
