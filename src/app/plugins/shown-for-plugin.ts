import type { PluginManifest } from "../../types/plugin/manifest.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { revealSecrets } from "../../utils/secrets/reveal.ts";
import { shownConfig } from "../config/shown.ts";
import type { Config } from "../config/schema/schema.ts";

/**
 * The config as one plugin sees it: its own settings and those of its channels and providers with their secrets, all
 * others masked.
 */
export function shownForPlugin(config: Config, { id, channels, providers }: Owner): unknown {
  const shown = shownConfig(config);
  if (!isFields(shown)) return shown;
  const own = (section: Fields, ids: readonly string[]) =>
    Object.fromEntries(
      ids.flatMap((name) => (Object.hasOwn(section, name) ? [[name, revealSecrets(section[name])]] : [])),
    );
  const models = fieldsIn(shown, "models");
  const plugins = fieldsIn(shown, "plugins");
  const ofProviders = own(config.models.providers, providers);
  const ofChannels = own(
    config.channels,
    channels.map((channel) => channel.id),
  );
  return {
    ...shown,
    channels: { ...fieldsIn(shown, "channels"), ...ofChannels },
    models: { ...models, providers: { ...fieldsIn(models, "providers"), ...ofProviders } },
    plugins: { ...plugins, entries: { ...fieldsIn(plugins, "entries"), [id]: settingsFor(config, id) } },
  };
}

/** The plugin, with the channels and providers whose secrets it sees. */
type Owner = Pick<PluginManifest, "id" | "channels" | "providers">;

function fieldsIn(fields: Fields, key: string): Fields {
  const value = fields[key];
  return isFields(value) ? value : {};
}

/** `plugins.entries.<id>` with its secrets as text; an empty object when there is no entry. */
export function settingsFor({ plugins: { entries } }: Config, plugin: string): Readonly<Record<string, unknown>> {
  const own = Object.hasOwn(entries, plugin) ? revealSecrets(entries[plugin]) : undefined;
  return isFields(own) ? own : {};
}
