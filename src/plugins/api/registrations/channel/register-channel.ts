import type { z } from "zod";
import type { ChannelAdapter } from "../../../../types/chat/channel.ts";
import type { ChannelContribution } from "../../../../types/contribution.ts";
import { isFields, type Fields } from "../../../../utils/fields.ts";
import { objectOf } from "../../foreign.ts";
import type { PluginScope } from "../../scope.ts";
import { bridgedAdapter } from "./adapter.ts";
import { readChannelPlugin } from "./plugin-object.ts";

/**
 * `api.registerChannel`: a `ChannelContribution` or `ChannelAdapter` of this gateway, or the field's `ChannelPlugin`, each
 * also as `{plugin}`. Throws for anything else.
 */
export function registerChannel(scope: PluginScope, given: unknown): void {
  const outer = objectOf(given, "registerChannel");
  const channel = isFields(outer["plugin"]) ? outer["plugin"] : outer;
  if (isContribution(channel)) return scope.registry.addChannel(channel);
  if (isAdapter(channel)) return scope.registry.addChannel(contributionOf(channel, channel.config));
  const bridged = readChannelPlugin(channel);
  if (bridged.notServed.length > 0)
    scope.log.info("parts of a channel are not used", { channel: bridged.id, parts: bridged.notServed.join(", ") });
  scope.registry.addChannel(contributionOf(bridgedAdapter(scope, bridged), bridged.keys));
}

/** Its account is set up by the config or by a login: it has no flags. */
const contributionOf = (adapter: ChannelAdapter, schema: z.ZodType): ChannelContribution => ({
  id: adapter.id,
  label: adapter.label,
  config: async () => schema,
  adapter: async () => adapter,
  setup: { flags: [] },
});

const isFunction = (value: unknown): boolean => typeof value === "function";

function isContribution(channel: Fields): channel is Fields & ChannelContribution {
  return isFunction(channel["adapter"]) && isFunction(channel["config"]) && isFields(channel["setup"]);
}

function isAdapter(channel: Fields): channel is Fields & ChannelAdapter {
  return isFunction(channel["connect"]) && isFields(channel["limits"]) && channel["config"] instanceof Object;
}
