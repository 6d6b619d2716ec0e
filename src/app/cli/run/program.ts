import { Command } from "commander";
import { defineAgent } from "../define/agent.ts";
import { defineConfig, defineExport, defineImport } from "../define/config.ts";
import { defineBackup } from "../define/backup.ts";
import { defineDevices } from "../define/devices.ts";
import { defineGateway } from "../define/gateway.ts";
import { defineInbox } from "../define/inbox.ts";
import { defineDiagnostics } from "../define/diagnostics.ts";
import { defineChannels } from "../define/channels.ts";
import { defineModels } from "../define/models.ts";
import { defineOnboard } from "../define/onboard.ts";
import { definePlugins } from "../define/plugins.ts";
import { defineSessions } from "../define/sessions.ts";
import { defineRuns } from "../define/runs.ts";
import { defineSkills } from "../define/skills.ts";
import { defineSystem } from "../define/system.ts";
import { defineReset, defineUninstall } from "../define/uninstall.ts";
import { defineUpdate } from "../define/update.ts";
import { type Act, wholeNumber } from "../define/act.ts";
import type { Io } from "../io.ts";
import type { SendFlags } from "../commands/message/message.ts";

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

/** `message …` */
function defineMessage(program: Command, act: Act): void {
  const message = program.command("message").description("send messages to chats without an agent");
  message
    .command("send")
    .description("send a message and report the result")
    .option("--to <chat>", "id of a person or group; user:…, group:… or channel:… where an id may be either")
    .option("-t, --target <chat>", "the same")
    .option("--channel <name>", "the platform; needed when several are switched on")
    .option("--account <id>", "account that sends")
    .option("-m, --message <text>", "text, as Markdown")
    .option("--media <path-or-url...>", "files of this machine, or web addresses")
    .option("--as-voice", "send an audio file as a voice note")
    .option("--reply-to <id>", "id of the message to answer")
    .option("--thread-id <id>", "topic or thread of the chat")
    .option("--silent", "send without a sound (Telegram and Discord)")
    .option("--idempotency-key <key>", "a repeated key sends nothing twice")
    .option("--timeout <ms>", "how long to wait for the platform", wholeNumber(0, 120_000), 20_000)
    .option("--dry-run", "check whether the message could be sent, and send nothing")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: SendFlags) => (await import("../commands/message/message.ts")).messageSend(io, options)),
    );
}

interface Json {
  readonly json?: boolean;
}

/** `pairing …` */
function definePairing(program: Command, act: Act): void {
  const pairing = program.command("pairing").description("strangers who want to write to an agent");
  pairing
    .command("list")
    .argument("[channel]", "only for this channel")
    .description("list strangers who wait, their codes, and who was let in")
    .option("--json", "for scripts")
    .action(
      act(async (io, channel: string | undefined, options: Json) => {
        const { pairingList } = await import("../commands/pairing.ts");
        return pairingList(io, channel, options);
      }),
    );
  pairing
    .command("approve")
    .argument("<channel>", "channel of the stranger")
    .argument("<code>", "the stranger's code, or id on the platform")
    .description("let a stranger in")
    .option("--account <accountId>", "account, if the same id waits at several")
    .option("--notify", "inform the stranger")
    .option("--json", "for scripts")
    .action(
      act(async (io, channel: string, code: string, options: Json & { notify?: boolean; account?: string }) => {
        const { pairingApprove } = await import("../commands/pairing.ts");
        return pairingApprove(io, { channel, code }, options);
      }),
    );
}

/** `pairing reject` and `pairing revoke` */
function definePuttingOut(program: Command, act: Act): void {
  const pairing = program.commands.find((command) => command.name() === "pairing") ?? program.command("pairing");
  pairing
    .command("reject")
    .argument("<channel>", "channel of the stranger")
    .argument("<code>", "the stranger's code, or id on the platform")
    .description("take the code of a stranger away")
    .option("--account <accountId>", "account, if the same id waits at several")
    .option("--json", "for scripts")
    .action(
      act(async (io, channel: string, code: string, options: Json & { account?: string }) => {
        const { pairingReject } = await import("../commands/pairing.ts");
        return pairingReject(io, { channel, code }, options);
      }),
    );
  pairing
    .command("revoke")
    .argument("<channel>", "channel of the person")
    .argument("<sender>", "the person's id on the platform")
    .description("let a person in no more")
    .option("--account <accountId>", "only at this account")
    .option("--json", "for scripts")
    .action(
      act(async (io, channel: string, senderId: string, options: Json & { account?: string }) => {
        const { pairingRevoke } = await import("../commands/pairing.ts");
        return pairingRevoke(io, { channel, senderId }, options);
      }),
    );
}

/** `completion`, which knows every command of the program. */
function defineCompletion(program: Command, act: Act): void {
  program
    .command("completion")
    .argument("[shell]", "bash, zsh, fish or powershell; that of this terminal unless given")
    .description("print a script with which the shell completes commands and flags")
    .option("--shell <shell>", "the same")
    .option("--install", "write it where bash or fish looks for it")
    .action(
      act(async (io, shell: string | undefined, flags: { shell?: string; install?: boolean }) => {
        const { completion } = await import("../commands/completion.ts");
        return completion(io, program, { shell: shell ?? flags.shell, install: flags.install === true });
      }),
    );
}

const DEFINITIONS = [
  defineGateway,
  defineAgent,
  defineDiagnostics,
  defineSessions,
  definePairing,
  definePuttingOut,
  defineDevices,
  defineModels,
  defineMessage,
  defineRuns,
  defineInbox,
  defineSystem,
  defineOnboard,
  defineConfig,
  defineImport,
  defineExport,
  defineBackup,
  defineUpdate,
  defineReset,
  defineUninstall,
  definePlugins,
  definePluginsInit,
  defineSkills,
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
    // A command may have a flag of the name of one of these.
    .enablePositionalOptions()
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
  defineCompletion(program, act);
  return { program, exitCode: () => code };
}
