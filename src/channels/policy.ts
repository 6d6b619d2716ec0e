import type { AccountConfig } from "./config.ts";

export interface GroupPolicy {
  readonly enabled: boolean;
  readonly requireMention?: boolean | undefined;
  readonly allowFrom?: readonly string[] | undefined;
}

/** Who is heard on one account. */
export interface ChannelPolicy {
  readonly direct: "pairing" | "allowlist" | "open" | "disabled";
  readonly allowFrom: readonly string[];
  readonly group: "allowlist" | "open" | "disabled";
  /** Unset: `allowFrom` where that lists anybody. */
  readonly groupAllowFrom?: readonly string[] | undefined;
  /** By chat id; `*` is any other. */
  readonly groups: Readonly<Record<string, GroupPolicy>>;
  readonly requireMention: boolean;
  readonly mentionPatterns: readonly RegExp[];
  /** Unanswered lines of a group that are kept for its next answer. */
  readonly historyLimit: number;
}

/** What `messages.groupChat` says for every channel. */
export interface GroupDefaults {
  readonly mentionPatterns: readonly RegExp[];
  readonly historyLimit: number;
}

/** The policy of an account. */
export function policyOf(config: AccountConfig, defaults: GroupDefaults): ChannelPolicy {
  return {
    direct: config.dmPolicy,
    allowFrom: config.allowFrom,
    group: config.groupPolicy,
    groupAllowFrom: config.groupAllowFrom,
    groups: config.groups,
    requireMention: config.requireMention,
    mentionPatterns: defaults.mentionPatterns,
    historyLimit: config.historyLimit ?? defaults.historyLimit,
  };
}
