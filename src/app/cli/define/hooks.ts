import type { Command } from "commander";
import type { HookInstallFlags } from "../commands/hooks/hooks-install.ts";
import type { HookListFlags } from "../commands/hooks/hooks-list.ts";
import type { Act } from "./act.ts";

interface Json {
  readonly json?: boolean;
}

/** `hooks …` */
export function defineHooks(program: Command, act: Act): void {
  const hooks = program.command("hooks").description("code that is called when something happens in the gateway");
  defineLooks(hooks, act);
  defineSwitches(hooks, act);
  defineInstalls(hooks, act);
}

function defineLooks(hooks: Command, act: Act): void {
  hooks
    .command("list", { isDefault: true })
    .description("list hooks, and why one is not called (the default)")
    .option("--eligible", "only those that can be used on this machine")
    .option("-v, --verbose", "with their folders")
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: HookListFlags) => (await import("../commands/hooks/hooks-list.ts")).hooksList(io, flags)),
    );
  hooks
    .command("info")
    .argument("<name>", "hook")
    .description("show all that is known of a hook without running it")
    .option("--json", "for scripts")
    .action(
      act(async (io, name: string, flags: Json) =>
        (await import("../commands/hooks/hooks-list.ts")).hooksInfo(io, name, flags),
      ),
    );
  hooks
    .command("check")
    .description("report what keeps hooks from being called")
    .option("--json", "for scripts")
    .action(act(async (io, flags: Json) => (await import("../commands/hooks/hooks-list.ts")).checkHooks(io, flags)));
}

function defineSwitches(hooks: Command, act: Act): void {
  hooks
    .command("enable")
    .argument("<name>", "hook")
    .description("enable a hook in the config; of a hook in a workspace, this approves its files")
    .option("--json", "for scripts")
    .action(
      act(async (io, name: string, flags: Json) =>
        (await import("../commands/hooks/hooks-switch.ts")).hooksEnable(io, name, flags),
      ),
    );
  hooks
    .command("disable")
    .argument("<name>", "hook")
    .description("disable a hook in the config")
    .option("--json", "for scripts")
    .action(
      act(async (io, name: string, flags: Json) =>
        (await import("../commands/hooks/hooks-switch.ts")).hooksDisable(io, name, flags),
      ),
    );
}

function defineInstalls(hooks: Command, act: Act): void {
  consentOptions(
    hooks
      .command("install")
      .argument("<source>", "folder, .zip, .tgz, npm:<name>[@version], npm-pack:<file.tgz>, git:<address>[#ref]")
      .description("show what hooks there are, then install and enable them")
      .option("-l, --link", "use a folder of hooks where it is, without a copy"),
  ).action(
    act(async (io, source: string, flags: HookInstallFlags) =>
      (await import("../commands/hooks/hooks-install.ts")).hooksInstall(io, source, flags),
    ),
  );
  consentOptions(
    hooks
      .command("update")
      .argument("<id>", "what was installed")
      .description("install the newest version from where hooks came from"),
  ).action(
    act(async (io, id: string, flags: HookInstallFlags) =>
      (await import("../commands/hooks/hooks-install.ts")).hooksUpdate(io, id, flags),
    ),
  );
}

const consentOptions = (command: Command): Command =>
  command
    .option("--accept-capabilities", "do not ask")
    .option("--yes", "do not ask")
    .option("--force", "do not ask, and replace installed hooks")
    .option("--json", "for scripts");
