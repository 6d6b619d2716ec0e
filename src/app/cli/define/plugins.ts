import type { Command } from "commander";
import type { InspectFlags } from "../commands/plugins/plugins-inspect.ts";
import type { PluginInstallFlags } from "../commands/plugins/plugins-install.ts";
import type { PluginListFlags } from "../commands/plugins/plugins-list.ts";
import type { UninstallFlags } from "../commands/plugins/plugins-uninstall.ts";
import type { UpdateFlags } from "../commands/plugins/plugins-update.ts";
import { unasked, type Act } from "./act.ts";
import { OpenClawError } from "../../../types/errors.ts";

interface Json {
  readonly json?: boolean;
}

/** `plugins …` */
export function definePlugins(program: Command, act: Act): void {
  const plugins = program.command("plugins").description("code of others that the gateway loads");
  defineInstall(plugins, act);
  defineLooks(plugins, act);
  defineSwitches(plugins, act);
  defineChanges(plugins, act);
  defineRefused(plugins, act);
}

function defineInstall(plugins: Command, act: Act): void {
  plugins
    .command("install")
    .argument("<source>", "folder, .zip, .tgz, npm:<name>[@version], npm-pack:<file.tgz>, git:<address>[#ref]")
    .description("show what a plugin is, then install and enable it")
    .option("-l, --link", "use a folder where it is, without a copy")
    .option("--pin", "record the exact version, so that no update changes it")
    .option("--accept-capabilities", "do not ask")
    .option("--yes", "do not ask")
    .option("--force", "do not ask, and replace an installed plugin")
    .option("--allow-scripts", "run the install scripts of the plugin and its dependencies")
    .option("--marketplace <source>", "refused: this gateway uses no marketplace")
    .option("--dangerously-force-unsafe-install", "without effect")
    .option("--acknowledge-install-policy-warning", "install although security.installPolicy warns")
    .option("--json", "for scripts")
    .action(
      act(async (io, source: string, options: PluginInstallFlags) =>
        (await import("../commands/plugins/plugins-install.ts")).pluginsInstall(io, source, options),
      ),
    );
}

function defineLooks(plugins: Command, act: Act): void {
  plugins
    .command("list", { isDefault: true })
    .description("list plugins, and why one is not loaded (the default)")
    .option("--enabled", "only those that are loaded")
    .option("--verbose", "with sources and folders")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: PluginListFlags) =>
        (await import("../commands/plugins/plugins-list.ts")).pluginsList(io, options),
      ),
    );
  plugins
    .command("inspect")
    .alias("info")
    .argument("[id]", "plugin")
    .description("show all that is known of a plugin without running it")
    .option("--all", "all plugins")
    .option("--runtime", "show it as the running gateway has it: what it added, and what its calls cost")
    .option("--json", "for scripts")
    .action(
      act(async (io, id: string | undefined, options: InspectFlags & { runtime?: boolean }) =>
        options.runtime === true
          ? (await import("../commands/plugins/plugins-runtime.ts")).pluginsRuntime(io, id, options)
          : (await import("../commands/plugins/plugins-inspect.ts")).pluginsInspect(io, id, options),
      ),
    );
  plugins
    .command("doctor")
    .description("report what keeps plugins from working, and repair an interrupted installation")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: Json) =>
        (await import("../commands/plugins/plugins-doctor.ts")).pluginsDoctor(io, options),
      ),
    );
}

function defineSwitches(plugins: Command, act: Act): void {
  plugins
    .command("enable")
    .argument("<id>", "plugin")
    .description("enable a plugin in the config, and select it for its slot")
    .option("--json", "for scripts")
    .action(
      act(async (io, id: string, options: Json) =>
        (await import("../commands/plugins/plugins-switch.ts")).pluginsEnable(io, id, options),
      ),
    );
  plugins
    .command("disable")
    .argument("<id>", "plugin")
    .description("disable a plugin in the config, and reset its slot")
    .option("--json", "for scripts")
    .action(
      act(async (io, id: string, options: Json) =>
        (await import("../commands/plugins/plugins-switch.ts")).pluginsDisable(io, id, options),
      ),
    );
}

function defineChanges(plugins: Command, act: Act): void {
  unasked(plugins.command("uninstall"))
    .argument("<id>", "plugin")
    .description("remove a plugin with its files and settings")
    .option("--keep-files", "leave its folder")
    .option("--keep-config", "leave its settings")
    .option("--dry-run", "only show what would be removed")
    .option("--json", "for scripts")
    .action(
      act(async (io, id: string, options: UninstallFlags) =>
        (await import("../commands/plugins/plugins-uninstall.ts")).pluginsUninstall(io, id, options),
      ),
    );
  plugins
    .command("update")
    .argument("[id]", "plugin")
    .description("install the newest version from where a plugin came from")
    .option("--all", "all installed plugins")
    .option("--dry-run", "only show what would be updated")
    .option("--accept-capabilities", "do not ask")
    .option("--yes", "do not ask")
    .option("--force", "do not ask")
    .option("--allow-scripts", "run the install scripts of the plugin and its dependencies")
    .option("--json", "for scripts")
    .action(
      act(async (io, id: string | undefined, options: UpdateFlags) =>
        (await import("../commands/plugins/plugins-update.ts")).pluginsUpdate(io, id, options),
      ),
    );
}

interface Refused {
  readonly name: string;
  readonly message: string;
  readonly fix: string;
}

const MARKET = {
  message: "This gateway uses no plugin marketplace.",
  fix: "Install from a folder, an archive, npm or git: openclaw plugins install <source>",
};

/** Commands of the field on plugins that this gateway does not have, each with what to do instead. */
const REFUSED: readonly Refused[] = [
  {
    name: "reload",
    message: "There is nothing to reload: a running gateway follows the config by itself.",
    fix: "Restart the gateway for new code of a plugin that it has loaded.",
  },
  {
    name: "registry",
    message: "This gateway keeps no registry of plugins: it reads their folders.",
    fix: "Run: openclaw plugins list --verbose",
  },
  {
    name: "validate",
    message: "There is no separate check of a plugin's folder.",
    fix: "Run `openclaw plugins install -l <folder>` and then `openclaw plugins doctor`; `openclaw plugins init` shows tests.",
  },
  {
    name: "build",
    message: "This gateway does not build plugins.",
    fix: "Run the build script of the plugin, then: openclaw plugins install <folder>",
  },
  {
    name: "pack",
    message: "This gateway does not pack plugins, which are npm packages.",
    fix: "Run `npm pack` in the plugin's folder, then: openclaw plugins install npm-pack:<file>",
  },
  { name: "search", ...MARKET },
  { name: "marketplace", ...MARKET },
];

/** Adds them to `plugins`. They are not in its help. */
function defineRefused(plugins: Command, act: Act): void {
  for (const { name, message, fix } of REFUSED)
    plugins
      .command(name, { hidden: true })
      .argument("[words...]")
      .allowUnknownOption()
      .action(
        act(async () => {
          throw new OpenClawError("USAGE", { message, fix });
        }),
      );
}
