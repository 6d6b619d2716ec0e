import { z } from "zod";
import { about } from "../../utils/config.ts";

const tokens = z.int().min(0);

const memoryFlush = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .meta(
      about("Enabled", "Whether the agent gets a silent turn to write down what matters before a compaction is due."),
    ),
  softThresholdTokens: tokens
    .default(4000)
    .meta(about("Soft threshold", "Tokens before the compaction is due at which that turn comes.")),
  prompt: z
    .string()
    .min(1)
    .optional()
    .meta(about("Prompt", "What the agent is told then; `YYYY-MM-DD` becomes the date. It answers `NO_REPLY`.")),
  systemPrompt: z.string().min(1).optional().meta(about("System prompt", "Stands in the system prompt of that turn.")),
});

/** `agents.defaults.compaction` */
export const compactionConfig = z.strictObject({
  mode: z
    .enum(["default", "safeguard"])
    .default("safeguard")
    .meta(
      about(
        "Mode",
        "How the older part is summarised: `safeguard` in pieces that grow smaller with the size of the messages, then merged; `default` in one call where the writer's window takes it.",
      ),
    ),
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
  identifierPolicy: z
    .enum(["strict", "off", "custom"])
    .default("strict")
    .meta(
      about(
        "Identifiers",
        "Names, ids, paths and numbers: kept letter by letter, left to the model, or as `identifierInstructions` says.",
      ),
    ),
  identifierInstructions: z
    .string()
    .optional()
    .meta(about("Identifier instructions", "What a summary keeps of names and ids when the policy is `custom`.")),
  memoryFlush: memoryFlush
    .prefault({})
    .meta(about("Memory flush", "A silent turn of the agent's own before the older part of a conversation goes.")),
  postCompactionSections: z
    .array(z.string().min(1))
    .prefault(["Session Startup", "Red Lines"])
    .meta(
      about("Sections shown again", "Headings in `AGENTS.md` whose text the next turn is shown after a compaction."),
    ),
  notifyUser: z
    .boolean()
    .default(false)
    .meta(about("Notice", "Whether the chat is told in a line when its older part became a summary.")),
});

const toolResultMaxChars = z
  .int()
  .min(500)
  .max(1_000_000)
  .optional()
  .meta(
    about(
      "Tool results",
      "Characters of one tool's result that are kept, from its head and its tail; 50 KB of it when unset.",
      16_000,
    ),
  );
const postCompactionMaxChars = z.int().min(0);
const sectionsShown = about("Sections after a compaction", "Characters of `postCompactionSections` that are shown.");

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

/** What a summary is told of names and ids; undefined for the usual words. */
export function identifiersOf({
  identifierPolicy,
  identifierInstructions,
}: Pick<CompactionConfig, "identifierPolicy" | "identifierInstructions">): string | undefined {
  if (identifierPolicy === "off") return "";
  return identifierPolicy === "custom" ? identifierInstructions : undefined;
}
