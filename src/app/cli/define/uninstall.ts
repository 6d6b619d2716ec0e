import { Option, type Command } from "commander";
import type { RemovalScope, Removing, UninstallPart } from "../commands/uninstall.ts";
import { OpenClawError } from "../../../types/errors.ts";
import type { Act } from "./act.ts";

const commands = () => import("../commands/uninstall.ts");

type Flags = Readonly<Partial<Record<UninstallPart | "all" | "yes" | "nonInteractive" | "dryRun" | "json", boolean>>>;

/** `uninstall` */
export function defineUninstall(program: Command, act: Act): void {
  withModes(
    program
      .command("uninstall")
      .description("remove the service, the state directory or the workspaces")
      .option("--service", "the service of the gateway")
      .option("--state", "the state directory and the config; workspaces stay")
      .option("--workspace", "the workspaces of all agents")
      .addOption(new Option("--app", "what Node has compiled of the program").hideHelp())
      .option("--all", "all of these, and what Node has compiled of the program"),
  ).action(
    act(async (io, flags: Flags) => {
      const { uninstall, PARTS } = await commands();
      const parts = PARTS.filter((part) => flags[part] === true || flags.all === true);
      return uninstall(io, parts, howOf(flags));
    }),
  );
}

/** `reset` */
export function defineReset(program: Command, act: Act): void {
  withModes(
    program
      .command("reset")
      .description("begin anew: remove the config, also conversations and credentials, or everything")
      .addOption(new Option("--scope <scope>", "what goes").choices(["config", "config+creds+sessions", "full"])),
  ).action(
    act(async (io, flags: Flags & { scope?: RemovalScope }) => {
      const { reset } = await commands();
      return reset(io, flags.scope, howOf(flags));
    }),
  );
}

const withModes = (command: Command): Command =>
  command
    .option("--dry-run", "show what would go, and remove nothing")
    .option("--yes", "do not ask")
    .option("--non-interactive", "never ask; needs --yes")
    .option("--json", "for scripts");

function howOf({ dryRun, yes, nonInteractive, json = false }: Flags): Removing {
  if (dryRun === true) return { mode: "show", json };
  if (yes === true) return { mode: "do", json };
  if (nonInteractive !== true) return { mode: "ask", json };
  throw new OpenClawError("USAGE", {
    message: "--non-interactive needs --yes, because nothing is removed without one.",
    fix: "Add --yes, or --dry-run to see what would go.",
  });
}
