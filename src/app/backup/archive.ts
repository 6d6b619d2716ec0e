import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { extract, list, type ReadEntry } from "tar";
import { z } from "zod";
import { OpenClawError } from "../../types/errors.ts";
import { errorText } from "../../utils/text/error-text.ts";

/** `manifest.json` of a backup, in the field's schema 1. Paths are absolute, those in the archive relative to its root. */
const manifestShape = z.looseObject({
  schemaVersion: z.literal(1),
  createdAt: z.string(),
  archiveRoot: z.string().min(1),
  runtimeVersion: z.string(),
  platform: z.string().optional(),
  options: z.looseObject({ includeWorkspace: z.boolean().optional(), onlyConfig: z.boolean().optional() }).optional(),
  paths: z.looseObject({ stateDir: z.string(), configPath: z.string(), workspaceDirs: z.array(z.string()).optional() }),
  assets: z.array(z.looseObject({ kind: z.string(), sourcePath: z.string(), archivePath: z.string() })).max(200),
  /** Databases, as they are named in the archive; in a backup of another program those whose names say so. */
  databases: z.array(z.string()).optional(),
});
export type BackupManifest = z.output<typeof manifestShape>;

export interface VerifiedBackup {
  readonly manifest: BackupManifest;
  readonly entries: number;
  readonly bytes: number;
  /** Databases whose content was checked. */
  readonly databases: readonly string[];
}

const MOST_MANIFEST = 8 * 1024 * 1024;
/** More than gzip can do, so that a file of zeros is no fault. */
export const MOST_RATIO = 2000;

/**
 * Reads a whole backup: one manifest, every entry below its root and in an asset, no link that leads out of its asset, sound
 * databases. Throws BACKUP_UNSOUND with everything that is wrong. `name`: the backup, where the file is a copy of it.
 */
export async function verifyBackup(file: string, name = file): Promise<VerifiedBackup> {
  const look = await lookInto(file, name);
  const [text] = look.manifests;
  const problems = [...look.problems];
  if (look.manifests.length !== 1) problems.push(`it has ${look.manifests.length} manifests, and must have one`);
  const manifest = text === undefined ? undefined : readManifest(text, problems);
  if (manifest) problems.push(...strays(manifest, look.entries));
  const named = look.entries.filter(({ path, type }) => type === "File" && /\.(?:sqlite|db)$/.test(path));
  const databases = manifest?.databases ?? named.map(({ path }) => path);
  if (problems.length === 0) problems.push(...(await brokenDatabases(file, databases)));
  if (manifest && problems.length === 0)
    return { manifest, entries: look.entries.length, bytes: look.bytes, databases };
  throw unsound(name, problems);
}

/** A backup that nothing can be restored from. */
export const unsound = (file: string, problems: readonly string[], cause?: unknown): OpenClawError =>
  new OpenClawError("BACKUP_UNSOUND", {
    message: `${file} is no sound backup: ${problems.slice(0, 5).join("; ")}${problems.length > 5 ? `; and ${problems.length - 5} more` : ""}.`,
    fix: "Use another backup. Nothing was restored from this one.",
    cause,
  });

interface Entry {
  readonly path: string;
  readonly type: string;
  readonly linkpath: string | undefined;
}

interface Look {
  readonly entries: readonly Entry[];
  readonly manifests: readonly string[];
  readonly problems: readonly string[];
  readonly bytes: number;
}

async function lookInto(file: string, name: string): Promise<Look> {
  const entries: Entry[] = [];
  const manifests: string[] = [];
  const problems: string[] = [];
  let bytes = 0;
  const onReadEntry = (entry: ReadEntry) => {
    const { path, type, linkpath } = entry;
    entries.push({ path, type, linkpath });
    bytes += entry.size;
    if (/^[^/]+\/manifest\.json$/.test(path)) readText(entry, (text) => manifests.push(text));
    else entry.resume();
  };
  try {
    await list({
      file,
      onReadEntry,
      strict: true,
      maxDecompressionRatio: MOST_RATIO,
      onwarn: (_code, message) => problems.push(String(message)),
    });
  } catch (error) {
    throw unsound(name, [errorText(error)], error);
  }
  return { entries, manifests, problems, bytes };
}

function readText(entry: ReadEntry, done: (text: string) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  entry.on("data", (chunk) => {
    size += chunk.length;
    if (size <= MOST_MANIFEST) chunks.push(Buffer.from(chunk));
  });
  entry.on("end", () => done(Buffer.concat(chunks).toString("utf8")));
}

