import type { Command } from "commander";
import type { VersionUpdateFlags, VersionUpdateRunFlags } from "../commands/update.ts";
import { wholeNumber, type Act } from "./act.ts";

const commands = () => import("../commands/update.ts");

interface Json {
  readonly json?: boolean;
}

/** Seconds that an update may take. */
const TIMEOUT_SECONDS = 1800;

/** `update …` */
export function defineUpdate(program: Command, act: Act): void {
  const update = program
    .command("update")
    .description("fetch another version, try it on a copy of the state, and let the gateway run it");
  const withFlags = (command: Command) =>
    command
      .option("--no-restart", "the running gateway goes on with its version until it is started again")
      .option("--one-way", "go on although the present version could not take the state back")
      .option("--timeout <seconds>", "how long it may take", wholeNumber(1, 86_400), TIMEOUT_SECONDS)
      .option("--json", "for scripts");
  withFlags(
    update
      .command("run", { isDefault: true })
      .description("update the gateway (the default)")
      .option("--tag <version>", "version, tag of the registry, or path of a .tgz", "latest")
      .option("--dry-run", "look which version it would be, and change nothing"),
  ).action(act(async (io, flags: VersionUpdateRunFlags) => (await commands()).updateRun(io, flags)));
  withFlags(update.command("back").description("return to the version before")).action(
    act(async (io, flags: VersionUpdateFlags) => (await commands()).updateBackwards(io, flags)),
  );
  update
    .command("status")
    .description("show the version, the one before, and the last updates")
    .option("--json", "for scripts")
    .action(act(async (io, flags: Json) => (await commands()).updateStatus(io, flags)));
  update
    .command("cleanup")
    .description("settle an update that was interrupted, and remove versions that nothing uses")
    .option("--json", "for scripts")
    .action(act(async (io, flags: Json) => (await commands()).updateCleanup(io, flags)));
}
