/**
 * `openclaw/plugin-sdk/channel-policy`: rules of the config for a channel's groups. The gateway applies the rules
 * itself.
 */
import type { OpenClawConfig } from "../types/plugin/channel-plugin.ts";
import { isFields } from "../utils/fields.ts";

export type DmPolicy = "pairing" | "allowlist" | "open" | "disabled";
export type GroupPolicy = "open" | "allowlist" | "disabled";

interface GroupPlace {
  readonly cfg: OpenClawConfig;
  readonly channel: string;
  readonly accountId?: string | null;
  readonly groupId?: string | null;
}

/** Whether messages of a group need a mention of the bot: its own setting, that of `*`, the account's, or true. */
export function resolveChannelGroupRequireMention({ cfg, channel, accountId, groupId }: GroupPlace): boolean {
  const section = fieldsIn(cfg["channels"], channel);
  const account = { ...section, ...fieldsIn(section["accounts"], accountId ?? "default") };
  const groups = account["groups"];
  const settings = [fieldsIn(groups, groupId ?? "*"), fieldsIn(groups, "*"), account];
  for (const { requireMention } of settings) if (typeof requireMention === "boolean") return requireMention;
  return true;
}

function fieldsIn(value: unknown, key: string): Readonly<Record<string, unknown>> {
  const found = isFields(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return isFields(found) ? found : {};
}
