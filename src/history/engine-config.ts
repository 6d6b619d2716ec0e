import { z } from "zod";
import { about } from "../utils/config.ts";

const seconds = (usual: number) => z.int().min(1).max(3600).default(usual);

const timeouts = z.strictObject({
  bootstrap: seconds(60).meta(about("Bootstrap", "Seconds for making the engine and for reading a conversation in.")),
  assemble: seconds(15).meta(about("Assemble", "Seconds for putting together what the model sees.")),
  afterTurn: seconds(60).meta(about("After a turn", "Seconds for taking in what was said.")),
  compact: seconds(180).meta(about("Compact", "Seconds for a compaction.")),
  maintain: seconds(300).meta(about("Maintain", "Seconds for the maintenance in the background.")),
  dispose: seconds(5).meta(about("Dispose", "Seconds for letting go.")),
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
          about("Context engine", "Id of the engine that decides what the model sees; `legacy` is the built-in one."),
        ),
    })
    .prefault({})
    .meta(about("Slots", "Which plugin does what only one can do.")),
  contextEngineTimeoutSeconds: timeouts
    .prefault({})
    .meta(about("Engine time limits", "How long the gateway waits for each call of a context engine.")),
});

export type PluginsConfig = z.output<typeof pluginsConfig>;
