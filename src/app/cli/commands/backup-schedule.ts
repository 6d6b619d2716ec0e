import { mkdir, rmdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { checkRecipients, newKeyPair } from "../../backup/encryption.ts";
import { nextBackupAt, readBackupRecord } from "../../backup/schedule.ts";
import { writeConfigValues } from "../../config/edit/write.ts";
import { loadOptionsFor } from "../../plugins/load-options.ts";
import { diskError } from "../../../store/disk.ts";
import { OpenClawError } from "../../../types/errors.ts";
import { expandHome } from "../../../utils/env.ts";
import { isInside, realOf } from "../../../utils/real-path.ts";
import { errorCode } from "../../../utils/missing.ts";
import { showDuration } from "../../../utils/time/duration.ts";
import { fileSizeText } from "../../../dispatch/commands/reports/chat-file.ts";
import { writeJson, type Io } from "../io.ts";
import { readState } from "../state.ts";
import type { ScheduleFlags } from "./backup.ts";

/** `backup enable`: writes `backup.*` of the config, which the running gateway follows. */
export async function backupEnable(io: Io, flags: ScheduleFlags): Promise<number> {
  const { paths, config } = await readState(io);
  const output = flags.output === undefined ? config.backup.output : resolve(flags.output);
  const folder = expandHome(output, io.env);
  await checkRecipients(flags.recipient);
  const made = await makeOutput(folder, paths.stateDir);
  const { recipient, keep, includeWorkspace } = flags;
  const values = {
    every: flags.every,
    ...(flags.output !== undefined && { output }),
    ...(keep !== undefined && { keep }),
    ...(recipient.length > 0 && { recipients: recipient }),
    ...(!includeWorkspace && { includeWorkspace }),
  };
  await change(io, values).catch(async (error: unknown) => {
    if (made !== undefined) await removeEmpty(folder, made);
    throw error;
  });
  if (flags.json === true) writeJson(io, { enabled: true, ...values, output });
  else
    io.out(
      `A backup every ${flags.every} into ${output}, as long as the gateway runs. See: openclaw backup status\n` +
        (recipient.length + config.backup.recipients.length === 0
          ? "They have keys and tokens in them and are not encrypted: make a key with openclaw backup key, and name it with --recipient.\n"
          : ""),
    );
  return 0;
}

/** `backup disable` */
export async function backupDisable(io: Io, { json }: { json?: boolean }): Promise<number> {
  await change(io, { every: "0" });
  if (json === true) writeJson(io, { enabled: false });
  else io.out("No more backups are made by the gateway itself. Those that are there stay.\n");
  return 0;
}

async function change(io: Io, values: Readonly<Record<string, unknown>>): Promise<void> {
  const { paths } = await readState(io);
  const load = await loadOptionsFor(io.contributions, paths, io.env);
  await writeConfigValues(
    load,
    Object.entries(values).map(([name, value]) => ({ path: ["backup", name], value })),
  );
}

/** Makes the folder for backups. Resolves with the first directory of its path that was missing. */
async function makeOutput(folder: string, stateDir: string): Promise<string | undefined> {
  const inside = isInside(await realOf(folder), await realOf(stateDir));
  if (!inside)
    return mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
      throw diskError(error, folder);
    });
  throw new OpenClawError("BACKUP_REFUSED", {
    message: `${folder} lies in the state directory, which is backed up itself.`,
    fix: "Name a folder outside, best on another disk: openclaw backup enable --output <dir>",
  });
}

/** Removes a folder that was just made, and those above it down to `first`. */
async function removeEmpty(folder: string, first: string): Promise<void> {
  for (let at = folder; isInside(at, first); at = dirname(at)) await rmdir(at);
}

/** `backup status` */
export async function backupStatus(io: Io, { json }: { json?: boolean }): Promise<number> {
  const { paths, config } = await readState(io);
  const record = await readBackupRecord(paths.stateDir);
  const { every, output, keep, recipients } = config.backup;
  const next = nextBackupAt(config.backup, record);
  if (json === true) {
    writeJson(io, { enabled: every > 0, everyMs: every, output, keep, recipients, nextAt: next ?? null, ...record });
    return 0;
  }
  const now = Date.now();
  const last = record?.last;
  io.out(
    [
      every === 0
        ? "The gateway makes no backups by itself: openclaw backup enable"
        : `A backup every ${showDuration(every)} into ${output}; the newest ${keep} stay${recipients.length > 0 ? ", encrypted" : ""}.`,
      last
        ? `Last: ${last.file} (${fileSizeText(last.bytes)}), ${showDuration(now - last.at)} ago.`
        : "None was made yet.",
      ...(record?.error === undefined
        ? []
        : [`The last try, ${showDuration(now - record.triedAt)} ago, failed: ${record.error}`]),
      ...(next === undefined
        ? []
        : [next <= now ? "Next: now, if the gateway runs." : `Next: in ${showDuration(next - now)}.`]),
      "",
    ].join("\n"),
  );
  return 0;
}

/** `backup key` */
export async function backupKey(io: Io, { output, json }: { output: string; json?: boolean }): Promise<number> {
  const file = resolve(output);
  const { secret, recipient } = await newKeyPair();
  const text = `# public key: ${recipient}\n${secret}\n`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text, { mode: 0o600, flag: "wx" }).catch((error: unknown) => {
    if (errorCode(error) !== "EEXIST") throw diskError(error, file);
    throw new OpenClawError("USAGE", {
      message: `${file} is there already, and a key is not written over.`,
      fix: "Name another file with --output.",
    });
  });
  if (json === true) writeJson(io, { file, recipient });
  else
    io.out(
      `${recipient}\nThe secret key is in ${file}. Keep it away from this machine: who has it reads the backups, and without it nobody does.\n` +
        `Next: openclaw backup enable --recipient ${recipient}\n`,
    );
  return 0;
}
