import { channelKeysOf, configSchemaOf } from "../../plugins/manifest/config-schema.ts";
import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import type { Schemas } from "./check.ts";

interface Contributed extends Schemas {
  readonly toolNames?: readonly string[] | undefined;
}

/**
 * The schemas and tool names of contributors that are loaded, with those that the manifests of found plugins declare. The
 * config can so be checked, and its keys be known, before any plugin's code runs.
 */
export function schemasOfFound(plugins: readonly FoundPlugin[], contributed: Contributed): Contributed {
  const channels = plugins.flatMap(({ manifest }) =>
    manifest.channels.map(({ id, schema }) => [id, channelKeysOf(schema ?? {})] as const),
  );
  const { channelSchemas, pluginSchemas = {}, toolNames = [] } = contributed;
  const found = plugins.filter(({ manifest }) => !Object.hasOwn(pluginSchemas, manifest.id));
  return {
    pluginSchemas,
    foundSchemas: Object.fromEntries(found.map(({ manifest }) => [manifest.id, configSchemaOf(manifest)])),
    channelSchemas: channelSchemas && { ...Object.fromEntries(channels), ...channelSchemas },
    toolNames: [...toolNames, ...plugins.flatMap(toolNamesOf)],
  };
}

/** Lists of tools can name a plugin's tools, its id and the group of all plugins. */
const toolNamesOf = ({ manifest: { id, tools = [] } }: FoundPlugin): readonly string[] => [
  id,
  "group:plugins",
  ...tools,
];
