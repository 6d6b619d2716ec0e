import type { Command } from "commander";
import type { ChannelContribution } from "../../../types/contribution.ts";
import { OpenClawError } from "../../../types/errors.ts";
import type { ChannelAddFlags, RemoveFlags } from "../commands/channels/channels-add.ts";
import type { ChannelLoginFlags } from "../commands/channels/channels-login.ts";
import type { ChannelStatusFlags } from "../commands/channels/channels.ts";
import type { SendFlags } from "../commands/message/message.ts";
import { wholeNumber, type Act } from "./act.ts";

type Channels = readonly ChannelContribution[];

interface Json {
  readonly json?: boolean;
}

/** `channels …` */
export function defineChannels(program: Command, act: Act, contributed: Channels): void {
  const channels = program.command("channels").description("chat platforms");
  defineDiagnostics(channels, act);
  defineEdits(channels, act, contributed);
  defineLogins(channels, act);
  channels
    .command("test")
    .description("try every account; with --to send a test message and tell what became of it")
    .option("--to <chat>", "person or group that gets a message")
    .option("--channel <name>", "only this platform; with --to needed when several are switched on")
    .option("--account <id>", "only this account")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: SendFlags) =>
        (await import("../commands/channels/channels-test.ts")).channelsTest(io, options),
      ),
    );
}

function defineDiagnostics(channels: Command, act: Act): void {
  channels
    .command("status", { isDefault: true })
    .description("show how each account is connected (the default)")
    .option("--channel <name>", "only this one")
    .option("--probe", "ask each platform too; exit code 1 when one refuses")
    .option("--json", "for scripts")
    .option("--timeout <ms>", "how long to wait for the gateway", wholeNumber(1))
    .action(
      act(async (io, options: ChannelStatusFlags) =>
        (await import("../commands/channels/channels.ts")).channelsStatus(io, options),
      ),
    );
  channels
    .command("list")
    .description("list the accounts of the config")
    .option("--all", "also channels that are not set up")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: Json & { all?: boolean }) => {
        const { channelsList } = await import("../commands/channels/channels.ts");
        return channelsList(io, options);
      }),
    );
  channels
    .command("capabilities")
    .description("show what the channel of each account can do")
    .option("--channel <name>", "only this one")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: Json & { channel?: string }) => {
        const { channelsCapabilities } = await import("../commands/channels/channels-test.ts");
        return channelsCapabilities(io, options);
      }),
    );
}

function defineEdits(channels: Command, act: Act, contributed: Channels): void {
  const add = channels
    .command("add")
    .description("add an account to the config, or change one")
    .requiredOption("--channel <name>", "the platform")
    .option("--account <id>", "name of the account, if there are several")
    .option("--use-env", `the token stays in ${environmentNames(contributed).join(", ")}`)
    .action(
      act(
        async (io, { channel, account, useEnv, ...setup }: Omit<ChannelAddFlags, "setup"> & Record<string, string>) => {
          const { channelsAdd } = await import("../commands/channels/channels-add.ts");
          return channelsAdd(io, {
            channel,
            setup,
            ...(account !== undefined && { account }),
            useEnv: useEnv === true,
          });
        },
      ),
    );
  for (const [usage, about] of setupOptions(contributed)) add.option(usage, about);
  channels
    .command("remove")
    .description("remove an account from the config")
    .requiredOption("--channel <name>", "the platform")
    .option("--account <id>", "account, if there are several")
    .option("--yes", "do not ask")
    .action(
      act(async (io, options: RemoveFlags) =>
        (await import("../commands/channels/channels-add.ts")).channelsRemove(io, options),
      ),
    );
}

/** The flags of all channels; a flag of several channels has the description of the first. */
function setupOptions(contributed: Channels): ReadonlyMap<string, string> {
  const options = new Map<string, string>();
  for (const { label, setup } of contributed) {
    for (const { usage, about } of setup.flags) {
      const isShared = contributed.some(
        (other) => other.label !== label && other.setup.flags.some((flag) => flag.usage === usage),
      );
      if (!options.has(usage)) options.set(usage, isShared ? about : `${label}: ${about}`);
    }
  }
  return options;
}

const environmentNames = (contributed: Channels): readonly string[] => [
  ...new Set(contributed.flatMap(({ setup }) => setup.flags.flatMap(({ secret }) => secret?.env ?? []))),
];

function defineLogins(channels: Command, act: Act): void {
  channels
    .command("login")
    .argument("[name]", "the platform")
    .description("link an account with its app, by a QR code or a pairing code")
    .option("--channel <name>", "the platform")
    .option("--account <id>", "account, if there are several")
    .option("--phone <e164>", "number of the phone; requests a pairing code instead of a QR code")
    .action(
      act(async (io, name: string | undefined, options: Named) => {
        const { channelsLogin } = await import("../commands/channels/channels-login.ts");
        return channelsLogin(io, { ...options, channel: channelOf(name, options) });
      }),
    );
  channels
    .command("logout")
    .argument("[name]", "the platform")
    .description("forget a linked account")
    .option("--channel <name>", "the platform")
    .option("--account <id>", "account, if there are several")
    .option("--json", "for scripts")
    .action(
      act(async (io, name: string | undefined, options: Named & Json) => {
        const { channelsLogout } = await import("../commands/channels/channels-login.ts");
        return channelsLogout(io, { ...options, channel: channelOf(name, options) });
      }),
    );
}

type Named = Omit<ChannelLoginFlags, "channel"> & { readonly channel?: string };

function channelOf(name: string | undefined, options: Named): string {
  const channel = options.channel ?? name;
  if (channel !== undefined) return channel;
  throw new OpenClawError("USAGE", { message: "Which channel is missing.", fix: "Add --channel <name>." });
}
