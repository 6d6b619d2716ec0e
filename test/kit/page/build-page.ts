import { readFileSync } from "node:fs";
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

interface PageBuild {
  readonly pageOptions: BuildOptions & { readonly write: false; readonly metafile: true };
  readonly bundlePage: (esbuild: {
    build: typeof build;
  }) => Promise<{ files: readonly { path: string; contents: Uint8Array }[] }>;
  readonly pageFolder: string;
  readonly pageStatics: readonly string[];
  readonly workerOptions: (shell: object) => BuildOptions & { readonly write: false };
}

const pageBuild = async (): Promise<PageBuild> =>
  (await import(pathToFileURL(path.join(root, "scripts/page-options.mjs")).href)) as PageBuild;

/** The options with which the build bundles the page. */
export const pageOptions = async (): Promise<PageBuild["pageOptions"]> => (await pageBuild()).pageOptions;

const TYPES: Readonly<Record<string, string>> = { ".css": "text/css", ".html": "text/html" };

/** The page's files by path. */
export async function buildPage(): Promise<ReadonlyMap<string, { type: string; body: Uint8Array }>> {
  const files = new Map<string, { type: string; body: Uint8Array }>();
  const { bundlePage, pageFolder, pageStatics, workerOptions } = await pageBuild();
  const page = await bundlePage({ build });
  const worker = await build(workerOptions({ mark: "test", files: [] }));
  for (const { path: file, contents } of [...page.files, ...worker.outputFiles])
    files.set(`/${path.basename(file)}`, { type: TYPES[path.extname(file)] ?? "text/javascript", body: contents });
  for (const name of pageStatics) {
    const type = name.endsWith(".png") ? "image/png" : "application/manifest+json";
    files.set(`/${name}`, { type, body: readFileSync(path.join(root, pageFolder, name)) });
  }
  return files;
}
