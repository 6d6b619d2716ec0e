import { inputsFor } from "../../channels/config.ts";
import { SAME_LOGIN_FIX, sameLogins } from "../../channels/same-login.ts";
import type { Contributions } from "../../plugins/contributions.ts";
import type { ConfiguredAccount } from "../../channels/ports.ts";
import { OpenClawError } from "../../types/errors.ts";
import { accountId } from "../../types/ids.ts";
import type { ChannelContribution } from "../../types/contribution.ts";
import { defaultAccountOf } from "./accounts.ts";
import { PARSED_ONCE } from "../config/keys/schema-keys.ts";
import { isRecord } from "../config/schema/problem.ts";
import type { Config } from "../config/schema/schema.ts";
import { own } from "../../utils/own.ts";

/** A config, with what extensions and plugins add to the gateway. */
export interface Configured {
  readonly config: Config;
  readonly contributions: Contributions;
}

/**
 * Every account in the config whose channel is installed. `enabled` combines the switches of the channel and the
 * account.
 */
export async function accountsIn(of: Configured): Promise<readonly ConfiguredAccount[]> {
  const all = await Promise.all(Object.keys(of.config.channels).map((channel) => accountsOf(of, channel)));
  return all.flat();
}

async function accountsOf(
  { config, contributions }: Configured,
  channel: string,
): Promise<readonly ConfiguredAccount[]> {
  const section = own(config.channels, channel);
  const adapter = await contributions.channel(channel)?.adapter();
  if (!section || !adapter) return [];
  const listed: unknown = section["accounts"];
  const isNamed = isRecord(listed) && Object.keys(listed).length > 0;
  const same = sameLogins(section, adapter.config);
  return inputsFor(section, adapter.accountIds?.()).flatMap(({ id, input }) => {
    const enabled = section.enabled && input["enabled"] !== false;
    const parsed = adapter.config.safeParse(input, PARSED_ONCE);
    // A disabled account may be incomplete.
    if (!parsed.success && !enabled) return [];
    const settings = parsed.success ? parsed.data : adapter.config.parse(input);
    const twin = same.find((one) => one.id === id);
    const stopped = twin && { reason: `Account ${twin.as} has the same login (${twin.key})`, fix: SAME_LOGIN_FIX };
    return [{ adapter, account: accountId(id), config: settings, enabled, isNamed, ...(stopped && { stopped }) }];
  });
}

/** The named account; without a name the channel's default account, else its only one. Throws `CHANNEL_MISSING`. */
export async function findAccount(
  of: Configured,
  channel: string,
  account: string | undefined,
): Promise<ConfiguredAccount> {
  findChannel(of.contributions, channel);
  const wanted = account ?? defaultAccountOf(of.config, channel);
  const accounts = await accountsOf(of, channel);
  // A channel that has a list of accounts of its own may have none of the default's name.
  const only = account === undefined && accounts.length === 1 ? accounts[0] : undefined;
  const found = accounts.find((one) => one.account === wanted) ?? only;
  if (found) return found;
  const others = accounts.length === 0 ? "" : `It has: ${accounts.map((one) => one.account).join(", ")}. `;
  const more = account === undefined ? "" : ` --account ${account}`;
  throw new OpenClawError("CHANNEL_MISSING", {
    message: `The config has no account ${wanted} of ${channel}.`,
    fix: `${others}Add it: openclaw channels add --channel ${channel}${more}`,
  });
}

/** Throws `CHANNEL_MISSING` for a channel that is not installed. */
export function findChannel(contributions: Contributions, id: string): ChannelContribution {
  const found = contributions.channel(id);
  if (!found) throw unknownChannel(contributions, id);
  return found;
}

const unknownChannel = (contributions: Contributions, channel: string): OpenClawError =>
  new OpenClawError("CHANNEL_MISSING", {
    message: `There is no channel "${channel}".`,
    fix: `Those that there are: ${contributions.channels.map(({ id }) => id).join(", ")}.`,
  });
