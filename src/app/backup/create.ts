import { chmod, lstat, mkdtemp, open, readdir, readlink, realpath, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { create } from "tar";
import { OpenClawError } from "../../types/errors.ts";
import { isMissing } from "../../utils/missing.ts";
import { isInside } from "../../utils/real-path.ts";
import { diskError, syncDir } from "../../store/disk.ts";
import type { StatePaths } from "../config/paths.ts";
import type { BackupManifest } from "./archive.ts";

/** What a backup is made of. */
export interface BackupSources {
  readonly paths: Pick<StatePaths, "stateDir" | "configPath">;
  /** Files of the config besides the main one. */
  readonly includes: readonly string[];
  /** Workspaces of the agents. */
  readonly workspaces: readonly string[];
}

export interface BackupOptions {
  /** A folder, or the file to write. */
  readonly output: string;
  readonly includeWorkspace: boolean;
  readonly onlyConfig: boolean;
  readonly version: string;
  readonly now: Date;
}

export interface BackupPlan {
  readonly file: string;
  readonly manifest: BackupManifest & { readonly skipped: readonly Skipped[] };
  readonly files: readonly string[];
  /** Files that only live while a process runs. */
  readonly volatile: number;
  readonly bytes: number;
}

interface Skipped {
  readonly sourcePath: string;
  readonly reason: string;
}

/** Files of the state directory that say nothing after a start: logs, locks, sockets, halves of writes. */
const VOLATILE =
  /(?:^|\/)(?:logs|tmp|\.cache)(?:\/|$)|\.(?:lock|sock|pid|tmp|torn)$|-(?:wal|shm|journal)$|(?:^|\/)(?:delivery-queue|session-delivery-queue)(?:\/|$)/;
const SQLITE_START = "SQLite format 3\0";

/** What would be in a backup. Reads names and sizes only. Throws BACKUP_REFUSED. */
export async function planBackup(sources: BackupSources, options: BackupOptions): Promise<BackupPlan> {
  const { stateDir, configPath } = sources.paths;
  const assets = await assetsOf(sources, options);
  const root = `${stampOf(options.now)}-openclaw-backup`;
  const file = await fileFor(options.output, `${root}.tar.gz`, assets);
  const found = await walk(
    assets.map(({ sourcePath }) => sourcePath),
    { stateDir, workspaces: options.includeWorkspace ? [] : sources.workspaces },
  );
  const manifest = {
    schemaVersion: 1 as const,
    createdAt: options.now.toISOString(),
    archiveRoot: root,
    runtimeVersion: options.version,
    platform: process.platform,
    nodeVersion: process.version,
    options: { includeWorkspace: options.includeWorkspace, onlyConfig: options.onlyConfig },
    paths: { stateDir, configPath, workspaceDirs: [...sources.workspaces] },
    assets: assets.map((asset) => ({ ...asset, archivePath: archivePath(root, asset.sourcePath) })),
    skipped: found.skipped,
  };
  return { file, manifest, files: found.files, volatile: found.volatile, bytes: found.bytes };
}

/** Writes the backup; it is there as a whole or not at all. Databases are copied as they are at one moment, also while a gateway writes. */
export async function writeBackup(plan: BackupPlan): Promise<{ readonly bytes: number }> {
  const { archiveRoot } = plan.manifest;
  const staging = await mkdtemp(join(tmpdir(), "openclaw-backup-"));
  const temporary = `${plan.file}.unfinished`;
  try {
    const { places, originals } = await snapshots(plan.files, staging);
    const manifest = join(staging, "manifest.json");
    await writeFile(manifest, `${JSON.stringify(plan.manifest, null, 2)}\n`, { mode: 0o600 });
    const nameOf = (path: string) =>
      path === manifest ? `${archiveRoot}/manifest.json` : archivePath(archiveRoot, originals.get(path) ?? path);
    await create(
      {
        file: temporary,
        gzip: true,
        mode: 0o600,
        cwd: sep,
        preservePaths: true,
        noDirRecurse: true,
        portable: true,
        linkCache: new NoLinks(),
        onWriteEntry: (entry) => {
          entry.path = nameOf(resolve(sep, entry.path));
        },
      },
      [...places, manifest],
    );
    await settle(temporary, plan.file);
    return { bytes: (await lstat(plan.file)).size };
  } catch (error) {
    await rm(temporary, { force: true });
    throw diskError(error, plan.file);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Every file is in the archive itself, also one that has several names. */
class NoLinks extends Map<`${number}:${number}`, string> {
  override get(): undefined {
    return undefined;
  }
}

async function settle(temporary: string, file: string): Promise<void> {
  const handle = await open(temporary, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
  await refuseExisting(file);
  await rename(temporary, file);
  await syncDir(dirname(file));
}

async function assetsOf(
  { paths, includes, workspaces }: BackupSources,
  { onlyConfig, includeWorkspace }: BackupOptions,
) {
  const { stateDir, configPath } = paths;
  const wanted = [
    ...(onlyConfig ? [] : [{ kind: "state", sourcePath: stateDir }]),
    { kind: "config", sourcePath: configPath },
    ...includes.map((sourcePath) => ({ kind: "config", sourcePath })),
    ...(onlyConfig || !includeWorkspace ? [] : workspaces.map((sourcePath) => ({ kind: "workspace", sourcePath }))),
  ];
  const assets: { kind: string; sourcePath: string }[] = [];
  for (const asset of wanted) {
    const isCovered = assets.some(({ sourcePath }) => isInside(asset.sourcePath, sourcePath));
    if (!isCovered && (await isThere(asset.sourcePath))) assets.push(asset);
  }
  if (assets.length > 0) return assets;
  throw new OpenClawError("BACKUP_REFUSED", {
    message: `There is nothing to back up in ${stateDir}.`,
    fix: "Check OPENCLAW_STATE_DIR.",
  });
}

const isThere = async (path: string): Promise<boolean> => {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
};

/** `2026-11-30T14-05-09.120+01-00`: the local time with its distance from UTC. */
function stampOf(now: Date): string {
  const offset = -now.getTimezoneOffset();
  const local = new Date(now.getTime() + offset * 60_000).toISOString().slice(0, -1);
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  return `${local}${offset < 0 ? "-" : "+"}${two(Math.abs(offset) / 60)}-${two(Math.abs(offset) % 60)}`.replaceAll(
    ":",
    "-",
  );
}

async function fileFor(output: string, name: string, assets: readonly { sourcePath: string }[]): Promise<string> {
  const wanted = resolve(output);
  const isFolder = (await isThere(wanted)) && (await lstat(await realpath(wanted))).isDirectory();
  const file = isFolder || output.endsWith(sep) ? join(wanted, name) : wanted;
  const real = join(await realpath(dirname(file)).catch(() => dirname(file)), basename(file));
  const source = assets.find(({ sourcePath }) => isInside(real, sourcePath));
  if (source)
    throw new OpenClawError("BACKUP_REFUSED", {
      message: `${file} lies in ${source.sourcePath}, which is backed up itself.`,
      fix: "Name a file or folder outside: openclaw backup create --output <path>",
    });
  await refuseExisting(file);
  return file;
}

async function refuseExisting(file: string): Promise<void> {
  if (await isThere(file))
    throw new OpenClawError("BACKUP_REFUSED", {
      message: `${file} is there already, and is not written over.`,
      fix: "Name another file with --output.",
    });
}

/** The place of a file in an archive. */
const archivePath = (root: string, path: string): string =>
  `${root}/payload/posix${isAbsolute(path) ? "" : "/"}${path.split(sep).join("/")}`;

interface Found {
  readonly files: string[];
  readonly skipped: Skipped[];
  volatile: number;
  bytes: number;
}

async function walk(
  roots: readonly string[],
  rules: { stateDir: string; workspaces: readonly string[] },
): Promise<Found> {
  const found: Found = { files: [], skipped: [], volatile: 0, bytes: 0 };
  for (const root of roots) await visit(root, root, rules, found);
  return found;
}

async function visit(
  path: string,
  root: string,
  rules: { stateDir: string; workspaces: readonly string[] },
  found: Found,
): Promise<void> {
  const stat = await lstat(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (!stat) return;
  const inState = relative(rules.stateDir, path).split(sep).join("/");
  if (root === rules.stateDir && VOLATILE.test(inState)) return void (found.volatile += 1);
  if (path !== root && rules.workspaces.includes(path))
    return void found.skipped.push({ sourcePath: path, reason: "workspace" });
  if (stat.isSymbolicLink()) {
    const leads = resolve(dirname(path), await readlink(path));
    if (isInside(leads, root)) found.files.push(path);
    else found.skipped.push({ sourcePath: path, reason: `a link to ${leads}` });
  } else if (stat.isDirectory()) {
    found.files.push(path);
    for (const name of (await readdir(path)).toSorted()) await visit(join(path, name), root, rules, found);
  } else if (stat.isFile()) {
    found.files.push(path);
    found.bytes += stat.size;
  } else found.volatile += 1;
}

/** The files as they are archived: each database as a copy of one moment, a file that is gone meanwhile left out. */
async function snapshots(files: readonly string[], staging: string) {
  const originals = new Map<string, string>();
  const places: string[] = [];
  for (const path of files) {
    if (!(await isThere(path))) continue;
    if (!(await isDatabase(path))) {
      places.push(path);
      continue;
    }
    const copy = join(staging, `${originals.size}.sqlite`);
    const db = new DatabaseSync(path, { readOnly: true });
    try {
      await backup(db, copy);
      await chmod(copy, 0o600);
    } finally {
      db.close();
    }
    originals.set(copy, path);
    places.push(copy);
  }
  return { places, originals };
}

async function isDatabase(path: string): Promise<boolean> {
  if (!(await lstat(path)).isFile()) return false;
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SQLITE_START.length), 0, SQLITE_START.length, 0);
    return buffer.toString("latin1", 0, bytesRead) === SQLITE_START;
  } finally {
    await file.close();
  }
}
