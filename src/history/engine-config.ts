import { z } from "zod";
import { about } from "../utils/config.ts";

const seconds = (usual: number) => z.int().min(1).max(3600).default(usual);

const timeouts = z.strictObject({
  bootstrap: seconds(60).meta(about("Bootstrap", "Seconds to create the engine and to read a conversation in.")),
  assemble: seconds(15).meta(about("Assemble", "Seconds to assemble what the model sees.")),
  afterTurn: seconds(60).meta(about("After a turn", "Seconds to take in the messages of a turn.")),
  compact: seconds(180).meta(about("Compact", "Seconds for a compaction.")),
  maintain: seconds(300).meta(about("Maintain", "Seconds for maintenance in the background.")),
  dispose: seconds(5).meta(about("Dispose", "Seconds to release the engine.")),
});

/** `plugins.*` */
export const pluginsConfig = z.strictObject({
  slots: z
    .strictObject({
      contextEngine: z
        .string()
        .min(1)
        .default("legacy")
        .meta(
          about(
            "Context engine",
            "Id of the context engine, which decides what the model sees; `legacy` is the built-in one.",
          ),
        ),
    })
    .prefault({})
    .meta(about("Slots", "Features of which only one plugin can be active.")),
  entries: z
    .record(
      z.string(),
      z.strictObject({
        config: z.unknown().optional().meta(about("Config", "The plugin's own settings; the plugin defines the keys.")),
      }),
    )
    .prefault({})
    .meta(about("Entries", "Settings of plugins, by their ids.")),
  contextEngineTimeoutSeconds: timeouts
    .prefault({})
    .meta(about("Engine time limits", "Time limits for calls of a context engine.")),
});

export type PluginsConfig = z.output<typeof pluginsConfig>;