function readManifest(text: string, problems: string[]): BackupManifest | undefined {
  try {
    return manifestShape.parse(JSON.parse(text));
  } catch (error) {
    problems.push(`manifest.json cannot be read: ${errorText(error)}`);
    return undefined;
  }
}

/** Entries that do not belong to the manifest's assets, and links that lead out of them. */
function strays({ archiveRoot, assets }: BackupManifest, entries: readonly Entry[]): string[] {
  const bases = assets.map(({ archivePath }) => cleanPath(archivePath));
  const paths = entries.map(({ path }) => cleanPath(path));
  const links = new Set(entries.flatMap(({ path, type }) => (type === "SymbolicLink" ? cleanPath(path) : [])));
  const problems = bases
    .filter((base) => !isBelow(base, `${archiveRoot}/payload`))
    .map((base) => `the manifest's ${base} lies outside of the payload`);
  problems.push(
    ...bases.filter((base) => !paths.some((path) => isBelow(path, base))).map((base) => `${base} is missing`),
    ...paths.filter((path, at) => paths.indexOf(path) !== at).map((path) => `${path} is there twice`),
  );
  for (const entry of entries) {
    const problem = strayOf(entry, { archiveRoot, bases, links });
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

interface Places {
  readonly archiveRoot: string;
  readonly bases: readonly string[];
  readonly links: ReadonlySet<string>;
}

function strayOf({ path, type, linkpath = "" }: Entry, { archiveRoot, bases, links }: Places): string | undefined {
  const at = cleanPath(path);
  if (posix.isAbsolute(path) || path.split("/").includes("..")) return `${path} leads out of the archive`;
  const base = bases.find((one) => isBelow(at, one));
  const isKnown = base !== undefined || at === `${archiveRoot}/manifest.json` || bases.some((one) => isBelow(one, at));
  if (!isKnown) return `${path} belongs to no part of the backup`;
  if (passesLink(at, links)) return `${path} lies behind a link`;
  if (type !== "SymbolicLink")
    return ["File", "OldFile", "Directory"].includes(type) ? undefined : `${path} is a ${type}`;
  if (base === undefined || OWN.some((name) => isBelow(at, `${base}/${name}`))) return `${path} is a link`;
  const target = cleanPath(posix.join(posix.dirname(at), linkpath));
  const leavesIt = posix.isAbsolute(linkpath) || !isBelow(target, base) || passesOn(at, linkpath, links);
  return leavesIt ? `the link ${path} leads to ${linkpath}` : undefined;
}

/** What the gateway writes itself, and never through a link. */
const OWN = ["state", "credentials", "openclaw.json"];

/** Whether a link goes through another one on its way, so that its dots mean other folders than they seem to. */
function passesOn(at: string, linkpath: string, links: ReadonlySet<string>): boolean {
  const steps = posix.dirname(at).split("/");
  const parts = linkpath.split("/");
  for (const [index, part] of parts.entries()) {
    if (part === "..") steps.pop();
    else if (part !== "." && part !== "") steps.push(part);
    if (index < parts.length - 1 && links.has(steps.join("/"))) return true;
  }
  return false;
}

const passesLink = (path: string, links: ReadonlySet<string>): boolean =>
  path.split("/").some((_, at, parts) => at > 0 && links.has(parts.slice(0, at).join("/")));

/** A path of an archive without its last slash. */
export const cleanPath = (path: string): string => posix.normalize(path).replace(/\/$/, "");

const isBelow = (path: string, base: string): boolean => path === base || path.startsWith(`${base}/`);

async function brokenDatabases(file: string, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const dir = await mkdtemp(join(tmpdir(), "openclaw-verify-"));
  try {
    const wanted = new Set(paths);
    await extract({
      file,
      cwd: dir,
      strict: true,
      maxDecompressionRatio: MOST_RATIO,
      filter: (path) => wanted.has(path),
    });
    return paths.flatMap((path) => {
      const problem = problemOf(join(dir, path));
      return problem === undefined ? [] : [`${path}: ${problem}`];
    });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function problemOf(path: string): string | undefined {
  try {
    const db = new DatabaseSync(path, { readOnly: true });
    try {
      const [row] = db.prepare("PRAGMA integrity_check(1)").all();
      const text = String(row?.["integrity_check"] ?? "no answer");
      return text === "ok" ? undefined : text;
    } finally {
      db.close();
    }
  } catch (error) {
    return errorText(error);
  }
}
