import path from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import type { BuildOptions, Metafile } from "esbuild";

export const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const root = path.resolve(import.meta.dirname, "../../..");

interface PageBuild {
  readonly pageOptions: BuildOptions & { readonly write: false; readonly metafile: true };
  readonly pageHtml: (metafile: Metafile) => string;
}

const pageBuild = async (): Promise<PageBuild> =>
  (await import(pathToFileURL(path.join(root, "scripts/page-options.mjs")).href)) as PageBuild;

/** The options with which the build bundles the page. */
export const pageOptions = async (): Promise<PageBuild["pageOptions"]> => (await pageBuild()).pageOptions;

/** The page's files by path. */
export async function buildPage(): Promise<ReadonlyMap<string, { type: string; body: Uint8Array }>> {
  const files = new Map<string, { type: string; body: Uint8Array }>();
  const { pageOptions: options, pageHtml } = await pageBuild();
  const built = await build(options);
  for (const file of built.outputFiles) {
    const type = file.path.endsWith(".css") ? "text/css" : "text/javascript";
    files.set(`/${path.basename(file.path)}`, { type, body: file.contents });
  }
  files.set("/index.html", { type: "text/html", body: new TextEncoder().encode(pageHtml(built.metafile)) });
  return files;
}
