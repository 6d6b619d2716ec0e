import { isFields } from "../../utils/fields.ts";
import { revealSecrets } from "../../utils/secrets/reveal.ts";
import { shownConfig } from "../config/shown.ts";
import type { Config } from "../config/schema.ts";

/** The config as one plugin sees it: its own settings and those of its channels with their secrets, all others masked. */
export function shownForPlugin(config: Config, plugin: string, channels: readonly string[]): unknown {
  const shown = shownConfig(config);
  if (!isFields(shown)) return shown;
  const plugins = isFields(shown["plugins"]) ? shown["plugins"] : {};
  const others = isFields(plugins["entries"]) ? plugins["entries"] : {};
  const sections = channels.flatMap((id) =>
    Object.hasOwn(config.channels, id) ? [[id, revealSecrets(config.channels[id])] as const] : [],
  );
  const shownChannels = isFields(shown["channels"]) ? shown["channels"] : {};
  const own = { ...shownChannels, ...Object.fromEntries(sections) };
  return {
    ...shown,
    channels: own,
    plugins: { ...plugins, entries: { ...others, [plugin]: settingsFor(config, plugin) } },
  };
}

/** `plugins.entries.<id>` with its secrets as text; an empty object when there is no entry. */
export function settingsFor({ plugins: { entries } }: Config, plugin: string): Readonly<Record<string, unknown>> {
  const own = Object.hasOwn(entries, plugin) ? revealSecrets(entries[plugin]) : undefined;
  return isFields(own) ? own : {};
}
