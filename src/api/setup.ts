/** `openclaw/plugin-sdk/setup`: changes of a config that a channel's setup proposes. They are values; nothing is written. */
import type { OpenClawConfig } from "../types/plugin/channel-plugin.ts";
import { isFields } from "../utils/fields.ts";
import { DEFAULT_ACCOUNT_ID } from "./account-id.ts";

export { DEFAULT_ACCOUNT_ID, normalizeAccountId } from "./account-id.ts";
export type { OpenClawConfig } from "../types/plugin/channel-plugin.ts";

const DOCS = "https://docs.openclaw.ai";

/** A link for a setup's notes: a path is one of the documentation of OpenClaw, for which the plugin was written. */
export function formatDocsLink(path: string, label?: string): string {
  const text = path.trim();
  const url = /^https?:\/\//i.test(text) ? text : new URL(text, DOCS).href;
  return label === undefined || label === url ? url : `${label}: ${url}`;
}

interface Setup {
  readonly cfg: OpenClawConfig;
  /** The channel's id. */
  readonly channelKey: string;
  readonly accountId: string;
  readonly name?: string | undefined;
}

/** The config with a name for an account of a channel; the default account's is a key of the channel itself. */
export function applyAccountNameToChannelSection({ cfg, channelKey, accountId, name }: Setup): OpenClawConfig {
  const given = name?.trim();
  return given === undefined || given === "" ? cfg : withAccount(cfg, { channelKey, accountId, keys: { name: given } });
}

/** The config with an account of a channel on or off. */
export function setAccountEnabledInConfigSection(asked: {
  readonly cfg: OpenClawConfig;
  readonly sectionKey: string;
  readonly accountId: string;
  readonly enabled: boolean;
}): OpenClawConfig {
  const { cfg, sectionKey: channelKey, accountId, enabled } = asked;
  return withAccount(cfg, { channelKey, accountId, keys: { enabled } });
}

interface Change {
  readonly channelKey: string;
  readonly accountId: string;
  readonly keys: Readonly<Record<string, unknown>>;
}

function withAccount(cfg: OpenClawConfig, { channelKey, accountId, keys }: Change): OpenClawConfig {
  const channels = fieldsOf(cfg["channels"]);
  const section = fieldsOf(channels[channelKey]);
  const accounts = fieldsOf(section["accounts"]);
  const changed =
    accountId === DEFAULT_ACCOUNT_ID
      ? { ...section, ...keys }
      : { ...section, accounts: { ...accounts, [accountId]: { ...fieldsOf(accounts[accountId]), ...keys } } };
  return { ...cfg, channels: { ...channels, [channelKey]: changed } };
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => (isFields(value) ? value : {});
