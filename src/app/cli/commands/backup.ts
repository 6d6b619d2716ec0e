import { homedir } from "node:os";
import { resolve } from "node:path";
import { verifyBackup, type VerifiedBackup } from "../../backup/archive.ts";
import { planBackup, writeBackup, type BackupPlan } from "../../backup/create.ts";
import { restoreBackup } from "../../backup/restore.ts";
import { readConfigSource } from "../../config/source.ts";
import { resolvePaths } from "../../config/paths.ts";
import { resolveAgents } from "../../config/settings.ts";
import { packageVersion } from "../../package-root.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { writeJson, type Io } from "../io.ts";
import { withProgress } from "../progress.ts";
import { readState } from "../state.ts";
import { fileSizeText } from "../../../dispatch/commands/reports/chat-file.ts";

export interface BackupFlags {
  readonly output?: string;
  readonly verify?: boolean;
  readonly dryRun?: boolean;
  readonly includeWorkspace: boolean;
  readonly onlyConfig?: boolean;
  readonly json?: boolean;
}

/** `backup create`: also while the gateway runs. */
export async function backupCreate(io: Io, flags: BackupFlags): Promise<number> {
  const plan = await planHere(io, flags);
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
  const verified = flags.verify === true ? await withProgress(io, "Reading it again", verifyBackup(file)) : undefined;
  if (flags.json === true) writeJson(io, { ...facts, bytes, verified: verified !== undefined });
  else {
    const checked = verified ? ` ${soundLine(verified)}` : "";
    io.out(
      `Wrote ${file} (${fileSizeText(bytes)}).${checked}\n${linesOf(plan)}It has keys and tokens in it: keep it as you keep them.\n`,
    );
  }
  return 0;
}

async function planHere(
  io: Io,
  { output = ".", includeWorkspace, onlyConfig = false }: BackupFlags,
): Promise<BackupPlan> {
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
    { output, includeWorkspace, onlyConfig, version: packageVersion(), now: new Date() },
  );
}

const linesOf = ({ files, bytes, volatile, manifest }: BackupPlan): string =>
  [
    `  ${files.length} files, ${fileSizeText(bytes)}: ${manifest.assets.map(({ sourcePath }) => sourcePath).join(", ")}`,
    ...manifest.skipped.map(({ sourcePath, reason }) => `  left out: ${sourcePath} (${reason})`),
    ...(volatile > 0 ? [`  left out: ${volatile} logs, locks and other files of running programs`] : []),
    "",
  ].join("\n");

const soundLine = ({ entries, databases }: VerifiedBackup): string =>
  `It is sound: ${entries} entries, ${databases.length} ${databases.length === 1 ? "database" : "databases"}.`;

/** `backup verify` */
export async function backupVerify(io: Io, file: string, { json }: { json?: boolean }): Promise<number> {
  const verified = await withProgress(io, "Reading the backup", verifyBackup(resolve(file)));
  const { manifest, entries, databases, bytes } = verified;
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
  else io.out(`${resolve(file)}, made ${manifest.createdAt} by ${manifest.runtimeVersion}. ${soundLine(verified)}\n`);
  return 0;
}

/** `backup restore`: into a new directory, never in place. */
export async function backupRestore(io: Io, file: string, flags: { target: string; json?: boolean }): Promise<number> {
  const restored = await withProgress(io, "Restoring", restoreBackup(resolve(file), flags.target, Date.now()));
  const { target, manifest, outside, ended, setAside } = restored;
  if (flags.json === true) {
    writeJson(io, { target, createdAt: manifest.createdAt, outside, ended: ended ?? null, setAside });
    return 0;
  }
  const waited = ended && ended.messages + ended.sends > 0;
  io.out(
    [
      `Restored into ${target}: the state of ${manifest.createdAt}.`,
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
