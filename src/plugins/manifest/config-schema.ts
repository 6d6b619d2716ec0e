import { z } from "zod";
import type { PluginManifest } from "../../types/plugin/manifest.ts";
import { isFields } from "../../utils/fields.ts";
import { fromJsonSchema } from "../../utils/json-schema/from-json-schema.ts";

/**
 * The config schema of a manifest as a Zod schema, so that the config can be checked while the plugin is not loaded. A
 * schema that cannot be read accepts every object: the plugin itself checks its settings then.
 */
export function configSchemaOf({ configSchema }: Pick<PluginManifest, "configSchema">): z.ZodType {
  return schemaOf(configSchema);
}

/** The schema of a channel's section. The gateway has keys of its own in it, so that unknown keys are never refused. */
export function channelSchemaOf(jsonSchema: Readonly<Record<string, unknown>>): z.ZodType {
  return schemaOf({ type: "object", ...jsonSchema, additionalProperties: true });
}

/**
 * The keys of a channel's section, with any values: a mistyped key is reported when the config is read, and a wrong value
 * when the channel connects, so that it stops only this channel. Any key where the schema names none.
 */
export function channelKeysOf({ properties }: Readonly<Record<string, unknown>>): z.ZodType {
  const names = isFields(properties) ? Object.keys(properties) : [];
  if (names.length === 0) return z.record(z.string(), z.unknown());
  return z.looseObject(Object.fromEntries(names.map((name) => [name, z.unknown().optional()])));
}

/** The Zod schema of a JSON Schema from outside, whose checks end in time; any object when it cannot be read. Never throws. */
export const schemaOf = (jsonSchema: Readonly<Record<string, unknown>>): z.ZodType =>
  fromJsonSchema(jsonSchema) ?? z.record(z.string(), z.unknown());
