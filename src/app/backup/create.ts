import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { Readable } from "node:stream";
import { create, type Pack, type WriteEntry } from "tar";
import { OpenClawError } from "../../types/errors.ts";
import { errorCode, isMissing, unlessMissing } from "../../utils/missing.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { isInside } from "../../utils/real-path.ts";
import { diskError, fullDiskOr, isDiskError, syncDir } from "../../store/disk.ts";
import type { StatePaths } from "../config/paths.ts";
import type { BackupManifest } from "./archive.ts";
import { ENCRYPTED, type EncryptFor, writeEncrypted } from "./encryption.ts";
import { removeLeft } from "./leftovers.ts";

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
  /** Unset: as it is. */
  readonly encrypt?: EncryptFor | undefined;
  readonly version: string;
  readonly now: Date;
}

export interface BackupPlan {
  readonly file: string;
  readonly encrypt?: EncryptFor | undefined;
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

/** Folders and files of the state directory that say nothing after a start. */
const VOLATILE =
  /^(?:logs|tmp|versions|delivery-queue|session-delivery-queue)(?:\/|$)|^state\/[^/]*\.lock$|\.[0-9a-f]{12}\.tmp$|\.sqlite-(?:wal|shm|journal)$/;
const SQLITE_START = "SQLite format 3\0";

/** What would be in a backup. Reads names and sizes only. Throws BACKUP_REFUSED. */
export async function planBackup(given: BackupSources, options: BackupOptions): Promise<BackupPlan> {
  const sources = await reallyAt(given);
  const { stateDir, configPath } = sources.paths;
  const assets = await assetsOf(sources, options);
  const root = `${stampOf(options.now)}-openclaw-backup`;
  const file = await fileFor(options.output, `${root}.tar.gz${options.encrypt ? ENCRYPTED : ""}`, assets);
  const workspaces = { all: sources.workspaces, isWanted: options.includeWorkspace };
  const found = await walk(
    assets.map(({ sourcePath }) => sourcePath),
    { stateDir, workspaces },
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
  const { files, volatile, bytes } = found;
  return { file, encrypt: options.encrypt, manifest, files, volatile, bytes };
}

/** The files themselves, where the directory or the config is reached through a link. */
async function reallyAt({ paths, includes, workspaces }: BackupSources): Promise<BackupSources> {
  const real = async (path: string) => (await unlessMissing(realpath(path))) ?? path;
  const [stateDir, configPath] = await Promise.all([real(paths.stateDir), real(paths.configPath)]);
  return {
    paths: { stateDir, configPath },
    includes: await Promise.all(includes.map(real)),
    workspaces: await Promise.all(workspaces.map(real)),
  };
}

/** How often a backup is begun again when files vanish while it is written. */
const MOST_TRIES = 5;

/** Writes the backup; it is there as a whole or not at all. Databases are copied as they are at one moment, also while a gateway writes. */
export async function writeBackup(plan: BackupPlan): Promise<{ readonly bytes: number }> {
  await removeLeft(tmpdir(), "openclaw-backup-");
  await removeLeft(dirname(plan.file), ".openclaw-backup-");
  const staging = await mkdtemp(join(tmpdir(), `openclaw-backup-${process.pid}-`));
  // A folder that only this user can write: nobody puts a link in the place of the unfinished file.
  const beside = await mkdtemp(join(dirname(plan.file), `.openclaw-backup-${process.pid}-`)).catch((error: unknown) => {
    throw diskError(error, plan.file);
  });
  try {
    await packAgain(plan, staging, beside);
    return { bytes: (await lstat(plan.file)).size };
  } catch (error) {
    throw error instanceof OpenClawError ? error : failureOf(error, plan);
  } finally {
    await rm(beside, { recursive: true, force: true });
    await rm(staging, { recursive: true, force: true });
  }
}

async function packAgain(plan: BackupPlan, staging: string, beside: string, tries = 1): Promise<void> {
  const temporary = join(beside, `${tries}.tar.gz`);
  try {
    await pack(plan, staging, temporary);
  } catch (error) {
    if (!isMissing(error) || tries === MOST_TRIES) throw error;
    return packAgain(plan, staging, beside, tries + 1);
  }
  await settle(temporary, plan.file);
}

function failureOf(error: unknown, { file }: BackupPlan): OpenClawError {
  const path = error instanceof Error && "path" in error ? String(error.path) : file;
  if (!["EACCES", "EPERM", "ENOENT"].includes(errorCode(error) ?? "") || isInside(path, dirname(file)))
    return diskError(error, file);
  return new OpenClawError("BACKUP_REFUSED", {
    message: isMissing(error)
      ? `${path} vanished again and again while it was read.`
      : `${path} cannot be read by this user.`,
    fix: isMissing(error) ? "Try again when less is written." : "Run this as the user who owns the files.",
    cause: error,
  });
}

async function pack(plan: BackupPlan, staging: string, file: string): Promise<void> {
  const { archiveRoot } = plan.manifest;
  const { places, originals } = await snapshots(plan.files, staging);
  const manifest = join(staging, "manifest.json");
  const nameOf = (path: string) =>
    path === manifest ? `${archiveRoot}/manifest.json` : archivePath(archiveRoot, originals.get(path) ?? path);
  const databases = [...originals.keys()].map(nameOf);
  await writeFile(manifest, `${JSON.stringify({ ...plan.manifest, databases }, null, 2)}\n`, { mode: 0o600 });
  const options = {
    gzip: true,
    mode: 0o600,
    cwd: sep,
    preservePaths: true,
    noDirRecurse: true,
    portable: true,
    linkCache: new NoLinks(),
    onWriteEntry: (entry: WriteEntry) => {
      const path = resolve(sep, entry.path);
      entry.path = nameOf(path);
      if (entry.linkpath !== undefined && isAbsolute(entry.linkpath))
        entry.linkpath = relative(dirname(path), entry.linkpath);
    },
  };
  const wanted = [...places, manifest];
  if (plan.encrypt) await writeEncrypted(file, () => readableOf(create(options, wanted)), plan.encrypt);
  else await create({ ...options, file }, wanted);
}

/** Rejects with the archive's error while it is read. One that nobody reads any more, because the disk is full, may fail too. */
function readableOf(archive: Pack): Readable {
  // Without a listener such an error would end the process.
  archive.on("error", () => undefined);
  return Readable.from(archive);
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
  try {
    // Unlike a renaming, this replaces nothing.
    await link(temporary, file);
  } catch (error) {
    if (errorCode(error) === "EEXIST") throw alreadyThere(file);
    // A file system without hard links.
    await refuseExisting(file);
    await rename(temporary, file);
  }
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
  if (output.trim() === "")
    throw new OpenClawError("USAGE", { message: "--output names no file.", fix: "Name a file or a folder." });
  const wanted = resolve(output);
  const looked = <T>(looking: Promise<T>): Promise<T> =>
    looking.catch((error: unknown) => {
      throw diskError(error, wanted);
    });
  const isFile = /\.(?:tar\.gz|tgz)(?:\.age)?$/.test(output) && !(await looked(isFolder(wanted)));
  const file = isFile ? wanted : join(wanted, name);
  // A folder that is not there yet is no link.
  const real = join((await looked(unlessMissing(realpath(dirname(file))))) ?? dirname(file), basename(file));
  const source = assets.find(({ sourcePath }) => isInside(real, sourcePath));
  if (source)
    throw new OpenClawError("BACKUP_REFUSED", {
      message: `${file} lies in ${source.sourcePath}, which is backed up itself.`,
      fix: "Name a file or folder outside: openclaw backup create --output <path>",
    });
  await mkdir(dirname(file), { recursive: true }).catch((error: unknown) => {
    throw diskError(error, file);
  });
  await refuseExisting(file);
  return file;
}

/** A link to nothing is none. Rejects with the system's error where the path may not be looked at. */
const isFolder = async (path: string): Promise<boolean> => (await unlessMissing(stat(path)))?.isDirectory() === true;

async function refuseExisting(file: string): Promise<void> {
  if (await isThere(file)) throw alreadyThere(file);
}

const alreadyThere = (file: string): OpenClawError =>
  new OpenClawError("BACKUP_REFUSED", {
    message: `${file} is there already, and is not written over.`,
    fix: "Name another file with --output.",
  });

/** The place of a file in an archive. */
const archivePath = (root: string, path: string): string =>
  `${root}/payload/posix${isAbsolute(path) ? "" : "/"}${path.split(sep).join("/")}`;

interface Found {
  readonly files: string[];
  readonly skipped: Skipped[];
  volatile: number;
  bytes: number;
}

interface WalkRules {
  readonly stateDir: string;
  readonly workspaces: { readonly all: readonly string[]; readonly isWanted: boolean };
}

async function walk(roots: readonly string[], rules: WalkRules): Promise<Found> {
  const found: Found = { files: [], skipped: [], volatile: 0, bytes: 0 };
  for (const root of roots) await visit(root, root, rules, found);
  return found;
}

async function visit(path: string, root: string, rules: WalkRules, found: Found): Promise<void> {
  const { stateDir, workspaces } = rules;
  const skip = (reason: string) => void found.skipped.push({ sourcePath: path, reason });
  const stat = await lstat(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (!stat) return path.includes("\uFFFD") ? skip("its name is not UTF-8") : undefined;
  const inState = relative(stateDir, path).split(sep).join("/");
  const isWorkspace = workspaces.all.some((one) => isInside(path, one));
  if (root === stateDir && !isWorkspace && VOLATILE.test(inState)) return void (found.volatile += 1);
  if (path !== root && !workspaces.isWanted && workspaces.all.includes(path)) return skip("workspace");
  if (stat.isSymbolicLink()) {
    const problem = await problemOfLink(path, root, rules);
    if (problem === undefined) found.files.push(path);
    else skip(problem);
  } else if (stat.isDirectory()) {
    found.files.push(path);
    for (const name of (await readdir(path)).toSorted()) await visit(join(path, name), root, rules, found);
  } else if (stat.isFile()) {
    found.files.push(path);
    found.bytes += stat.size;
  } else found.volatile += 1;
}

/** Why a link is left out: it leads out of what is saved, or would lead elsewhere after it was restored. */
async function problemOfLink(path: string, root: string, { stateDir }: WalkRules): Promise<string | undefined> {
  const target = await readlink(path);
  const leads = resolve(dirname(path), target);
  const own = ["state", "credentials"].map((name) => join(stateDir, name));
  if (!isInside(leads, root)) return `a link to ${leads}`;
  if (own.some((one) => isInside(path, one)) || path === join(stateDir, "openclaw.json"))
    return "a link in the place of the gateway's own files";
  try {
    return (await passesLink(dirname(path), target)) ? `a link through other links, to ${target}` : undefined;
  } catch (error) {
    return `a link to ${target}, whose way cannot be looked at: ${errorText(error)}`;
  }
}

/** Undefined where no such path can be. Rejects with every other error of the system. */
async function unlessNowhere<T>(looking: Promise<T>): Promise<T | undefined> {
  try {
    return await looking;
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"].includes(errorCode(error) ?? "")) return undefined;
    throw error;
  }
}

/** Whether a link goes through another one on its way, so that its dots mean other folders than they seem to. */
async function passesLink(from: string, target: string): Promise<boolean> {
  let at = isAbsolute(target) ? sep : from;
  for (const part of target.split(sep).slice(0, -1)) {
    at = join(at, part);
    // A path that does not exist, or that has a file where a directory should be, is no link.
    if ((await unlessNowhere(lstat(at)))?.isSymbolicLink() === true) return true;
  }
  return false;
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
    const isCopied = await copyDatabase(path, copy);
    if (isCopied) originals.set(copy, path);
    places.push(isCopied ? copy : path);
  }
  return { places, originals };
}

/** False for a file that only begins like a database, which is then saved as it is. */
async function copyDatabase(path: string, copy: string): Promise<boolean> {
  try {
    const db = new DatabaseSync(path, { readOnly: true });
    try {
      await rm(copy, { force: true });
      await backup(db, copy);
    } finally {
      db.close();
    }
    await chmod(copy, 0o600);
    return true;
  } catch (error) {
    if (isDiskError(fullDiskOr(error, copy))) throw error;
    return false;
  }
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
