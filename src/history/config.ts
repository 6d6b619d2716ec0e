import { z } from "zod";
import { about } from "../utils/config.ts";

const tokens = z.int().min(0);

const compaction = z.strictObject({
  reserveTokens: tokens
    .default(16_384)
    .meta(about("Reserve", "Tokens of the model's window that stay free for the next turn and its answer.")),
  reserveTokensFloor: tokens
    .default(20_000)
    .meta(
      about("Reserve floor", "`reserveTokens` counts at least this much; never more than a quarter of the window."),
    ),
  keepRecentTokens: tokens
    .default(20_000)
    .meta(about("Kept turns", "Tokens of the newest turns that a compaction leaves as they are.")),
  model: z
    .string()
    .regex(/^[^/\s]+\/\S+$/, "write it as provider/model")
    .optional()
    .meta(about("Model", "The model that writes the summary, as `provider/model`; the conversation's own when unset.")),
  timeoutSeconds: z
    .int()
    .min(1)
    .max(3600)
    .default(180)
    .meta(about("Time limit", "Seconds until a short list of what was said takes the place of a summary.")),
  customInstructions: z.string().optional().meta(about("Instructions", "What else every summary is to heed.")),
});

/** Keys of `agents.defaults` that say how much the model remembers. */
export const historyDefaultsShape = {
  contextTokens: z
    .int()
    .min(1000)
    .optional()
    .meta(about("Context tokens", "Cap on the model's context window in tokens; the model's own window when unset.")),
  compaction: compaction
    .prefault({})
    .meta(
      about("Compaction", "How the older part of a conversation becomes a summary when the model's window is full."),
    ),
};
