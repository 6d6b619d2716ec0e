/** `openclaw/plugin-sdk/config-runtime`. */
import { pluginHost } from "../plugins/host-slot.ts";
import type { OpenClawConfig } from "../types/plugin/channel-plugin.ts";

/** The config that the gateway runs with, its secrets masked; an empty object in a process without a gateway. */
export function loadConfig(): OpenClawConfig {
  const config = pluginHost()?.config();
  return typeof config === "object" && config !== null ? { ...config } : {};
}

/** Always rejects: a plugin does not change the config of its operator. */
export async function writeConfigFile(_config: unknown): Promise<never> {
  throw new Error("a plugin cannot write the config: its operator runs `openclaw config set`");
}
