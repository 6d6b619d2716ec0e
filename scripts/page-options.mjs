// How esbuild bundles the chat page, for `scripts/build.mjs` and for tests of the page.
import fs from "node:fs";
import path from "node:path";
import { joinParts, readParts } from "./join-chunks.mjs";

/** The page's source, from the repository's root. */
export const pageFolder = "extensions/webchat/page";

/** A name that the browser does not know is left as it is; of `&ampx;` it would know the beginning. */
const BROWSER_ENTITIES = `
const place = document.createElement("p");
export function decodeHTMLStrict(text) {
  place.innerHTML = text;
  const decoded = place.textContent;
  return decoded.length > 1 && decoded.endsWith(";") ? text : decoded;
}`;

/**
 * Parts of markdown-it that the page need not load, which are half of its code: addresses without `https://` are no links, and a
 * browser has the table of the names in `&eacute;`, of which markdown-it decodes one at a time, and of Unicode's punctuation.
 */
const replaced = {
  "linkify-it": "export class LinkifyIt {}",
  entities: BROWSER_ENTITIES,
  "uc.micro": "export const P = /\\p{P}/u, S = /\\p{S}/u;",
};

const browserParts = {
  name: "browser-parts",
  setup(build) {
    build.onResolve({ filter: /^(?:linkify-it|entities|uc\.micro)$/ }, ({ path: name, importer }) =>
      /[\\/]markdown-it[\\/]/.test(importer) ? { path: name, namespace: "browser-parts" } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: "browser-parts" }, ({ path: name }) => ({ contents: replaced[name] }));
  },
};

/** Files beside the page's code. */
export const pageStatics = ["manifest.webmanifest", "icon-192.png", "icon-512.png"];

/** The service worker. `shell`: the names of the page's files, and a mark of their content. */
export const workerOptions = (shell) => ({
  absWorkingDir: path.dirname(import.meta.dirname),
  entryPoints: { sw: "extensions/webchat/worker/worker.ts" },
  outdir: "dist/page",
  bundle: true,
  format: "iife",
  platform: "browser",
  target: pageOptions.target,
  minify: true,
  legalComments: "none",
  define: { SHELL: JSON.stringify(shell) },
  logLevel: "warning",
  write: false,
});

export const pageOptions = {
  absWorkingDir: path.dirname(import.meta.dirname),
  entryPoints: { page: `${pageFolder}/main.tsx` },
  outdir: "dist/page",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "browser",
  target: ["es2022", "chrome111", "firefox114", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  legalComments: "none",
  loader: { ".svg": "dataurl", ".woff2": "dataurl" },
  define: { "process.env.NODE_ENV": '"production"' },
  plugins: [browserParts],
  logLevel: "warning",
  write: false,
  metafile: true,
};

/** A file's name in esbuild's metafile. */
const nameOf = (file) => path.relative(pageOptions.absWorkingDir, file).replaceAll(path.sep, "/");

/** The files that `name` imports statically, with itself. */
function withImports(outputs, name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const { path: imported, kind } of outputs[name].imports) {
    if (kind === "import-statement") withImports(outputs, imported, found);
  }
  return found;
}

/**
 * Bundles the page. The first view needs three files of code, which the browser fetches together: the one that chooses the language,
 * what that shares with others, and all else in one, because each further request makes the first view later. Resolves with the files,
 * and with esbuild's metafile.
 */
export async function bundlePage(esbuild) {
  const { outputFiles, metafile } = await esbuild.build(pageOptions);
  const { outputs } = metafile;
  const texts = new Map(outputFiles.map((file) => [nameOf(file.path), file.text]));
  const start = Object.keys(outputs).find((name) => outputs[name].entryPoint === `${pageFolder}/start.tsx`);
  const page = "dist/page/page.js";
  const [shared, ...others] = [...withImports(outputs, page)].filter((name) => name !== page);
  const rest = [...withImports(outputs, start)].filter((name) => ![start, shared, ...others].includes(name));
  const homes = new Map([
    ...others.map((name) => [name, path.posix.basename(shared)]),
    ...rest.map((name) => [name, path.posix.basename(start)]),
  ]);
  const {
    absWorkingDir: root,
    entryPoints: _entries,
    outdir: _outdir,
    splitting: _splitting,
    ...options
  } = pageOptions;
  const joined = await joinParts(esbuild, homes, { outputs, read: (name) => texts.get(name), root, options });
  const made = new Map(joined.flatMap((one) => one.outputFiles.map((file) => [file.path, file.text])));
  const files = outputFiles
    .filter((file) => !homes.has(nameOf(file.path)))
    .map((file) => {
      if (!file.path.endsWith(".js")) return file;
      return { path: file.path, contents: Buffer.from(readParts(made.get(file.path) ?? file.text, homes, ".")) };
    });
  const html = { path: path.join(root, "dist/page/index.html"), contents: Buffer.from(htmlWith([shared, start])) };
  return { files: [...files, html], metafile };
}

/** The page's HTML. The browser fetches these files of code together with the one that asks for them. */
function htmlWith(names) {
  const html = fs.readFileSync(path.join(pageOptions.absWorkingDir, pageFolder, "index.html"), "utf8");
  const links = names.map((name) => `<link rel="modulepreload" href="./${path.posix.basename(name)}" />`);
  return html.replace("</head>", `  ${links.join("\n    ")}\n  </head>`);
}
