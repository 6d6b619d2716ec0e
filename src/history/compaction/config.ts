import { z } from "zod";
import { about } from "../../utils/config.ts";

const tokens = z.int().min(0);

const memoryFlush = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .meta(about("Enabled", "Gives the agent a silent turn to save notes before a compaction is due.")),
  softThresholdTokens: tokens
    .default(4000)
    .meta(about("Soft threshold", "The memory flush runs this many tokens before a compaction is due.")),
  prompt: z
    .string()
    .min(1)
    .optional()
    .meta(
      about("Prompt", "User text of the memory flush; `YYYY-MM-DD` becomes the date. The agent answers `NO_REPLY`."),
    ),
  systemPrompt: z
    .string()
    .min(1)
    .optional()
    .meta(about("System prompt", "Text in the system prompt of the memory flush.")),
});

/** `agents.defaults.compaction` */
export const compactionConfig = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .meta(
      about(
        "Enabled",
        "Compacts by itself. When false only `/compact` and clients do, and what does not fit the window is left out of requests.",
      ),
    ),
  mode: z
    .enum(["default", "safeguard"])
    .default("safeguard")
    .meta(
      about(
        "Mode",
        "How the older part is summarised. `safeguard`: in pieces, smaller for larger messages, then merged. `default`: in one call if it fits the window of the model that writes the summary.",
      ),
    ),
  reserveTokens: tokens
    .default(16_384)
    .meta(about("Reserve", "Tokens of the model's window that stay free for the next turn and its answer.")),
  reserveTokensFloor: tokens
    .default(20_000)
    .meta(about("Reserve floor", "Least value of `reserveTokens`; never more than a quarter of the window.")),
  keepRecentTokens: tokens
    .default(20_000)
    .meta(about("Kept turns", "Tokens of the newest turns that a compaction keeps unchanged.")),
  model: z
    .string()
    .regex(/^[^/\s]+\/\S+$/, "write it as provider/model")
    .optional()
    .meta(about("Model", "Model that writes the summary, as `provider/model`; the conversation's model when unset.")),
  timeoutSeconds: z
    .int()
    .min(1)
    .max(3600)
    .default(180)
    .meta(
      about("Time limit", "Seconds after which a plain list of the messages replaces a summary that is not finished."),
    ),
  customInstructions: z.string().optional().meta(about("Instructions", "Additional instructions for every summary.")),
  identifierPolicy: z
    .enum(["strict", "off", "custom"])
    .default("strict")
    .meta(
      about(
        "Identifiers",
        "How a summary treats names, ids, paths and numbers: `strict` keeps them exactly, `off` leaves them to the model, `custom` follows `identifierInstructions`.",
      ),
    ),
  identifierInstructions: z
    .string()
    .optional()
    .meta(about("Identifier instructions", "Instructions for names and ids with `identifierPolicy: custom`.")),
  memoryFlush: memoryFlush
    .prefault({})
    .meta(about("Memory flush", "A silent turn in which the agent saves notes before a compaction.")),
  postCompactionSections: z
    .array(z.string().min(1))
    .prefault(["Session Startup", "Red Lines"])
    .meta(
      about("Sections shown again", "Headings in `AGENTS.md` whose text the next turn after a compaction shows again."),
    ),
  notifyUser: z.boolean().default(false).meta(about("Notice", "Sends one line to the chat after a compaction.")),
});

const toolResultMaxChars = z
  .int()
  .min(500)
  .max(1_000_000)
  .optional()
  .meta(
    about(
      "Tool results",
      "Characters that a model gets of one tool result, from its beginning and its end; the rest is in a file that `read` opens. When unset, 16,000, 32,000 or 64,000 by the model's window; never more than 30 % of it.",
      16_000,
    ),
  );
const postCompactionMaxChars = z.int().min(0);
const sectionsShown = about("Sections after a compaction", "Characters of the text of `postCompactionSections`.");

/** `agents.defaults.contextLimits` */
export const contextLimitsConfig = z.strictObject({
  toolResultMaxChars,
  postCompactionMaxChars: postCompactionMaxChars.default(3000).meta(sectionsShown),
});

/** The same for one agent. */
export const ownContextLimitsConfig = z.strictObject({
  toolResultMaxChars,
  postCompactionMaxChars: postCompactionMaxChars.optional().meta(sectionsShown),
});

type CompactionConfig = z.output<typeof compactionConfig>;

/** How a summary treats names and ids. Undefined for the default text. */
export function identifiersOf({
  identifierPolicy,
  identifierInstructions,
}: Pick<CompactionConfig, "identifierPolicy" | "identifierInstructions">): string | undefined {
  if (identifierPolicy === "off") return "";
  return identifierPolicy === "custom" ? identifierInstructions : undefined;
}
