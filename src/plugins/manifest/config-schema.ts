import { z } from "zod";
import type { PluginManifest } from "../../types/plugin/manifest.ts";

/**
 * The config schema of a manifest as a Zod schema, so that the config can be checked while the plugin is not loaded. A
 * schema that cannot be read accepts every object: the plugin itself checks its settings then.
 */
export function configSchemaOf({ configSchema }: Pick<PluginManifest, "configSchema">): z.ZodType {
  return schemaOf(configSchema);
}

/** The Zod schema of a JSON Schema from outside. Never throws. */
export function schemaOf(jsonSchema: Readonly<Record<string, unknown>>): z.ZodType {
  try {
    return z.fromJSONSchema(structuredClone(jsonSchema));
  } catch {
    return z.record(z.string(), z.unknown());
  }
}
