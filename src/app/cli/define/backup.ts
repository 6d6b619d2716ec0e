import type { Command } from "commander";
import type { BackupFlags } from "../commands/backup.ts";
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
    .option("--json", "for scripts")
    .action(act(async (io, flags: BackupFlags) => (await import("../commands/backup.ts")).backupCreate(io, flags)));
  backup
    .command("verify")
    .argument("<file>", "the backup")
    .description("read a whole backup and check it")
    .option("--json", "for scripts")
    .action(
      act(async (io, file: string, flags: { json?: boolean }) =>
        (await import("../commands/backup.ts")).backupVerify(io, file, flags),
      ),
    );
  backup
    .command("restore")
    .argument("<file>", "the backup")
    .description("make a new state directory out of a backup; its channels and jobs stay off until it is adopted")
    .requiredOption("--target <dir>", "a directory that is empty or not there")
    .option("--json", "for scripts")
    .action(
      act(async (io, file: string, flags: { target: string; json?: boolean }) =>
        (await import("../commands/backup.ts")).backupRestore(io, file, flags),
      ),
    );
}
