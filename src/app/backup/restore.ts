import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, mkdtemp, readdir, rename, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { extract, type ReadEntry } from "tar";
import { changeInstance } from "../../store/lock/instance.ts";
import { diskError, syncDir } from "../../store/disk.ts";
import { endWaiting, type EndedHere } from "../../store/journal/restored.ts";
import { OpenClawError } from "../../types/errors.ts";
import { errorCode, unlessMissing } from "../../utils/missing.ts";
import { isInside } from "../../utils/real-path.ts";
import { type BackupManifest, cleanPath, MOST_RATIO, verifyBackup } from "./archive.ts";
import { type Keys, withArchive } from "./encryption.ts";
import { removeLeft } from "./leftovers.ts";

export interface Restored {
  readonly target: string;
  readonly manifest: BackupManifest;
  /** Where the parts are that were outside of the state directory. */
  readonly outside: readonly { readonly sourcePath: string; readonly path: string }[];
  readonly ended: EndedHere | undefined;
  /** Logins that a second gateway must not use, and where they are now. */
  readonly setAside: readonly string[];
}

/** Folder of a restored directory with the parts that had other places. */
const OUTSIDE = "restored";

/**
 * Makes a state directory out of a backup. What waited in it is ended, its channels and jobs stay off until a person adopts it,
 * and it has an id of its own: the original may still run, and must not be answered twice. Throws BACKUP_UNSOUND, and
 * BACKUP_REFUSED for a directory with something in it; then nothing is changed.
 */
export async function restoreBackup(file: string, wanted: string, { now, keys }: RestoreOptions): Promise<Restored> {
  const target = resolve(wanted);
  await refuseUsed(target);
  return withArchive(file, keys, async (archive) => {
    const { manifest } = await verifyBackup(archive, file);
    return restoreArchive(archive, manifest, { target, now });
  });
}

export interface RestoreOptions {
  /** Epoch milliseconds. */
  readonly now: number;
  /** What opens the backup if it is encrypted. */
  readonly keys: Keys;
}

async function restoreArchive(
  file: string,
  manifest: BackupManifest,
  { target, now }: { readonly target: string; readonly now: number },
): Promise<Restored> {
  await mkdir(dirname(target), { recursive: true });
  await removeLeft(dirname(target), `.${basename(target)}-restoring-`);
  const staging = await mkdtemp(join(dirname(target), `.${basename(target)}-restoring-${process.pid}-`));
  try {
    const outside = await unpack(file, manifest, staging);
    const journal = join(staging, "state", "journal.sqlite");
    const ended = existsSync(journal) ? endWaiting(journal, now) : undefined;
    const setAside = await setLoginsAside(staging, now);
    await changeInstance(staging, { id: crypto.randomUUID(), isAdopted: false, origin: "backup" });
    await chmod(staging, 0o700);
    await takePlace(staging, target);
    await syncDir(dirname(target));
    return {
      target,
      manifest,
      outside: outside.map((one) => ({ ...one, path: join(target, one.path) })),
      ended,
      setAside,
    };
  } catch (error) {
    // The error below is the reason to tell; the next restore removes what is left.
    await rm(staging, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }).catch(() => undefined);
    throw error instanceof OpenClawError ? error : diskError(error, target);
  }
}

async function refuseUsed(target: string): Promise<void> {
  const stat = await unlessMissing(lstat(target));
  if (stat === undefined || (stat.isDirectory() && (await readdir(target)).length === 0)) return;
  if (stat.isDirectory()) throw used(target);
  throw new OpenClawError("BACKUP_REFUSED", {
    message: `${target} is a ${stat.isSymbolicLink() ? "link" : "file"}: a backup is restored into a directory of its own.`,
    fix: `${stat.isSymbolicLink() ? "Name the directory that it leads to, or a new one" : "Name a directory"}: openclaw backup restore <file> --target <dir>`,
  });
}

const used = (target: string, cause?: unknown): OpenClawError =>
  new OpenClawError("BACKUP_REFUSED", {
    message: `${target} is not empty: a backup is restored into a directory of its own.`,
    fix: "Name a new one: openclaw backup restore <file> --target <dir>",
    cause,
  });

/** Something may have come into the target meanwhile, which stays. */
async function takePlace(staging: string, target: string): Promise<void> {
  try {
    await unlessMissing(rmdir(target));
    await rename(staging, target);
  } catch (error) {
    throw ["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(errorCode(error) ?? "") ? used(target, error) : error;
  }
}

/** The state directory's part lies in the target itself, every other one in a folder of it. */
async function unpack(file: string, manifest: BackupManifest, into: string) {
  const outside: { sourcePath: string; path: string }[] = [];
  for (const [at, { kind, sourcePath, archivePath }] of manifest.assets.entries()) {
    const isState = kind === "state";
    const isConfig = sourcePath === manifest.paths.configPath;
    const path = isConfig ? "openclaw.json" : join(OUTSIDE, String(at), basename(sourcePath));
    const cwd = isState ? into : join(into, dirname(path));
    await mkdir(cwd, { recursive: true, mode: 0o700 });
    const base = cleanPath(archivePath);
    const strip = base.split("/").length - (isState ? 0 : 1);
    const isPart = (entry: string) => entry.replace(/\/$/, "") === base || entry.startsWith(`${base}/`);
    const onReadEntry = (entry: ReadEntry) => void (entry.mode = (entry.mode ?? 0o600) & 0o777);
    const how = { strict: true, preserveOwner: false, maxDecompressionRatio: MOST_RATIO } as const;
    await extract({ file, cwd, strip, filter: isPart, onReadEntry, ...how });
    if (isConfig && basename(sourcePath) !== "openclaw.json")
      await rename(join(cwd, basename(sourcePath)), join(into, path));
    if (!isState && !isInside(sourcePath, manifest.paths.stateDir)) outside.push({ sourcePath, path });
  }
  return outside;
}

/** An old ratchet of WhatsApp damages the login of the original: the restored gateway is linked anew. */
async function setLoginsAside(dir: string, now: number): Promise<readonly string[]> {
  const whatsapp = join("credentials", "whatsapp");
  if (!existsSync(join(dir, whatsapp))) return [];
  const aside = `${whatsapp}.restored-${new Date(now).toISOString().replaceAll(":", "-")}`;
  await rename(join(dir, whatsapp), join(dir, aside));
  return [aside];
}
