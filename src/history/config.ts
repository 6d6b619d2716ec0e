import { z } from "zod";
import { about } from "../utils/config.ts";
import { compactionConfig, contextLimitsConfig } from "./compaction/config.ts";
import { pruningConfig } from "./pruning-config.ts";

/** Keys of `agents.defaults` that say how much the model remembers. */
export const historyDefaultsShape = {
  contextTokens: z
    .int()
    .min(1000)
    .optional()
    .meta(about("Context tokens", "Cap on the model's context window in tokens; the model's own window when unset.")),
  compaction: compactionConfig
    .prefault({})
    .meta(
      about("Compaction", "How the older part of a conversation becomes a summary when the model's window is full."),
    ),
  contextLimits: contextLimitsConfig
    .prefault({})
    .meta(about("Context limits", "How much of some things the model is shown at most.")),
  contextPruning: pruningConfig
    .prefault({})
    .meta(about("Pruning", "When old tool results are shortened in what a model is shown; never in the transcript.")),
  imageMaxDimensionPx: z
    .int()
    .min(64)
    .max(10_000)
    .default(1200)
    .meta(
      about("Image size", "Longest side in pixels of an image that a model is shown; larger ones are made smaller."),
    ),
};
