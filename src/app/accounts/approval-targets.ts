import { channelAccounts } from "../../channels/config.ts";
import { parseTarget } from "../../channels/target.ts";
import type { Peer } from "../../types/chat/message.ts";
import { accountId, channelId } from "../../types/ids.ts";
import { own } from "../../utils/own.ts";
import type { Config } from "../config/schema/schema.ts";
import { defaultAccountOf } from "./accounts.ts";

export type ApprovalTarget = Config["approvals"]["exec"]["targets"][number];

/** The chat of a target; when there is none, the reason as a clause that continues the target's key. */
export function peerOfTarget(target: ApprovalTarget, config: Config): Peer | string {
  const { channel, to } = target;
  const section = own(config.channels, channel);
  if (!section?.enabled) return `names the channel "${channel}", which is not on`;
  const account = target.accountId ?? defaultAccountOf(config, channel);
  if (!channelAccounts(section).some(({ id, config: { enabled } }) => id === account && enabled))
    return `names the account "${account}", which ${channel} does not have or which is not on`;
  const chat = parseTarget(to, channel);
  if (!chat) return `names no chat: "${to}"`;
  const thread = target.threadId ?? chat.thread;
  return {
    channel: channelId(channel),
    account: accountId(account),
    chat: chat.chat,
    ...(thread !== undefined && { thread }),
  };
}
