import { z } from "zod";
import { about } from "../utils/config.ts";
import { compactionConfig, contextLimitsConfig } from "./compaction/config.ts";
import { readDuration } from "../utils/time/duration.ts";
import { PRUNE_DEFAULTS } from "./prune.ts";

const { softTrim, hardClear, tools } = PRUNE_DEFAULTS;
const chars = z.int().min(0);
const ratio = z.number().min(0).max(1);
const names = z.array(z.string().min(1));

const duration = z.string().transform((text, context) => {
  const ms = readDuration(text);
  if (ms !== undefined) return ms;
  context.addIssue({ code: "custom", message: "write it as 5m, 90s or 1h", input: text });
  return z.NEVER;
});

/** `agents.defaults.contextPruning`, in the field's names. */
const pruningConfig = z.strictObject({
  mode: z
    .enum(["off", "cache-ttl"])
    .default("off")
    .meta(
      about(
        "Mode",
        "`cache-ttl` shortens old tool results when the provider's prompt cache no longer holds the conversation. It applies only to models with such a cache.",
      ),
    ),
  ttl: duration
    .prefault("5m")
    .meta(about("Cache time", "How long the provider's cache keeps a request: `5m`, `1h`. A bare number is minutes.")),
  keepLastAssistants: z
    .int()
    .min(0)
    .default(PRUNE_DEFAULTS.keepLastAssistants)
    .meta(about("Kept answers", "Results of this many newest answers stay unchanged.")),
  softTrimRatio: ratio
    .default(PRUNE_DEFAULTS.softTrimRatio)
    .meta(about("Trim from", "Share of the window that must be full before results are trimmed.")),
  hardClearRatio: ratio
    .default(PRUNE_DEFAULTS.hardClearRatio)
    .meta(about("Clear from", "Share of the window that must be full before the oldest results are cleared.")),
  minPrunableToolChars: chars
    .default(PRUNE_DEFAULTS.minPrunableToolChars)
    .meta(about("Least to clear", "Results are cleared only when at least this many characters can be cleared.")),
  tools: z
    .strictObject({
      allow: names
        .prefault([...tools.allow])
        .meta(about("Allow", "Tools whose results may be pruned; `*` matches any characters. All tools when empty.")),
      deny: names
        .prefault([...tools.deny])
        .meta(about("Deny", "Tools whose results are never pruned; has priority over `allow`.")),
    })
    .prefault({})
    .meta(about("Tools", "The tools whose results are pruned.")),
  softTrim: z
    .strictObject({
      maxChars: chars.default(softTrim.maxChars).meta(about("Longest", "Results with more characters are trimmed.")),
      headChars: chars
        .default(softTrim.headChars)
        .meta(about("Head", "Characters kept from the beginning of a trimmed result.")),
      tailChars: chars
        .default(softTrim.tailChars)
        .meta(about("Tail", "Characters kept from the end of a trimmed result.")),
    })
    .prefault({})
    .meta(about("Trimming", "How long results are trimmed.")),
  hardClear: z
    .strictObject({
      enabled: z.boolean().default(hardClear.enabled).meta(about("On", "Allows clearing of results.")),
      placeholder: z
        .string()
        .min(1)
        .default(hardClear.placeholder)
        .meta(about("Placeholder", "Text that replaces a cleared result.")),
    })
    .prefault({})
    .meta(about("Clearing", "How the oldest results are cleared.")),
});

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
