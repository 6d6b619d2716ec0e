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
  assets: z.array(z.looseObject({ kind: z.string(), sourcePath: z.string(), archivePath: z.string() })),
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
const SQLITE_START = Buffer.from("SQLite format 3\0");

/**
 * Reads a whole backup: one manifest, every entry below its root and in an asset, no link that leads out of its asset, sound
 * databases. Throws BACKUP_UNSOUND with everything that is wrong.
 */
export async function verifyBackup(file: string): Promise<VerifiedBackup> {
  const look = await lookInto(file);
  const [text] = look.manifests;
  const problems = [...look.problems];
  if (look.manifests.length !== 1) problems.push(`it has ${look.manifests.length} manifests, and must have one`);
  const manifest = text === undefined ? undefined : readManifest(text, problems);
  if (manifest) problems.push(...strays(manifest, look.entries));
  if (problems.length === 0) problems.push(...(await brokenDatabases(file, look.databases)));
  if (manifest && problems.length === 0)
    return { manifest, entries: look.entries.length, bytes: look.bytes, databases: look.databases };
  throw unsound(file, problems);
}

const unsound = (file: string, problems: readonly string[], cause?: unknown): OpenClawError =>
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
  readonly databases: readonly string[];
  readonly problems: readonly string[];
  readonly bytes: number;
}

async function lookInto(file: string): Promise<Look> {
  const entries: Entry[] = [];
  const manifests: string[] = [];
  const databases: string[] = [];
  const problems: string[] = [];
  let bytes = 0;
  const onReadEntry = (entry: ReadEntry) => {
    const { path, type, linkpath } = entry;
    entries.push({ path, type, linkpath });
    bytes += entry.size;
    if (/^[^/]+\/manifest\.json$/.test(path)) readText(entry, (text) => manifests.push(text));
    else readStart(entry, (start) => start.equals(SQLITE_START) && databases.push(path));
  };
  try {
    await list({ file, onReadEntry, strict: true, onwarn: (_code, message) => problems.push(String(message)) });
  } catch (error) {
    throw unsound(file, [errorText(error)], error);
  }
  return { entries, manifests, databases, problems, bytes };
}

/** Reads an entry to its end. `told` gets its first bytes; an entry without any is not told. */
function readStart(entry: ReadEntry, told: (start: Buffer) => void): void {
  let isFirst = true;
  entry.on("data", (chunk) => {
    if (isFirst) told(Buffer.from(chunk).subarray(0, SQLITE_START.length));
    isFirst = false;
  });
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
  const clean = (path: string) => posix.normalize(path).replace(/\/$/, "");
  const bases = assets.map(({ archivePath }) => clean(archivePath));
  const problems = bases
    .filter((base) => !isBelow(base, `${archiveRoot}/payload`))
    .map((base) => `the manifest's ${base} lies outside of the payload`);
  problems.push(
    ...bases
      .filter((base) => !entries.some(({ path }) => isBelow(clean(path), base)))
      .map((base) => `${base} is missing`),
  );
  for (const { path, type, linkpath = "" } of entries) {
    const at = clean(path);
    const base = bases.find((one) => isBelow(at, one));
    if (posix.isAbsolute(path) || path.split("/").includes("..")) problems.push(`${path} leads out of the archive`);
    else if (base === undefined && at !== `${archiveRoot}/manifest.json` && !bases.some((one) => isBelow(one, at)))
      problems.push(`${path} belongs to no part of the backup`);
    else if (
      type === "SymbolicLink" &&
      (posix.isAbsolute(linkpath) || !isBelow(clean(posix.join(posix.dirname(at), linkpath)), base ?? at))
    )
      problems.push(`the link ${path} leads to ${linkpath}`);
    else if (!["File", "OldFile", "Directory", "SymbolicLink"].includes(type)) problems.push(`${path} is a ${type}`);
  }
  return problems;
}

const isBelow = (path: string, base: string): boolean => path === base || path.startsWith(`${base}/`);

async function brokenDatabases(file: string, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const dir = await mkdtemp(join(tmpdir(), "openclaw-verify-"));
  try {
    const wanted = new Set(paths);
    await extract({ file, cwd: dir, strict: true, filter: (path) => wanted.has(path) });
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
