import { readFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import type { BuildOptions } from "esbuild";

export const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const root = path.resolve(import.meta.dirname, "../../..");

type PageOptions = BuildOptions & { readonly write: false };

/** The options with which the build bundles the page. */
export async function pageOptions(): Promise<PageOptions> {
  const file = pathToFileURL(path.join(root, "scripts/page-options.mjs")).href;
  return ((await import(file)) as { pageOptions: PageOptions }).pageOptions;
}

/** The page's files by path. */
export async function buildPage(): Promise<ReadonlyMap<string, { type: string; body: Uint8Array }>> {
  const files = new Map<string, { type: string; body: Uint8Array }>();
  const built = await build(await pageOptions());
  for (const file of built.outputFiles) {
    const type = file.path.endsWith(".css") ? "text/css" : "text/javascript";
    files.set(`/${path.basename(file.path)}`, { type, body: file.contents });
  }
  files.set("/index.html", {
    type: "text/html",
    body: await readFile(path.join(root, "extensions/webchat/page/index.html")),
  });
  return files;
}
