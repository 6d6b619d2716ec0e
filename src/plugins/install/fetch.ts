import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, realpath } from "node:fs/promises";
import { join, posix } from "node:path";
import { Transform, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type { Parser } from "tar/parse";
import type { ReadEntry } from "tar/read-entry";
import { defined } from "../../utils/defined.ts";
import { copyFolder } from "./copy.ts";
import type { StagedOrigin } from "./facts.ts";
import { fetchGit } from "./git.ts";
import { fetchArchive, viewPackage } from "./npm.ts";
import type { Programs } from "./programs.ts";
import type { PluginSource } from "./source.ts";
import { OpenClawError } from "../../types/errors.ts";
import { exists } from "../../utils/exists.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { MANIFEST } from "../manifest/read-plugin.ts";
import { Count, isAbsolutePath, refuseName, refusePath, type PluginSizeLimits } from "./paths.ts";
import { invalid, unsafe } from "./refusals.ts";
import { isZip, unpackZip } from "./zip.ts";

export interface FetchJob {
  readonly draft: string;
  readonly source: Exclude<PluginSource, { kind: "link" }>;
  /** How much an archive may hold. */
  readonly limits: PluginSizeLimits;
}

interface Fetched {
  /** The folder of the plugin in the draft. */
  readonly folder: string;
  readonly origin: StagedOrigin;
}

/** Brings a source into a draft. Throws `PLUGIN_INVALID`, `PLUGIN_UNSAFE` and `PLUGIN_FETCH`. */
export async function fetchSource(
  programs: Programs,
  { draft, source, limits }: FetchJob,
  step: (label: string) => void,
): Promise<Fetched> {
  const unpacked = join(draft, "unpacked");
  switch (source.kind) {
    case "path":
      await copyFolder(source.path, unpacked);
      return { folder: unpacked, origin: { from: `the folder ${source.path}` } };
    case "archive": {
      const folder = await unpackArchive(source.path, unpacked, limits);
      return { folder, origin: { from: `the archive ${source.path}`, integrity: await integrityOf(source.path) } };
    }
    case "git": {
      step(`Fetching ${source.url} with git`);
      const resolvedCommit = await fetchGit(programs, source, unpacked);
      return {
        folder: unpacked,
        origin: { from: `the repository ${source.url}, commit ${resolvedCommit}`, resolvedCommit },
      };
    }
    case "npm":
      step(`Fetching ${source.spec} with npm`);
      return fetchNpm(programs, source.spec, { draft, limits });
  }
}

async function fetchNpm(
  programs: Programs,
  spec: string,
  { draft, limits }: Pick<FetchJob, "draft" | "limits">,
): Promise<Fetched> {
  const archive = join(draft, "archive");
  const file = await fetchArchive(programs, spec, archive);
  const folder = await unpackArchive(file, join(draft, "unpacked"), limits);
  const { publisher, maintainers } = await viewPackage(programs, spec, archive);
  const origin = { from: `npm: ${spec}`, integrity: await integrityOf(file), maintainers, ...defined({ publisher }) };
  return { folder, origin };
}

async function integrityOf(file: string): Promise<string> {
  const hash = createHash("sha512");
  await pipeline(createReadStream(file), hash);
  return `sha512-${hash.digest("base64")}`;
}

/**
 * Unpacks a ZIP archive, or a tar archive, compressed or not, into a new folder and returns the folder of the plugin: this one, or the only
 * one in it. The whole archive is checked before anything is written. Throws `PLUGIN_UNSAFE` and `PLUGIN_INVALID`.
 */
async function unpackArchive(file: string, into: string, limits: PluginSizeLimits): Promise<string> {
  await mkdir(into, { recursive: true, mode: 0o700 });
  if (await isZip(file)) await reading(file, unpackZip(file, into, limits));
  else await unpackTar(file, into, limits);
  return await folderIn(await realpath(into));
}

async function unpackTar(file: string, into: string, limits: PluginSizeLimits): Promise<void> {
  await readAll(file, new ArchiveCheck(limits));
  const { extract } = await import("tar/extract");
  const unpack = extract({ cwd: into, strict: true, preserveOwner: false, noMtime: true, filter: settleMode });
  await reading(file, feed(file, { reader: unpack, done: "close", most: mostOf(limits) }));
}

/** Only the owner may read the file; nothing is set-uid, and nothing unreadable. */
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
  const refused = Promise.withResolvers<never>();
  const parser = new Parser({
    strict: true,
    onReadEntry(entry) {
      try {
        check.add(entry);
        entry.resume();
      } catch (error) {
        refused.reject(error);
      }
    },
  });
  const fed = feed(file, { reader: parser, done: "end", most: mostOf(check.limits) });
  await reading(file, Promise.race([fed, refused.promise]));
}

/** Bytes of a whole archive, unpacked: its files and their headers. */
const mostOf = ({ bytes }: PluginSizeLimits): number => bytes + 64 * 1_048_576;

interface Feed {
  readonly reader: Parser;
  /** The event with which the reader is done. */
  readonly done: "end" | "close";
  /** Bytes that may be unpacked. */
  readonly most: number;
}

/**
 * Feeds an archive to a reader, until the reader is done. Bytes after the archive's own end are not read: tar would
 * keep them, and copy them again with each part, so that a small file could keep it busy for hours.
 */
async function feed(file: string, { reader, done, most }: Feed): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const source = createReadStream(file);
  const whole = limited(most);
  const parts: readonly Readable[] = (await isPacked(file))
    ? [source, source.pipe(createGunzip()), whole]
    : [source, whole];
  for (const part of parts) part.on("error", reject);
  reader.on("error", reject).on(done, () => resolve());
  reader.on("eof", () => {
    whole.unpipe(reader);
    reader.end();
  });
  (parts.at(-2) ?? source).pipe(whole).pipe(reader);
  try {
    await promise;
  } finally {
    for (const part of parts) part.destroy();
  }
}

/** Passes bytes on, up to the most that an archive may hold. */
function limited(most: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, pass) {
      bytes += chunk.length;
      if (bytes > most) pass(unsafe(`The archive holds more than ${most / 1_048_576} MB.`));
      else pass(null, chunk);
    },
  });
}

/** Whether a file is packed, by the first two bytes of gzip. */
async function isPacked(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return buffer.readUInt16BE() === 0x1f8b;
  } finally {
    await handle.close();
  }
}

async function reading(file: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (error instanceof OpenClawError) throw error;
    const fix = "Check that it is a whole .tgz, .tar.gz, .tar or .zip file.";
    throw invalid(`${file} cannot be unpacked: ${errorText(error)}`, fix, error);
  }
}

const FILES = new Set(["File", "OldFile", "ContiguousFile", "Directory", "GNUDumpDir"]);

/** Looks at the headers alone. A link may lead to another place of the archive; nothing may lie below a link. */
class ArchiveCheck {
  readonly limits: PluginSizeLimits;
  readonly #count: Count;
  readonly #links = new Set<string>();

  constructor(limits: PluginSizeLimits) {
    this.limits = limits;
    this.#count = new Count(limits);
  }

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
    if (isAbsolutePath(target) || isAway(posix.join(base, target)))
      throw unsafe(`The link ${path} in the archive leads out of it, to ${target}.`);
    this.#links.add(path);
  }

  #refuseBelowLink(path: string): void {
    for (let at = path; at !== "."; at = posix.dirname(at)) {
      if (this.#links.has(at)) throw unsafe(`${path} in the archive lies below a link, or replaces one.`);
    }
  }
}

const isAway = (path: string): boolean => /^\.\.(?:\/|$)/.test(posix.normalize(path.replaceAll("\\", "/")));
