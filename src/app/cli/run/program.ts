import { Command } from "commander";
import { defineAgent } from "../define/agent.ts";
import { defineConfig } from "../define/config.ts";
import { defineGateway } from "../define/gateway.ts";
import { defineInbox } from "../define/inbox.ts";
import { defineDiagnostics } from "../define/diagnostics.ts";
import { defineMessage } from "../define/message.ts";
import { defineChannels } from "../define/channels.ts";
import { defineModels } from "../define/models.ts";
import { definePlugins } from "../define/plugins.ts";
import { definePairing } from "../define/pairing.ts";
import { defineSessions } from "../define/sessions.ts";
import { defineRuns } from "../define/runs.ts";
import { defineSystem } from "../define/system.ts";
import type { Act } from "../define/act.ts";
import type { Io } from "../io.ts";

/** `plugins init` */
function definePluginsInit(program: Command, act: Act): void {
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
        const { pluginsInit } = await import("../commands/plugins/init.ts");
        return pluginsInit(io, kind, dir);
      }),
    );
}

const DEFINITIONS = [
  defineGateway,
  defineAgent,
  defineDiagnostics,
  defineSessions,
  definePairing,
  defineModels,
  defineMessage,
  defineRuns,
  defineInbox,
  defineSystem,
  defineConfig,
  definePlugins,
  definePluginsInit,
];

/**
 * The commands with their flags: all of them, or for `openclaw gateway` that one, because the daemon starts with it. The code of each
 * is loaded when it is called. `exitCode` is known after parsing.
 */
export function buildProgram(io: Io, version: string, word?: string): { program: Command; exitCode: () => number } {
  let code = 0;
  const act: Act =
    (run) =>
    async (...args) => {
      code = await run(io, ...args);
    };
  const program = new Command("openclaw")
    .description("A gateway that connects chat apps to an AI agent, on your own machine.")
    .version(version, "--version", "print the version, as -v alone does")
    .option("--no-color", "no colours")
    .helpOption("-h, --help", "show what can be typed")
    .helpCommand("help [command]", "show what can be typed")
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.out(text), writeErr: () => undefined });
  if (word === "gateway") {
    defineGateway(program, act);
    return { program, exitCode: () => code };
  }
  for (const define of DEFINITIONS) define(program, act);
  defineChannels(program, act, io.contributions.channels);
  for (const { name, aliases = [], define } of io.contributions.cliCommands) {
    const taken = [name, ...aliases].find((one) => program.commands.some((command) => command.name() === one));
    if (taken !== undefined) throw new Error(`the command "${taken}" exists already: a contribution cannot replace it`);
    define(program, act);
  }
  return { program, exitCode: () => code };
}
