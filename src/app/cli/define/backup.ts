import type { Command } from "commander";
import type { BackupFlags, ScheduleFlags, UnlockFlags } from "../commands/backup.ts";
import type { Act } from "./act.ts";

/** `backup …` */
export function defineBackup(program: Command, act: Act): void {
  const backup = program.command("backup").description("copies of the state directory in one file");
  backup
    .command("create")
    .description("write a backup, also while the gateway runs")
    .option("--output <path>", "a folder, or the file to write", ".")
    .option("--verify", "read it again and check it")
    .option("--dry-run", "show what it would have in it")
    .option("--no-include-workspace", "leave the workspaces of agents out")
    .option("--only-config", "only the files of the config")
    .option("--recipient <key>", "encrypt it for a public key of age (age1…); several times for several", several, [])
    .option("--encrypt", "encrypt it with a passphrase, which is asked for or in OPENCLAW_BACKUP_PASSPHRASE")
    .option("--json", "for scripts")
    .action(act(async (io, flags: BackupFlags) => (await import("../commands/backup.ts")).backupCreate(io, flags)));
  backup
    .command("verify")
    .argument("<file>", "the backup")
    .description("read a whole backup and check it")
    .option("--identity <file>", "the secret key of an encrypted backup")
    .option("--json", "for scripts")
    .action(
      act(async (io, file: string, flags: UnlockFlags) =>
        (await import("../commands/backup.ts")).backupVerify(io, file, flags),
      ),
    );
  backup
    .command("restore")
    .argument("<file>", "the backup")
    .description("make a new state directory out of a backup; its channels and jobs stay off until it is adopted")
    .requiredOption("--target <dir>", "a directory that is empty or not there")
    .option("--identity <file>", "the secret key of an encrypted backup")
    .option("--json", "for scripts")
    .action(
      act(async (io, file: string, flags: UnlockFlags & { target: string }) =>
        (await import("../commands/backup.ts")).backupRestore(io, file, flags),
      ),
    );
  defineSchedule(backup, act);
}

const several = (value: string, before: string[]): string[] => [...before, value];

/** Backups that the gateway makes by itself, and keys for them. */
function defineSchedule(backup: Command, act: Act): void {
  backup
    .command("enable")
    .description("let the running gateway make backups by itself")
    .option("--every <duration>", "time between two backups: from 1h to 30d", "24h")
    .option("--output <dir>", "the folder for them, outside of the state directory")
    .option("--keep <count>", "backups that stay; the oldest are removed", Number)
    .option("--recipient <key>", "encrypt them for a public key of age (age1…); several times for several", several, [])
    .option("--no-include-workspace", "leave the workspaces of agents out")
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: ScheduleFlags) => (await import("../commands/backup-schedule.ts")).backupEnable(io, flags)),
    );
  backup
    .command("disable")
    .description("make no more backups by itself; those that are there stay")
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: { json?: boolean }) =>
        (await import("../commands/backup-schedule.ts")).backupDisable(io, flags),
      ),
    );
  backup
    .command("status")
    .description("when the last backup was made, and when the next one is due")
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: { json?: boolean }) =>
        (await import("../commands/backup-schedule.ts")).backupStatus(io, flags),
      ),
    );
  backup
    .command("key")
    .description("make a pair of keys for encrypted backups")
    .requiredOption("--output <file>", "the file for the secret key; keep it away from this machine")
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: { output: string; json?: boolean }) =>
        (await import("../commands/backup-schedule.ts")).backupKey(io, flags),
      ),
    );
}
