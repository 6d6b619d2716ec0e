import type { Command } from "commander";
import { functionOf, objectOf, textsIn } from "../foreign.ts";
import { pluginLogger } from "../logging.ts";
import type { PluginScope } from "../scope.ts";

/** `api.registerCli(({program, config, workspaceDir, logger}) => …, {commands})`: commands of the command line, as commander defines them. */
export function registerCli(scope: PluginScope, registrar: unknown, options: unknown = {}): void {
  const define = functionOf(registrar, "registerCli");
  const named = textsIn(objectOf(options, "registerCli's options"), "commands") ?? [];
  const names = named.length > 0 ? named : scope.plugin.manifest.cliCommands;
  if (names.length === 0) throw new TypeError("registerCli needs the names of its commands in {commands: [...]}");
  const context = (program: Command) => ({
    program,
    config: scope.shownConfig(),
    workspaceDir: scope.ports.workspace(),
    logger: pluginLogger(scope.log),
  });
  const [first, ...others] = names;
  if (first === undefined) return;
  // One call of the registrar defines all its commands.
  scope.registry.addCliCommand({
    name: first,
    aliases: others,
    define: (program) => void scope.call(`command line ${first}`, () => define(context(program))),
  });
}
