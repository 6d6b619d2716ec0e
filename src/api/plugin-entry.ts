/** Module for the entry of a plugin: `openclaw/plugin-sdk/plugin-entry`. */

/** The object that `register` gets; docs/reference/plugins.md lists its members. */
// oxlint-disable-next-line typescript/no-explicit-any -- plugins of the field compile against members of many shapes
export type OpenClawPluginApi = any;

export interface PluginEntryDefinition {
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  readonly version?: string;
  readonly kind?: string | readonly string[];
  readonly configSchema?: unknown;
  register(api: OpenClawPluginApi): void;
}

/** The definition as it is; it gives the object its type. */
export const definePluginEntry = (definition: PluginEntryDefinition): PluginEntryDefinition => definition;

/** A schema that allows no settings. */
export const emptyPluginConfigSchema = () => ({ type: "object", additionalProperties: false, properties: {} });
