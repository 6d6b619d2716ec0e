/** Entries of plugins that bring a channel. */
import { definePluginEntry, emptyPluginConfigSchema, type OpenClawPluginApi } from "../plugin-entry.ts";

export interface ChannelEntryOptions {
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  /** The channel, as `registerChannel` takes it. */
  readonly plugin: unknown;
  /** A schema, or a function that makes it. */
  readonly configSchema?: unknown;
  /** Gets `api.runtime` before anything else is registered. */
  setRuntime?(runtime: unknown): void;
  /** Registers commands of the command line, in a process that only wants these. */
  registerCliMetadata?(api: OpenClawPluginApi): void;
  /** Registers everything else, where the gateway runs the plugin. */
  registerFull?(api: OpenClawPluginApi): void;
}

export function defineChannelPluginEntry({
  plugin,
  configSchema,
  setRuntime,
  registerCliMetadata,
  registerFull,
  ...facts
}: ChannelEntryOptions) {
  const schema: unknown =
    typeof configSchema === "function" ? Reflect.apply(configSchema, undefined, []) : configSchema;
  return definePluginEntry({
    ...facts,
    configSchema: schema ?? emptyPluginConfigSchema(),
    register(api) {
      const mode: unknown = api.registrationMode;
      if (mode !== "cli-metadata") {
        setRuntime?.(api.runtime);
        api.registerChannel({ plugin });
      }
      registerCliMetadata?.(api);
      if (mode === "full") registerFull?.(api);
    },
  });
}
