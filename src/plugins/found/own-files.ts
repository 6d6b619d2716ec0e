import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { unlessMissing } from "../../utils/missing.ts";

/** A file with code of a plugin itself, not of its dependencies. */
export interface OwnFile {
  /** Relative to the plugin's folder. */
  readonly name: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

/** Other JSON files may be data that the plugin itself writes. */
const CODE = /\.(?:[cm]?[jt]sx?|node|wasm)$|(?:^|\/)(?:package|openclaw\.plugin)\.json$/;
const MOST_FILES = 2000;
const MOST_DEPTH = 12;

/** The first 2,000 files with code in a plugin's folder, without `node_modules` and hidden folders, in the order of their names. */
export async function ownFiles(root: string): Promise<readonly OwnFile[]> {
  const files: OwnFile[] = [];
  await collect(root, "", files);
  return files;
}

async function collect(root: string, below: string, files: OwnFile[]): Promise<void> {
  if (below.split("/").length > MOST_DEPTH) return;
  const entries = (await unlessMissing(readdir(join(root, below), { withFileTypes: true }))) ?? [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (files.length >= MOST_FILES) return;
    if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
    const name = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) await collect(root, name, files);
    else if (entry.isFile() && CODE.test(name)) await add(root, name, files);
  }
}

async function add(root: string, name: string, files: OwnFile[]): Promise<void> {
  const found = await unlessMissing(stat(join(root, name)));
  if (found) files.push({ name, bytes: found.size, modifiedMs: found.mtimeMs });
}
