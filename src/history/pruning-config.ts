import { z } from "zod";
import { about } from "../utils/config.ts";
import { readDuration } from "../utils/duration.ts";
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
export const pruningConfig = z.strictObject({
  mode: z
    .enum(["off", "cache-ttl"])
    .default("off")
    .meta(
      about(
        "Mode",
        "`cache-ttl` shortens old tool results once the provider's prompt cache has forgotten the conversation; it counts only for models with such a cache.",
      ),
    ),
  ttl: duration
    .prefault("5m")
    .meta(about("Cache time", "How long the provider's cache keeps a request: `5m`, `1h`. A bare number is minutes.")),
  keepLastAssistants: z
    .int()
    .min(0)
    .default(PRUNE_DEFAULTS.keepLastAssistants)
    .meta(about("Kept answers", "Results since this many answers ago stay as they are.")),
  softTrimRatio: ratio
    .default(PRUNE_DEFAULTS.softTrimRatio)
    .meta(about("Trim from", "Part of the window that has to be full before results are trimmed.")),
  hardClearRatio: ratio
    .default(PRUNE_DEFAULTS.hardClearRatio)
    .meta(about("Clear from", "Part of the window that has to be full before the oldest results are cleared.")),
  minPrunableToolChars: chars
    .default(PRUNE_DEFAULTS.minPrunableToolChars)
    .meta(about("Least to clear", "Results are cleared only when this many characters of them could be.")),
  tools: z
    .strictObject({
      allow: names
        .prefault([...tools.allow])
        .meta(about("Allow", "Tools whose results may be pruned, `*` for any letters; all when empty.")),
      deny: names.prefault([...tools.deny]).meta(about("Deny", "Tools whose results stay whole; wins over `allow`.")),
    })
    .prefault({})
    .meta(about("Tools", "Whose results are pruned.")),
  softTrim: z
    .strictObject({
      maxChars: chars.default(softTrim.maxChars).meta(about("Longest", "Longer results are trimmed.")),
      headChars: chars.default(softTrim.headChars).meta(about("Head", "Characters that stay of the beginning.")),
      tailChars: chars.default(softTrim.tailChars).meta(about("Tail", "Characters that stay of the end.")),
    })
    .prefault({})
    .meta(about("Trimming", "What stays of a long result.")),
  hardClear: z
    .strictObject({
      enabled: z.boolean().default(hardClear.enabled).meta(about("On", "Whether results are ever cleared.")),
      placeholder: z
        .string()
        .min(1)
        .default(hardClear.placeholder)
        .meta(about("Placeholder", "What stands in place of a cleared result.")),
    })
    .prefault({})
    .meta(about("Clearing", "What becomes of the oldest results.")),
});
