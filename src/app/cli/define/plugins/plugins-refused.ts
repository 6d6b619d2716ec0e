import type { Command } from "commander";
import { OpenClawError } from "../../../../types/errors.ts";
import type { Act } from "../act.ts";

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
export function defineRefused(plugins: Command, act: Act): void {
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
