import { z } from "zod";
import { ownContextLimitsConfig } from "../history/compaction/config.ts";
import { historyDefaultsShape } from "../history/config.ts";
import { promptDefaultsShape } from "../prompt/config.ts";
import { ownHumanDelayConfig, replyDefaultsShape } from "../reply/config.ts";
import { agentToolsConfig } from "../tools/config.ts";
import { mediaDefaultsShape } from "../tools/media/config.ts";
import { memorySearchShape } from "../tools/memory/config.ts";
import { ELEVATED_LEVELS } from "../types/run/exec-wish.ts";
import { THINK_LEVELS } from "../types/run/model.ts";
import { about } from "../utils/config.ts";
import { makes } from "../utils/makes.ts";
import { compilePattern } from "../utils/text/pattern.ts";
import { VERBOSE_LEVELS } from "../types/run/verbose.ts";

const isPattern = makes(compilePattern);

const modelName = z
  .string()
  .regex(/^[^/\s]+\/\S+$/, "write it as provider/model")
  .meta(about("Model", "Model, as `provider/model`."));

const modelChoice = z.union([
  modelName,
  z.strictObject({
    primary: modelName.optional().meta(about("Primary", "The model that is asked first, as `provider/model`.")),
    fallbacks: z
      .array(modelName)
      .prefault([])
      .meta(about("Fallbacks", "Models that are asked in this order when the one before fails.")),
  }),
]);

const verbose = z.enum(VERBOSE_LEVELS);
const thinking = z.union([z.enum(THINK_LEVELS), z.literal("adaptive"), z.literal("max")]);

const params = z.strictObject({
  temperature: z
    .number()
    .min(0)
    .max(2)
    .optional()
    .meta(
      about(
        "Temperature",
        "Randomness of answers, 0 to 2; at 0 the model picks the most likely token. Some models accept no temperature, or none while they think.",
      ),
    ),
  topP: z
    .number()
    .gt(0)
    .max(1)
    .optional()
    .meta(
      about(
        "Top P",
        "The model picks from the most likely tokens up to this share of probability. Codex's server does not accept it.",
      ),
    ),
  maxTokens: z
    .int()
    .min(1)
    .optional()
    .meta(about("Answer limit", "Most tokens of one answer, up to the model's own limit.")),
});

/** A last part of `*` matches any model of a provider. */
const allowedModels = z
  .record(
    z.string(),
    z.looseObject({
      alias: z
        .string()
        .regex(/^[^\s/@](?:[^/@\n]{0,62}[^\s/@])?$/)
        .optional()
        .meta(
          about(
            "Alias",
            "Short name that `/model` accepts and the system prompt lists; without blanks, slashes or `@`.",
          ),
        ),
      params: params.optional().meta(about("Parameters", "Parameters of this model; they override the general ones.")),
    }),
  )
  .optional()
  .meta(
    about(
      "Models",
      "Models that a conversation may choose in addition to the agent's own, as `provider/model` or `provider/*`. Any model when unset or empty.",
    ),
  );

const modelPolicy = z
  .strictObject({
    allow: z
      .array(z.string().min(1))
      .optional()
      .meta(
        about(
          "Allowed models",
          "Models that a conversation may choose in addition to the agent's own: `provider/model`, `provider/*`, or a short name of `models`. Any model when empty; what `models` says when unset.",
          ["anthropic/*"],
        ),
      ),
  })
  .optional()
  .meta(about("Model policy", "Which models a conversation may choose, where that is not each model of `models`."));

