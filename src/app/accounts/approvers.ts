import { channelAccounts } from "../../channels/config.ts";
import type { InboundMessage, Peer } from "../../types/chat/message.ts";
import { own } from "../../utils/own.ts";
import type { Config } from "../config/schema/schema.ts";
import { accountOf } from "./accounts.ts";

/** The people whom an account's `execApprovals` names, by their ids; undefined when it names nobody. */
function listedFor(config: Config, of: Pick<Peer, "channel" | "account">): readonly string[] | undefined {
  const { approvers = [] } = accountOf(config, of).execApprovals ?? {};
  return approvers.length > 0 ? approvers.map((id) => plainId(id, of.channel)) : undefined;
}

const plainId = (id: string, channel: string): string =>
  id.startsWith(`${channel}:`) ? id.slice(channel.length + 1) : id;

/** Whether a sender may answer questions about commands; undefined where owners may. */
export function mayApprove({ from, sender }: InboundMessage, config: Config): boolean | undefined {
  const listed = listedFor(config, from);
  return listed && [sender.id, sender.e164].some((name) => name !== undefined && listed.includes(name));
}

/** Whether the config names somebody who can answer in this channel. */
export function hasApproverIn(channel: string, config: Config): boolean {
  const section = own(config.channels, channel);
  const accounts = section ? channelAccounts(section) : [];
  return (
    hasOwnerIn(channel, config) || accounts.some(({ config: one }) => (one.execApprovals?.approvers ?? []).length > 0)
  );
}

/**
 * Ids of the people who may answer in an account: those of the account's list, else the owners whose names are for this
 * channel.
 */
export function approversOf(of: Pick<Peer, "channel" | "account">, config: Config): readonly string[] {
  return (
    listedFor(config, of) ??
    config.commands.ownerAllowFrom.flatMap((name) => {
      const text = String(name);
      return text.startsWith(`${of.channel}:`) ? [plainId(text, of.channel)] : [];
    })
  );
}

/** Whether the config names an owner who can write in this channel. */
const hasOwnerIn = (channel: string, config: Config): boolean =>
  config.commands.ownerAllowFrom.some((name) => isFor(channel, String(name), config));

/** A name without a channel before it is for every channel. */
function isFor(channel: string, name: string, { channels }: Config): boolean {
  const [prefix = ""] = name.split(":", 1);
  return prefix === channel || !name.includes(":") || !Object.hasOwn(channels, prefix);
}
