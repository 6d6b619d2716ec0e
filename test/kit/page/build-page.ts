import { readFile } from "node:fs/promises";
import path from "node:path";
import { build } from "esbuild";

export const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const PAGE = path.resolve(import.meta.dirname, "../../../extensions/webchat/page");

/** Bundles the page as the build does, by path. */
export async function buildPage(): Promise<ReadonlyMap<string, { type: string; body: Uint8Array }>> {
  const files = new Map<string, { type: string; body: Uint8Array }>();
  const built = await build({
    entryPoints: { page: path.join(PAGE, "main.tsx") },
    outdir: "/page",
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    jsxImportSource: "preact",
  });
  for (const file of built.outputFiles) {
    const type = file.path.endsWith(".css") ? "text/css" : "text/javascript";
    files.set(`/${path.basename(file.path)}`, { type, body: file.contents });
  }
  files.set("/index.html", { type: "text/html", body: await readFile(path.join(PAGE, "index.html")) });
  return files;
}