/** The keys of `agents.defaults` that this module and the modules below it know. */
export const agentDefaultsConfig = z.strictObject({
  model: modelChoice
    .optional()
    .meta(
      about(
        "Model",
        "Model of the agents: `provider/model`, or primary and fallbacks. Detected when unset.",
        "anthropic/claude-sonnet-4-5",
      ),
    ),
  agentId: z
    .string()
    .optional()
    .meta(about("Default agent", "Id of the default agent; `default: true` in `agents.list` has priority.")),
  models: allowedModels,
  modelPolicy,
  params: params
    .prefault({})
    .meta(about("Parameters", "Sampling parameters of the models; the model's defaults when unset.")),
  thinkingDefault: thinking
    .default("off")
    .meta(about("Thinking", "How much the model thinks. `adaptive` means `medium`, `max` means `xhigh`.")),
  elevatedDefault: z
    .enum(ELEVATED_LEVELS)
    .optional()
    .meta(
      about(
        "Elevated",
        "How far commands leave the sandbox in conversations without `/elevated`, for whoever `tools.elevated` lets decide " +
          "that: not at all (`off`), all by the rules of `tools.exec` (`on`), all with a question each (`ask`), or all " +
          "without questions when an owner writes (`full`). When unset, the agent may request it for one command, and a " +
          "person is asked.",
      ),
    ),
  verboseDefault: verbose
    .default("off")
    .meta(
      about(
        "Verbose",
        "What a chat sees of the tools that the agent uses: nothing, a line for each call (`on`), or also the beginning of each result (`full`).",
      ),
    ),
  timeoutSeconds: z.int().min(1).max(2_000_000).default(600).meta(about("Run timeout", "Most seconds of one run.")),
  llm: z
    .strictObject({
      idleTimeoutSeconds: z
        .int()
        .min(1)
        .max(300)
        .default(120)
        .meta(about("Idle timeout", "Seconds without data from the model after which a call has stalled.")),
    })
    .prefault({})
    .meta(about("Model calls", "Calls of models.")),
  maxConcurrent: z
    .int()
    .min(1)
    .default(1000)
    .meta(
      about(
        "Concurrency",
        "Most runs at once, over all sessions. A run that waits for its model needs some 0.3 MiB of memory and no processor.",
      ),
    ),
  ...promptDefaultsShape,
  ...historyDefaultsShape,
  ...replyDefaultsShape,
  ...mediaDefaultsShape,
  ...memorySearchShape,
});

const { workspace, systemPromptOverride, skills } = promptDefaultsShape;

/** The keys of a row of `agents.list` that this module and the modules below it know. */
export const agentEntryConfig = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/i, "letters, digits, - and _, at most 64")
    .meta(about("Id", "Name of the agent in session keys and on the command line.")),
  models: allowedModels,
  modelPolicy,
  params: params.prefault({}).meta(about("Parameters", "As in `agents.defaults.params`, which they override.")),
  default: z.boolean().default(false).meta(about("Default", "Makes this agent the default.")),
  name: z.string().optional().meta(about("Name", "Name shown to people.")),
  identity: z
    .strictObject({
      name: z
        .string()
        .optional()
        .meta(about("Name", "Name that the agent uses for itself; the agent's `name` when unset.")),
      theme: z.string().min(1).optional().meta(about("Theme", "What the agent is like, in a few words.")),
      emoji: z.string().min(1).optional().meta(about("Emoji", "Sign of the agent in lists.")),
      avatar: z
        .string()
        .min(1)
        .optional()
        .meta(
          about("Avatar", "Picture of the agent: a file of its workspace, an `https` address, or a `data:image` URI."),
        ),
    })
    .prefault({})
    .meta(about("Identity", "Identity of the agent in chats.")),
  workspace,
  agentDir: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        "Agent directory",
        "Directory of what belongs to this agent alone, such as the keys in its `auth-profiles.json`. `agents/<id>/agent` in the state directory when unset.",
      ),
    ),
  systemPromptOverride,
  skills,
  model: modelChoice.optional().meta(about("Model", "As in `agents.defaults.model`.")),
  thinkingDefault: thinking.optional().meta(about("Thinking", "As in `agents.defaults.thinkingDefault`.")),
  verboseDefault: verbose.optional().meta(about("Verbose", "As in `agents.defaults.verboseDefault`.")),
  contextTokens: historyDefaultsShape.contextTokens,
  contextLimits: ownContextLimitsConfig
    .optional()
    .meta(about("Context limits", "As in `agents.defaults.contextLimits`, which they override.")),
  bootstrapMaxChars: z.int().min(1).optional().meta(about("Bootstrap file size", "As in `agents.defaults`.")),
  bootstrapTotalMaxChars: z.int().min(1).optional().meta(about("Bootstrap total size", "As in `agents.defaults`.")),
  ...memorySearchShape,
  humanDelay: ownHumanDelayConfig
    .optional()
    .meta(about("Pause between blocks", "As in `agents.defaults.humanDelay`, which it overrides.")),
  tools: agentToolsConfig
    .prefault({})
    .meta(about("Tools", "Tool policy of this agent; it narrows and overrides `tools`.")),
  groupChat: z
    .strictObject({
      mentionPatterns: z
        .array(z.string().refine(isPattern, "is no regular expression"))
        .optional()
        .meta(about("Mention patterns", "As in `messages.groupChat.mentionPatterns`, which they replace.")),
    })
    .prefault({})
    .meta(about("Group chats", "Behaviour of this agent in groups.")),
});
