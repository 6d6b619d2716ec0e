import type { ConfigPath } from "../config/shape.ts";
import { keyValue, withValue } from "../config/draft.ts";
import { isRecord } from "../model/json.ts";

/** Where the config names groups; Slack calls them channels, Discord has its servers. */
const PLACES = ["groups", "channels", "guilds"] as const;
const OWN_PLACE: Readonly<Record<string, (typeof PLACES)[number]>> = { slack: "channels", discord: "guilds" };

/** A group that the config names. */
export interface NamedGroup {
  /** As the platform names it; `*` for all others. */
  readonly id: string;
  readonly isHeard: boolean;
  readonly path: ConfigPath;
}

/** The groups of an account. */
export interface HeardGroups {
  /** `allowlist`: only those that are named; `open`: all; `disabled`: none. */
  readonly policy: string;
  readonly named: readonly NamedGroup[];
  /** Where a group is written that the config does not name yet. */
  readonly place: ConfigPath;
}

/** The groups that an account hears, by the config in force. */
export function heardGroups(config: unknown, channel: string, account: string): HeardGroups {
  const ofChannel: ConfigPath = ["channels", channel];
  const ofAccount: ConfigPath = [...ofChannel, "accounts", account];
  const has = (path: ConfigPath): boolean => keyValue(config, path) !== undefined;
  /** An account's own key counts in place of that of its channel. */
  const placeOf = (key: string): ConfigPath => (has([...ofAccount, key]) ? [...ofAccount, key] : [...ofChannel, key]);
  const named = PLACES.flatMap((key) => {
    const groups = keyValue(config, placeOf(key));
    return Object.entries(isRecord(groups) ? groups : {}).map(([id, group]) => {
      const isHeard = !isRecord(group) || group["enabled"] !== false;
      return { id, isHeard, path: [...placeOf(key), id] };
    });
  });
  const policy = keyValue(config, placeOf("groupPolicy"));
  return {
    policy: typeof policy === "string" ? policy : "allowlist",
    named,
    place: placeOf(Object.hasOwn(OWN_PLACE, channel) ? (OWN_PLACE[channel] ?? "groups") : "groups"),
  };
}

/** The patch of the config that lets a group in or out; its other keys stay. */
export const groupPatch = (path: ConfigPath, isHeard: boolean): unknown =>
  withValue({}, path, { enabled: isHeard ? null : false });
