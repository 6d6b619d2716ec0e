import type { BotLoopRules } from "./bot-loops.ts";
import type { AccountConfig } from "../config.ts";
import type { MentionPattern } from "./mention-pattern.ts";

/** Rules of a topic in place of its group's. */
type TopicPolicy = Partial<Pick<GroupPolicy, "enabled" | "requireMention" | "allowFrom" | "roles">>;

export interface GroupPolicy {
  readonly enabled: boolean;
  /** Rules by the id of the topic; `*` is any other topic. */
  readonly topics?: Readonly<Record<string, TopicPolicy>> | undefined;
  readonly requireMention?: boolean | undefined;
  /** When this and `roles` are unset, the account's rules for groups apply. */
  readonly allowFrom?: readonly string[] | undefined;
  /** Senders with one of these roles are allowed too. */
  readonly roles?: readonly string[] | undefined;
  /** The group has its own membership, like Discord's and Slack's channels: the account's `allowFrom` only applies to direct chats. */
  readonly hasMembership?: boolean | undefined;
}

/** Whose messages one account lets in. */
export interface ChannelPolicy {
  readonly direct: "pairing" | "allowlist" | "open" | "disabled";
  readonly allowFrom: readonly string[];
  readonly group: "allowlist" | "open" | "disabled";
  /** When unset, `allowFrom` applies if it lists anybody and the group has no membership of its own. */
  readonly groupAllowFrom?: readonly string[] | undefined;
  /**
   * Rules by chat id. `guild:<id>` is any other chat of that guild, `guild:*` a chat of any other guild, `*` any other
   * chat.
   */
  readonly groups: Readonly<Record<string, GroupPolicy>>;
  readonly requireMention: boolean;
  readonly mentionPatterns: readonly MentionPattern[];
  /** Other bots: never, always, or when they mention this one. */
  readonly bots: boolean | "mentions";
  /** Undefined: the messages of bots are not counted. */
  readonly botLoops: BotLoopRules | undefined;
  /** Reactions that the agent sees. */
  readonly reactions: "off" | "own" | "all" | "allowlist";
  readonly reactionsOf: readonly string[];
  /** How many unanswered messages of a group are kept for its next answer. */
  readonly historyLimit: number;
}

/** The values of `messages.groupChat`, for every channel. */
export interface GroupDefaults {
  readonly mentionPatterns: readonly MentionPattern[];
  readonly historyLimit: number;
}

/** The policy of an account. */
export function channelPolicyOf(config: AccountConfig, defaults: GroupDefaults): ChannelPolicy {
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
  const { enabled, maxEventsPerWindow: maxMessages, windowSeconds, cooldownSeconds } = config;
  return enabled ? { maxMessages, windowMs: windowSeconds * 1000, cooldownMs: cooldownSeconds * 1000 } : undefined;
}

function groupsOf({ groups, channels, guilds }: AccountConfig): Record<string, GroupPolicy> {
  const own = Object.entries(groups).map(([id, group]) => [id, withUsers(group)] as const);
  const ofTeams = Object.entries(channels).map(
    ([id, group]) => [id, { ...withUsers(group), hasMembership: true }] as const,
  );
  // The rules of `guild:*` do not apply to a guild that has its own entry.
  const closed = Object.keys("*" in guilds ? guilds : {}).map((id) => [`guild:${id}`, { enabled: false }] as const);
  const ofGuilds = Object.entries(guilds).flatMap(([id, guild]) => guildGroups(id, guild));
  return Object.fromEntries([...own, ...ofTeams, ...closed, ...ofGuilds]);
}

type Group = AccountConfig["groups"][string];
type Guild = AccountConfig["guilds"][string];

const withUsers = ({ enabled, allow, requireMention, allowFrom, users, roles, topics }: Group): GroupPolicy => ({
  enabled: enabled && allow !== false,
  ...(topics && { topics: topicsOf(topics) }),
  requireMention,
  allowFrom: allowFrom ?? users,
  roles,
});

const topicsOf = (topics: NonNullable<Group["topics"]>): Record<string, TopicPolicy> =>
  Object.fromEntries(
    Object.entries(topics).map(([id, { enabled, requireMention, allowFrom }]) => [
      id,
      {
        ...(enabled === false && { enabled }),
        ...(requireMention !== undefined && { requireMention }),
        ...(allowFrom && { allowFrom, roles: undefined }),
      },
    ]),
  );

/** Groups of a guild. A guild without a list of channels allows all its channels. */
function guildGroups(id: string, guild: Guild): (readonly [string, GroupPolicy])[] {
  const { requireMention, users, roles, channels = { "*": { enabled: true } } } = guild;
  return Object.entries(channels).map(([channel, group]) => {
    const own = withUsers(group);
    const closed = own.allowFrom !== undefined || own.roles !== undefined;
    const policy = {
      enabled: own.enabled,
      topics: own.topics,
      requireMention: own.requireMention ?? requireMention,
      hasMembership: true,
      ...(closed ? { allowFrom: own.allowFrom, roles: own.roles } : { allowFrom: users, roles }),
    };
    return [channel === "*" ? `guild:${id}` : channel, policy] as const;
  });
}
