import { homedir } from "node:os";
import { resolve } from "node:path";
import { verifyBackup, type VerifiedBackup } from "../../backup/archive.ts";
import { planBackup, writeBackup, type BackupPlan } from "../../backup/create.ts";
import {
  checkRecipients,
  type EncryptFor,
  isEncrypted,
  type Keys,
  newKeyPair,
  withArchive,
} from "../../backup/encryption.ts";
import { restoreBackup } from "../../backup/restore.ts";
import { readConfigSource } from "../../config/source.ts";
import { resolvePaths } from "../../config/paths.ts";
import { resolveAgents } from "../../config/settings.ts";
import { packageVersion } from "../../package-root.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { OpenClawError } from "../../../types/errors.ts";
import { askHidden, canAsk } from "../ask.ts";
import { writeJson, type Io } from "../io.ts";
import { withProgress } from "../progress.ts";
import { readState } from "../state.ts";
import { fileSizeText } from "../../../dispatch/commands/reports/chat-file.ts";

export interface BackupFlags extends EncryptFlags {
  readonly output?: string;
  readonly verify?: boolean;
  readonly dryRun?: boolean;
  readonly includeWorkspace: boolean;
  readonly onlyConfig?: boolean;
  readonly json?: boolean;
}

interface EncryptFlags {
  readonly recipient: readonly string[];
  /** With a passphrase. */
  readonly encrypt?: boolean;
}

export interface UnlockFlags {
  readonly identity?: string;
  readonly json?: boolean;
}

export interface ScheduleFlags {
  readonly every: string;
  readonly output?: string;
  readonly keep?: number;
  readonly recipient: readonly string[];
  readonly includeWorkspace: boolean;
  readonly json?: boolean;
}

/** `backup create`: also while the gateway runs. */
export async function backupCreate(io: Io, flags: BackupFlags): Promise<number> {
  const locking = await lockingFor(flags, io);
  const plan = await planHere(io, flags, locking?.to);
  const { file, manifest } = plan;
  const facts = {
    archivePath: file,
    archiveRoot: manifest.archiveRoot,
    createdAt: manifest.createdAt,
    dryRun: flags.dryRun === true,
    ...manifest.options,
    assets: manifest.assets,
    skipped: manifest.skipped,
    skippedVolatileCount: plan.volatile,
    files: plan.files.length,
  };
  if (flags.dryRun === true) {
    if (flags.json === true) writeJson(io, { ...facts, verified: false });
    else io.out(`Would write ${file}:\n${linesOf(plan)}`);
    return 0;
  }
  const { bytes } = await withProgress(io, "Writing the backup", writeBackup(plan));
  const checked =
    flags.verify === true ? await withProgress(io, "Reading it again", verified(file, locking?.keys ?? {})) : undefined;
  if (flags.json === true) writeJson(io, { ...facts, bytes, verified: checked !== undefined });
  else {
    const sound = checked ? ` ${soundLine(checked)}` : "";
    io.out(`Wrote ${file} (${fileSizeText(bytes)}).${sound}\n${linesOf(plan)}${plan.encrypt ? KEEP_KEY : KEEP_FILE}\n`);
  }
  return 0;
}

const KEEP_FILE = "It has keys and tokens in it: keep it as you keep them.";
const KEEP_KEY = "It is encrypted: without its key nobody can read it.";

/** What opens the backup that is written, to check it. For keys that are elsewhere it gets one more, which ends with the process. */
interface Locking {
  readonly to: EncryptFor;
  readonly keys: Keys;
}

async function lockingFor(flags: BackupFlags, io: Io): Promise<Locking | undefined> {
  await checkRecipients(flags.recipient);
  const to = flags.dryRun === true ? undefined : await encryptFor(flags, io);
  if (!to || "passphrase" in to) return to && { to, keys: to };
  if (flags.verify !== true) return { to, keys: {} };
  const { secret, recipient } = await newKeyPair();
  return { to: { recipients: [...to.recipients, recipient] }, keys: { secret } };
}

/** For whom the backup is encrypted; undefined for nobody. Throws USAGE. */
async function encryptFor({ recipient, encrypt }: EncryptFlags, io: Io): Promise<EncryptFor | undefined> {
  if (recipient.length > 0 && encrypt === true)
    throw new OpenClawError("USAGE", {
      message: "A backup is encrypted either for --recipient, or with a passphrase (--encrypt).",
      fix: "Leave out one of them.",
    });
  if (recipient.length > 0) return { recipients: recipient };
  return encrypt === true ? { passphrase: await newPassphrase(io) } : undefined;
}

const PASSPHRASE = "OPENCLAW_BACKUP_PASSPHRASE";

async function newPassphrase(io: Io): Promise<string> {
  const given = io.env[PASSPHRASE];
  if (given !== undefined && given !== "") return given;
  if (!canAsk(io))
    throw new OpenClawError("USAGE", {
      message: "There is no passphrase, and nobody to ask for one.",
      fix: `Put it into ${PASSPHRASE}, or encrypt for a key: --recipient age1…`,
    });
  const first = await askHidden("Passphrase of the backup: ");
  if (first.length >= LEAST_CHARS && first === (await askHidden("The same again: "))) return first;
  throw new OpenClawError("USAGE", {
    message: first.length < LEAST_CHARS ? `It has less than ${LEAST_CHARS} characters.` : "They differ.",
    fix: "Try again. Nothing was written.",
  });
}

