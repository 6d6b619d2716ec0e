import type { Command } from "commander";
import type { Act } from "../act.ts";

/** `plugins init` */
export function definePluginsInit(program: Command, act: Act): void {
  const plugins =
    program.commands.find((command) => command.name() === "plugins") ??
    program.command("plugins").description("code of others that the gateway loads");
  plugins
    .command("init")
    .argument("<kind>", "context-engine, tool, hook or channel")
    .argument("[dir]", "new folder; its name is the plugin's id (my-<kind>)")
    .description("write a new plugin with a test, to begin from")
    .action(
      act(async (io, kind: string, dir: string | undefined) => {
        const { pluginsInit } = await import("../../commands/plugins/init.ts");
        return pluginsInit(io, kind, dir);
      }),
    );
}
