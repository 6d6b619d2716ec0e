import { accountInputs } from "../../channels/config.ts";
import type { ConfiguredAccount } from "../../channels/ports.ts";
import { OpenClawError } from "../../types/errors.ts";
import { accountId } from "../../types/ids.ts";
import type { ChannelContribution } from "../../types/contribution.ts";
import { defaultAccountOf } from "./accounts.ts";
import { isRecord } from "../config/problem.ts";
import type { Config } from "../config/schema.ts";
import { contributions } from "../contributions/contributions.ts";
import { bundledChannels, findAdapter } from "../contributions/extensions.ts";
import { own } from "../../utils/own.ts";

/** Every account that the config names, of channels that somebody brings; `enabled` counts both switches. */
export async function accountsIn(config: Config): Promise<readonly ConfiguredAccount[]> {
  const all = await Promise.all(Object.keys(config.channels).map((channel) => accountsOf(config, channel)));
  return all.flat();
}

async function accountsOf(config: Config, channel: string): Promise<readonly ConfiguredAccount[]> {
  const section = own(config.channels, channel);
  const adapter = await findAdapter(channel);
  if (!section || !adapter) return [];
  const listed: unknown = section["accounts"];
  const isNamed = isRecord(listed) && Object.keys(listed).length > 0;
  return accountInputs(section).flatMap(({ id, input }) => {
    const enabled = section.enabled && input["enabled"] !== false;
    const parsed = adapter.config.safeParse(input);
    // One that is off may be unfinished.
    if (!parsed.success && !enabled) return [];
    const settings = parsed.success ? parsed.data : adapter.config.parse(input);
    return [{ adapter, account: accountId(id), config: settings, enabled, isNamed }];
  });
}

/** The account that is meant, the channel's default one unless named. Throws `CHANNEL_MISSING`. */
export async function findAccount(
  config: Config,
  channel: string,
  account: string | undefined,
): Promise<ConfiguredAccount> {
  findChannel(channel);
  const wanted = account ?? defaultAccountOf(config, channel);
  const accounts = await accountsOf(config, channel);
  const found = accounts.find((one) => one.account === wanted);
  if (found) return found;
  const others = accounts.length === 0 ? "" : `It has: ${accounts.map((one) => one.account).join(", ")}. `;
  const more = account === undefined ? "" : ` --account ${account}`;
  throw new OpenClawError("CHANNEL_MISSING", {
    message: `The config has no account ${wanted} of ${channel}.`,
    fix: `${others}Add it: openclaw channels add --channel ${channel}${more}`,
  });
}

/** Throws `CHANNEL_MISSING` for a channel that nobody brings. */
export function findChannel(id: string): ChannelContribution {
  const found = contributions.channel(id);
  if (!found) throw unknownChannel(id);
  return found;
}

const unknownChannel = (channel: string): OpenClawError =>
  new OpenClawError("CHANNEL_MISSING", {
    message: `There is no channel "${channel}".`,
    fix: `Those that there are: ${bundledChannels.join(", ")}.`,
  });
