// How esbuild bundles the chat page, for `scripts/build.mjs` and for tests of the page.
import fs from "node:fs";
import path from "node:path";

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
 * The page's HTML. The browser fetches the code of the first view together with the code that chooses the language, after which
 * it runs.
 */
export function pageHtml({ outputs }) {
  const html = fs.readFileSync(path.join(pageOptions.absWorkingDir, pageFolder, "index.html"), "utf8");
  const start = Object.keys(outputs).find((name) => outputs[name].entryPoint === `${pageFolder}/start.tsx`);
  const links = [...withImports(outputs, start)].map(
    (name) => `<link rel="modulepreload" href="./${path.posix.relative(pageOptions.outdir, name)}" />`,
  );
  return html.replace("</head>", `  ${links.join("\n    ")}\n  </head>`);
}
