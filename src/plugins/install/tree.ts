import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat, readdir, readFile, readlink, realpath } from "node:fs/promises";
import { isAbsolute, join, posix } from "node:path";
import { pipeline } from "node:stream/promises";
import { isMissing } from "../../utils/missing.ts";
import { isInside } from "../../utils/real-path.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { Count, refuseName, type PluginSizeLimits } from "./paths.ts";
import { unsafe } from "./refusals.ts";

/** An entry of a folder; `path` is relative to the folder, with `/`. */
export type TreeEntry =
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "file"; readonly path: string; readonly bytes: number; readonly isProgram: boolean }
  | { readonly kind: "link"; readonly path: string; readonly target: string };

/** The link to the gateway's own package, under the name by which plugins import it. It is not part of the plugin. */
export const HOST_LINK = "node_modules/openclaw";

/**
 * Whether a name is no part of a plugin: its history, and the link or copy of the gateway that its author worked with.
 */
const isLeftOutName = (path: string): boolean => path === HOST_LINK || path === ".git" || path.endsWith("/.git");

/**
 * Everything in a folder, sorted, parents first; without `.git`, `node_modules/openclaw` and npm's links to its programs. `root` has
 * no links in it.
 * Throws `PLUGIN_UNSAFE` for links that lead out of the folder or nowhere, devices, pipes, names with control characters, and
 * above a limit. Follows no link.
 */
export async function readTree(root: string, limits: PluginSizeLimits): Promise<readonly TreeEntry[]> {
  const count = new Count(limits);
  const entries: TreeEntry[] = [];
  await readFolder(root, "", (entry) => {
    count.add(entry.kind === "file" ? entry.bytes : 0);
    entries.push(entry);
  });
  return entries;
}

async function readFolder(root: string, folder: string, add: (entry: TreeEntry) => void): Promise<void> {
  const paths = (await readdir(join(root, folder)))
    .toSorted()
    .map((name) => (folder === "" ? name : `${folder}/${name}`));
  const kept = paths.filter((path) => !isLeftOutName(path));
  for (const path of kept) refuseName(path);
  const entries = await Promise.all(kept.map((path) => readEntry(root, path)));
  for (const entry of entries) {
    if (entry === undefined) continue;
    add(entry);
    if (entry.kind === "folder") await readFolder(root, entry.path, add);
  }
}

async function readEntry(root: string, path: string): Promise<TreeEntry | undefined> {
  const facts = await lstat(join(root, path));
  if (facts.isDirectory()) return { kind: "folder", path };
  if (facts.isFile()) return { kind: "file", path, bytes: facts.size, isProgram: (facts.mode & 0o100) !== 0 };
  if (facts.isSymbolicLink()) return readLink(root, path);
  throw unsafe(`${path} is neither a file nor a folder.`);
}

async function readLink(root: string, path: string): Promise<TreeEntry | undefined> {
  const target = await readlink(join(root, path));
  if (leadsToHost(path, target)) return undefined;
  const real = await realpath(join(root, path)).catch((error: unknown) => {
    const why = isMissing(error) ? "leads nowhere" : `cannot be followed: ${errorText(error)}`;
    throw unsafe(`The link ${path} ${why}.`, "Remove the link.");
  });
  if (isAbsolute(target) || !isInside(real, root))
    throw unsafe(`The link ${path} leads out of its folder, to ${real}.`);
  return { kind: "link", path, target };
}

/** Whether this is a link of npm to a program of the gateway that is left out: `node_modules/.bin/openclaw`. */
const leadsToHost = (path: string, target: string): boolean =>
  posix.dirname(path) === "node_modules/.bin" && posix.join(posix.dirname(path), target).startsWith(`${HOST_LINK}/`);

/** Files that are read at once. */
const READERS = 16;

/** The SHA-256 of names, modes and contents, as `sha256-<base64>`. */
export async function hashTree(root: string, entries: readonly TreeEntry[]): Promise<string> {
  const hash = createHash("sha256");
  for (let at = 0; at < entries.length; at += READERS) {
    const lines = await Promise.all(entries.slice(at, at + READERS).map((entry) => lineOf(root, entry)));
    hash.update(lines.join(""));
  }
  return `sha256-${hash.digest("base64")}`;
}

/** The part of an entry that counts for the hash; folders do not count. */
async function lineOf(root: string, entry: TreeEntry): Promise<string> {
  if (entry.kind === "folder") return "";
  const content = entry.kind === "link" ? `-> ${entry.target}` : await hashFile(join(root, entry.path), entry.bytes);
  return `${JSON.stringify([entry.path, entry.kind === "file" && entry.isProgram, content])}\n`;
}

/** Larger files are not read as a whole. */
const SMALL_BYTES = 4 * 1_048_576;

async function hashFile(path: string, bytes: number): Promise<string> {
  const hash = createHash("sha256");
  if (bytes <= SMALL_BYTES) hash.update(await readFile(path));
  else await pipeline(createReadStream(path), hash);
  return hash.digest("base64");
}
