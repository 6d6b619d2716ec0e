import { channelAccounts } from "../../channels/config.ts";
import type { Config } from "../config/schema/schema.ts";

/** The consequence of having channels without an owner; undefined when there is an owner, or when nobody can write. */
export function ownerGap(config: Config): { readonly message: string; readonly fix: string } | undefined {
  if (config.commands.ownerAllowFrom.length > 0) return undefined;
  const [channel] = Object.entries(config.channels).flatMap(([name, section]) =>
    section.enabled && channelAccounts(section).some((account) => account.config.enabled) ? [name] : [],
  );
  if (channel === undefined) return undefined;
  return {
    message:
      "Nobody is named as owner: in the channels everybody counts as a guest, you too. Guests cannot approve commands, " +
      "and nothing they say reaches MEMORY.md.",
    fix: `Name yourself with the id that "openclaw pairing list" or the log shows: openclaw config set commands.ownerAllowFrom '["${channel}:<your id>"]'`,
  };
}
