import type { BotLoopRules } from "./bot-loops.ts";
import type { AccountConfig } from "../config.ts";
import type { MentionPattern } from "./mention-pattern.ts";

export interface GroupPolicy {
  readonly enabled: boolean;
  readonly requireMention?: boolean | undefined;
  /** Unset, with no roles either: those whom the account hears in groups. */
  readonly allowFrom?: readonly string[] | undefined;
  /** Senders with one of these are heard as well. */
  readonly roles?: readonly string[] | undefined;
  /** A place of its members, as Discord's and Slack's channels are: the account's `allowFrom` is for direct chats alone. */
  readonly ofMembers?: boolean | undefined;
}

/** Who is heard on one account. */
export interface ChannelPolicy {
  readonly direct: "pairing" | "allowlist" | "open" | "disabled";
  readonly allowFrom: readonly string[];
  readonly group: "allowlist" | "open" | "disabled";
  /** Unset: `allowFrom` where that lists anybody and the group is not of its members. */
  readonly groupAllowFrom?: readonly string[] | undefined;
  /** By chat id; `guild:<id>` is any other chat of that guild, `guild:*` of any other guild, `*` any other at all. */
  readonly groups: Readonly<Record<string, GroupPolicy>>;
  readonly requireMention: boolean;
  readonly mentionPatterns: readonly MentionPattern[];
  /** Other bots: never, always, or when they name this one. */
  readonly bots: boolean | "mentions";
  /** Undefined: they are not counted. */
  readonly botLoops: BotLoopRules | undefined;
  /** Which reactions are told. */
  readonly reactions: "off" | "own" | "all" | "allowlist";
  readonly reactionsOf: readonly string[];
  /** Unanswered lines of a group that are kept for its next answer. */
  readonly historyLimit: number;
}

/** What `messages.groupChat` says for every channel. */
export interface GroupDefaults {
  readonly mentionPatterns: readonly MentionPattern[];
  readonly historyLimit: number;
}

/** The policy of an account. */
export function policyOf(config: AccountConfig, defaults: GroupDefaults): ChannelPolicy {
  return {
    direct: config.dm.enabled ? (config.dm.policy ?? config.dmPolicy) : "disabled",
    allowFrom: [...config.allowFrom, ...config.dm.allowFrom],
    group: config.groupPolicy,
    groupAllowFrom: config.groupAllowFrom,
    groups: groupsOf(config),
    requireMention: config.requireMention,
    mentionPatterns: defaults.mentionPatterns,
    bots: config.allowBots,
    botLoops: loopRules(config.botLoopProtection),
    reactions: config.reactionNotifications,
    reactionsOf: config.reactionAllowlist,
    historyLimit: config.historyLimit ?? defaults.historyLimit,
  };
}

function loopRules(config: AccountConfig["botLoopProtection"]): BotLoopRules | undefined {
  const { enabled, maxEventsPerWindow: most, windowSeconds, cooldownSeconds } = config;
  return enabled ? { most, windowMs: windowSeconds * 1000, restMs: cooldownSeconds * 1000 } : undefined;
}

function groupsOf({ groups, channels, guilds }: AccountConfig): Record<string, GroupPolicy> {
  const own = Object.entries(groups).map(([id, group]) => [id, withUsers(group)] as const);
  const ofTeams = Object.entries(channels).map(
    ([id, group]) => [id, { ...withUsers(group), ofMembers: true }] as const,
  );
  // A server with a list of its own is no other one.
  const closed = Object.keys("*" in guilds ? guilds : {}).map((id) => [`guild:${id}`, { enabled: false }] as const);
  const ofGuilds = Object.entries(guilds).flatMap(([id, guild]) => guildGroups(id, guild));
  return Object.fromEntries([...own, ...ofTeams, ...closed, ...ofGuilds]);
}

type Group = AccountConfig["groups"][string];
type Guild = AccountConfig["guilds"][string];

const withUsers = ({ enabled, allow, requireMention, allowFrom, users, roles }: Group): GroupPolicy => ({
  enabled: enabled && allow !== false,
  requireMention,
  allowFrom: allowFrom ?? users,
  roles,
});

/** A server without a list of channels is heard in all of them. */
function guildGroups(id: string, guild: Guild): (readonly [string, GroupPolicy])[] {
  const { requireMention, users, roles, channels = { "*": { enabled: true } } } = guild;
  return Object.entries(channels).map(([channel, group]) => {
    const own = withUsers(group);
    const closed = own.allowFrom !== undefined || own.roles !== undefined;
    const policy = {
      enabled: own.enabled,
      requireMention: own.requireMention ?? requireMention,
      ofMembers: true,
      ...(closed ? { allowFrom: own.allowFrom, roles: own.roles } : { allowFrom: users, roles }),
    };
    return [channel === "*" ? `guild:${id}` : channel, policy] as const;
  });
}
