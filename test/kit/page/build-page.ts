import { readFileSync } from "node:fs";
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
  readonly pageFolder: string;
  readonly pageStatics: readonly string[];
  readonly workerOptions: (shell: object) => BuildOptions & { readonly write: false };
}

const pageBuild = async (): Promise<PageBuild> =>
  (await import(pathToFileURL(path.join(root, "scripts/page-options.mjs")).href)) as PageBuild;

/** The options with which the build bundles the page. */
export const pageOptions = async (): Promise<PageBuild["pageOptions"]> => (await pageBuild()).pageOptions;

/** The page's files by path. */
export async function buildPage(): Promise<ReadonlyMap<string, { type: string; body: Uint8Array }>> {
  const files = new Map<string, { type: string; body: Uint8Array }>();
  const { pageOptions: options, pageHtml, pageFolder, pageStatics, workerOptions } = await pageBuild();
  const built = await build(options);
  const worker = await build(workerOptions({ mark: "test", files: [] }));
  for (const file of [...built.outputFiles, ...worker.outputFiles]) {
    const type = file.path.endsWith(".css") ? "text/css" : "text/javascript";
    files.set(`/${path.basename(file.path)}`, { type, body: file.contents });
  }
  for (const name of pageStatics) {
    const type = name.endsWith(".png") ? "image/png" : "application/manifest+json";
    files.set(`/${name}`, { type, body: readFileSync(path.join(root, pageFolder, name)) });
  }
  files.set("/index.html", { type: "text/html", body: new TextEncoder().encode(pageHtml(built.metafile)) });
  return files;
}
