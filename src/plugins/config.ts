import { z } from "zod";
import { about } from "../utils/config.ts";

const entry = z.looseObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "Loads the plugin.")),
  config: z
    .record(z.string(), z.unknown())
    .prefault({})
    .meta(about("Config", "What the plugin's own schema asks for.")),
});

/** `plugins.*` */
export const pluginsConfig = z.strictObject({
  entries: z.record(z.string(), entry).prefault({}).meta(about("Entries", "Settings per plugin, by its id.")),
});

export type PluginsConfig = z.output<typeof pluginsConfig>;
