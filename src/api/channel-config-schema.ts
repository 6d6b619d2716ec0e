/** `openclaw/plugin-sdk/channel-config-schema`. */
import { z } from "zod";

/** The config schema of a channel in both forms: JSON Schema for checks without the plugin's code, and its parser. */
export interface ChannelConfigSchema {
  readonly schema: Record<string, unknown>;
  safeParse(value: unknown): unknown;
}

/** Makes `configSchema` of a channel from a Zod schema; one that has no JSON Schema accepts every object. */
export function buildChannelConfigSchema(schema: {
  safeParse(value: unknown): unknown;
  toJSONSchema?(options?: object): unknown;
}): ChannelConfigSchema {
  return { schema: jsonSchemaOf(schema), safeParse: (value) => schema.safeParse(value) };
}

/** The plugin's own Zod makes it, because that may be another version than the gateway's. */
function jsonSchemaOf(schema: { toJSONSchema?(options?: object): unknown }): Record<string, unknown> {
  try {
    const options = { unrepresentable: "any", io: "input" };
    const made = schema.toJSONSchema?.(options) ?? (schema instanceof z.ZodType ? z.toJSONSchema(schema) : undefined);
    if (typeof made === "object" && made !== null) return { ...made };
  } catch {
    // A schema with functions, for example: the plugin's own parser checks the values.
  }
  return { type: "object", additionalProperties: true };
}
