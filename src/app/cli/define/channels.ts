import type { Command } from "commander";
import { OpenClawError } from "../../../types/errors.ts";
import type { AddFlags, RemoveFlags } from "../commands/channels-add.ts";
import type { LoginFlags } from "../commands/channels-login.ts";
import type { StatusFlags } from "../commands/channels.ts";
import type { SendFlags } from "../commands/message.ts";
import { wholeNumber, type Act } from "./act.ts";

interface Json {
  readonly json?: boolean;
}

/** `channels …` */
export function defineChannels(program: Command, act: Act): void {
  const channels = program.command("channels").description("chat platforms");
  defineLooks(channels, act);
  defineEdits(channels, act);
  defineLogins(channels, act);
  channels
    .command("test")
    .description("try every account; with --to send a test message and tell what became of it")
    .option("--to <chat>", "a person or group that gets a message")
    .option("--channel <name>", "only this platform; with --to needed when several are switched on")
    .option("--account <id>", "only this account")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: SendFlags) => (await import("../commands/channels-look.ts")).channelsTest(io, options)),
    );
}

function defineLooks(channels: Command, act: Act): void {
  channels
    .command("status", { isDefault: true })
    .description("how each account is connected (the default)")
    .option("--channel <name>", "only this one")
    .option("--probe", "ask each platform too; exit code 1 when one refuses")
    .option("--json", "for scripts")
    .option("--timeout <ms>", "how long to wait for the gateway", wholeNumber(1))
    .action(
      act(async (io, options: StatusFlags) => (await import("../commands/channels.ts")).channelsStatus(io, options)),
    );
  channels
    .command("list")
    .description("accounts of the config")
    .option("--all", "channels that are not set up too")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: Json & { all?: boolean }) => {
        const { channelsList } = await import("../commands/channels.ts");
        return channelsList(io, options);
      }),
    );
  channels
    .command("capabilities")
    .description("what the channel of each account can do")
    .option("--channel <name>", "only this one")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: Json & { channel?: string }) => {
        const { channelsCapabilities } = await import("../commands/channels-look.ts");
        return channelsCapabilities(io, options);
      }),
    );
}

function defineEdits(channels: Command, act: Act): void {
  channels
    .command("add")
    .description("add an account to the config, or change one")
    .requiredOption("--channel <name>", "the platform")
    .option("--account <id>", "a name for it, when there are several")
    .option("--token <token>", "the bot's token; - reads it from a pipe")
    .option("--token-file <path>", "a file that holds the token")
    .option("--bot-token <token>", "the same as --token; Slack: xoxb-…")
    .option("--app-token <token>", "Slack: xapp-…, for Socket Mode")
    .option("--secret <secret>", "Slack: the signing secret, for the Events API")
    .option("--signal-number <e164>", "Signal: the number of the account")
    .option("--http-url <url>", "Signal: address of a signal-cli that runs already")
    .option("--cli-path <path>", "Signal: the signal-cli program")
    .option(
      "--use-env",
      "the token stays in TELEGRAM_BOT_TOKEN, DISCORD_BOT_TOKEN, SLACK_BOT_TOKEN and SLACK_APP_TOKEN",
    )
    .action(
      act(async (io, options: AddFlags) => (await import("../commands/channels-add.ts")).channelsAdd(io, options)),
    );
  channels
    .command("remove")
    .description("take an account out of the config")
    .requiredOption("--channel <name>", "the platform")
    .option("--account <id>", "which one, when there are several")
    .option("--yes", "without asking")
    .action(
      act(async (io, options: RemoveFlags) =>
        (await import("../commands/channels-add.ts")).channelsRemove(io, options),
      ),
    );
}

function defineLogins(channels: Command, act: Act): void {
  channels
    .command("login")
    .argument("[name]", "the platform")
    .description("link an account with its app, by a QR code or a pairing code")
    .option("--channel <name>", "the platform")
    .option("--account <id>", "which one, when there are several")
    .option("--phone <e164>", "the number of the phone: asks for a pairing code instead of a QR code")
    .action(
      act(async (io, name: string | undefined, options: Named) => {
        const { channelsLogin } = await import("../commands/channels-login.ts");
        return channelsLogin(io, { ...options, channel: channelOf(name, options) });
      }),
    );
  channels
    .command("logout")
    .argument("[name]", "the platform")
    .description("forget a linked account")
    .option("--channel <name>", "the platform")
    .option("--account <id>", "which one, when there are several")
    .option("--json", "for scripts")
    .action(
      act(async (io, name: string | undefined, options: Named & Json) => {
        const { channelsLogout } = await import("../commands/channels-login.ts");
        return channelsLogout(io, { ...options, channel: channelOf(name, options) });
      }),
    );
}

type Named = Omit<LoginFlags, "channel"> & { readonly channel?: string };

function channelOf(name: string | undefined, options: Named): string {
  const channel = options.channel ?? name;
  if (channel !== undefined) return channel;
  throw new OpenClawError("USAGE", { message: "Which channel is missing.", fix: "Add --channel <name>." });
}
