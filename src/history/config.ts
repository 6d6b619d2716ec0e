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
    .meta(about("Context tokens", "Limit of the context window in tokens; the model's own window when unset.")),
  compaction: compactionConfig
    .prefault({})
    .meta(
      about("Compaction", "Replaces the older part of a conversation by a summary when the model's window is full."),
    ),
  contextLimits: contextLimitsConfig
    .prefault({})
    .meta(about("Context limits", "Limits of single parts of what the model is shown.")),
  contextPruning: pruningConfig
    .prefault({})
    .meta(about("Pruning", "Shortens old tool results in what a model is shown. The transcript keeps them.")),
  imageMaxDimensionPx: z
    .int()
    .min(64)
    .max(10_000)
    .default(1200)
    .meta(about("Image size", "Longest side in pixels of an image for a model; larger images are scaled down.")),
};
