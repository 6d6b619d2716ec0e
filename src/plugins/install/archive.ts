import { createReadStream } from "node:fs";
import { mkdir, readdir, realpath } from "node:fs/promises";
import { join, posix } from "node:path";
import type { ReadEntry } from "tar/read-entry";
import { OpenClawError } from "../../types/errors.ts";
import { exists } from "../../utils/exists.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { MANIFEST } from "../manifest/read-plugin.ts";
import { ARCHIVE_LIMITS, Count, refuseName } from "./paths.ts";
import { invalid, unsafe } from "./refusals.ts";

/**
 * Unpacks a tar archive, compressed or not, into a new folder and returns the folder of the plugin: this one, or the only
 * one in it. The whole archive is checked before anything is written. Throws `PLUGIN_UNSAFE` and `PLUGIN_INVALID`.
 */
export async function unpackArchive(file: string, into: string): Promise<string> {
  await readAll(file, new ArchiveCheck());
  const { extract } = await import("tar/extract");
  await mkdir(into, { recursive: true, mode: 0o700 });
  await reading(
    file,
    extract({ file, cwd: into, strict: true, preserveOwner: false, noMtime: true, filter: settleMode }),
  );
  return await folderIn(await realpath(into));
}

/** Only the owner may read it; nothing is set-uid, and nothing unreadable. */
function settleMode(_path: string, entry: { mode?: number }): boolean {
  entry.mode = ((entry.mode ?? 0) & 0o100) === 0 ? 0o600 : 0o700;
  return true;
}

async function folderIn(root: string): Promise<string> {
  if (await exists(join(root, MANIFEST))) return root;
  const [first, ...others] = await readdir(root, { withFileTypes: true });
  return first?.isDirectory() === true && others.length === 0 ? join(root, first.name) : root;
}

async function readAll(file: string, check: ArchiveCheck): Promise<void> {
  const { Parser } = await import("tar/parse");
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const parser = new Parser({
    strict: true,
    onReadEntry(entry) {
      try {
        check.add(entry);
        entry.resume();
      } catch (error) {
        reject(error);
      }
    },
  });
  const source = createReadStream(file);
  source.on("error", reject);
  parser.on("error", reject).on("end", resolve);
  source.pipe(parser);
  try {
    await reading(file, promise);
  } finally {
    source.destroy();
  }
}

async function reading(file: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (error instanceof OpenClawError) throw error;
    const fix = "Check that it is a whole .tgz, .tar.gz or .tar file.";
    throw invalid(`${file} cannot be unpacked: ${errorText(error)}`, fix, error);
  }
}

const FILES = new Set(["File", "OldFile", "ContiguousFile", "Directory", "GNUDumpDir"]);

/** Looks at the headers alone. A link may lead to another place of the archive; nothing may lie below a link. */
class ArchiveCheck {
  readonly #count = new Count(ARCHIVE_LIMITS);
  readonly #links = new Set<string>();

  add(entry: ReadEntry): void {
    const path = refusePath(entry.path);
    this.#count.add(entry.size);
    this.#refuseBelowLink(path);
    if (FILES.has(entry.type)) return;
    if (entry.type !== "SymbolicLink" && entry.type !== "Link")
      throw unsafe(`${path} in the archive is neither a file nor a folder (${entry.type}).`);
    const target = entry.linkpath ?? "";
    refuseName(target);
    const base = entry.type === "Link" ? "" : posix.dirname(path);
    if (isAbsolute(target) || isAway(posix.join(base, target)))
      throw unsafe(`The link ${path} in the archive leads out of it, to ${target}.`);
    this.#links.add(path);
  }

  #refuseBelowLink(path: string): void {
    for (let at = path; at !== "."; at = posix.dirname(at)) {
      if (this.#links.has(at)) throw unsafe(`${path} in the archive lies below a link, or replaces one.`);
    }
  }
}

/** The normalised path of an entry inside the archive. */
function refusePath(path: string): string {
  refuseName(path);
  if (isAbsolute(path) || path.split(/[/\\]/).includes("..")) throw unsafe(`${path} in the archive leads out of it.`);
  return posix.normalize(path).replace(/\/$/, "");
}

const isAbsolute = (path: string): boolean => /^(?:[/\\]|[A-Za-z]:)/.test(path);

const isAway = (path: string): boolean => /^\.\.(?:\/|$)/.test(posix.normalize(path.replaceAll("\\", "/")));