const LEAST_CHARS = 12;

/** What opens a backup; a person is asked for the passphrase of one that was encrypted with it. */
async function keysFor(io: Io, { identity }: UnlockFlags, file: string): Promise<Keys> {
  const passphrase = io.env[PASSPHRASE];
  if (identity !== undefined || passphrase !== undefined)
    return { identities: identity === undefined ? undefined : resolve(identity), passphrase };
  const isLocked = await isEncrypted(file).catch(() => false);
  return isLocked && canAsk(io) ? { passphrase: await askHidden("Passphrase of the backup: ") } : {};
}

async function planHere(io: Io, flags: BackupFlags, encrypt: EncryptFor | undefined): Promise<BackupPlan> {
  const { output = ".", includeWorkspace, onlyConfig = false } = flags;
  const paths = resolvePaths(io.env);
  const { config } = await readState(io);
  const home = io.env["HOME"] ?? homedir();
  const agents = resolveAgents(config, { home, stateDir: paths.stateDir });
  // A config that cannot be read is backed up as the file that it is.
  const source = await readConfigSource({ path: paths.configPath, env: io.env }).catch((error: unknown) => {
    io.err(
      `The config cannot be read, so files that it includes and workspaces that it names elsewhere are not in the backup: ${errorText(error)}\n`,
    );
    return undefined;
  });
  return planBackup(
    {
      paths,
      includes: [...(source?.files.keys() ?? [])].filter((file) => file !== paths.configPath),
      workspaces: agents.map(({ workspace }) => workspace),
    },
    {
      output,
      includeWorkspace,
      onlyConfig,
      encrypt,
      version: packageVersion(),
      now: new Date(),
    },
  );
}

const linesOf = ({ files, bytes, volatile, manifest }: BackupPlan): string =>
  [
    `  ${files.length} ${files.length === 1 ? "file" : "files"}, ${fileSizeText(bytes)}: ${manifest.assets.map(({ sourcePath }) => sourcePath).join(", ")}`,
    ...manifest.skipped.map(({ sourcePath, reason }) => `  left out: ${sourcePath} (${reason})`),
    ...(volatile > 0 ? [`  left out: ${volatile} logs, locks and other files of running programs`] : []),
    "",
  ].join("\n");

const soundLine = ({ entries, databases }: VerifiedBackup): string =>
  `It is sound: ${entries} entries, ${databases.length} ${databases.length === 1 ? "database" : "databases"}.`;

const verified = (file: string, keys: Keys): Promise<VerifiedBackup> =>
  withArchive(file, keys, (archive) => verifyBackup(archive, file));

/** `backup verify` */
export async function backupVerify(io: Io, file: string, flags: UnlockFlags): Promise<number> {
  const { json } = flags;
  const keys = await keysFor(io, flags, file);
  const found = await withProgress(io, "Reading the backup", verified(resolve(file), keys));
  const { manifest, entries, databases, bytes } = found;
  if (json === true)
    writeJson(io, {
      ok: true,
      archivePath: resolve(file),
      archiveRoot: manifest.archiveRoot,
      createdAt: manifest.createdAt,
      runtimeVersion: manifest.runtimeVersion,
      assetCount: manifest.assets.length,
      entryCount: entries,
      databaseCount: databases.length,
      bytes,
    });
  else io.out(`${resolve(file)}, made ${manifest.createdAt} by ${manifest.runtimeVersion}. ${soundLine(found)}\n`);
  return 0;
}

/** `backup restore`: into a new directory, never in place. */
export async function backupRestore(io: Io, file: string, flags: UnlockFlags & { target: string }): Promise<number> {
  const options = { now: Date.now(), keys: await keysFor(io, flags, file) };
  const restored = await withProgress(io, "Restoring", restoreBackup(resolve(file), flags.target, options));
  const { target, manifest, outside, ended, setAside } = restored;
  if (flags.json === true) {
    writeJson(io, { target, createdAt: manifest.createdAt, outside, ended: ended ?? null, setAside });
    return 0;
  }
  const waited = ended && ended.messages + ended.sends > 0;
  const hasState = manifest.assets.some(({ kind }) => kind === "state");
  io.out(
    [
      `Restored into ${target}: ${hasState ? "the state" : "the config"} of ${manifest.createdAt}.`,
      ...(hasState ? [] : ["  The backup has no state: conversations, jobs, people and stored keys begin anew."]),
      ...outside.map(({ sourcePath, path }) => `  ${sourcePath} is now ${path}`),
      ...(waited
        ? [
            `  ${ended.messages} messages that waited were ended, and ${ended.sends} answers are not sent: the original may have done it. See openclaw inbox list --all.`,
          ]
        : []),
      ...setAside.map((path) => `  ${path} is kept, and not used: link WhatsApp anew.`),
      "Channels and jobs are off in it. When the original is stopped for good:",
      `  OPENCLAW_STATE_DIR=${target} openclaw onboard --adopt`,
      `  OPENCLAW_STATE_DIR=${target} openclaw gateway run`,
      "",
    ].join("\n"),
  );
  return 0;
}
