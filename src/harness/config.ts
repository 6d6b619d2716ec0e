import { z } from "zod";
import { ownContextLimitsConfig } from "../history/compaction/config.ts";
import { historyDefaultsShape } from "../history/config.ts";
import { promptDefaultsShape } from "../prompt/config.ts";
import { ownHumanDelayConfig, replyDefaultsShape } from "../reply/config.ts";
import { agentToolsConfig } from "../tools/config.ts";
import { THINK_LEVELS } from "../types/run/model.ts";
import { about, makes } from "../utils/config.ts";
import { compilePattern } from "../utils/text/pattern.ts";

const isPattern = makes(compilePattern);

const modelName = z
  .string()
  .regex(/^[^/\s]+\/\S+$/, "write it as provider/model")
  .meta(about("Model", "`provider/model`."));

const modelChoice = z.union([
  modelName,
  z.strictObject({
    primary: modelName.optional().meta(about("Primary", "The model that is asked first, as `provider/model`.")),
    fallbacks: z
      .array(modelName)
      .prefault([])
      .meta(about("Fallbacks", "Models that are asked in turn when the one before fails.")),
  }),
]);

const thinking = z.union([z.enum(THINK_LEVELS), z.literal("adaptive"), z.literal("max")]);

const params = z.strictObject({
  temperature: z
    .number()
    .min(0)
    .max(2)
    .optional()
    .meta(
      about("Temperature", "0 draws the likeliest word each time. Some models take none, and none while they think."),
    ),
  topP: z
    .number()
    .gt(0)
    .max(1)
    .optional()
    .meta(about("Top P", "Words are drawn from this share of the likeliest. Codex's server takes none.")),
  maxTokens: z
    .int()
    .min(1)
    .optional()
    .meta(about("Answer limit", "Tokens of one answer, up to the model's own limit.")),
});

/** A last part of `*` matches any model of a provider. */
const allowedModels = z
  .record(
    z.string(),
    z.looseObject({
      alias: z
        .string()
        .regex(/^[^\s/@]{1,64}$/)
        .optional()
        .meta(
          about(
            "Alias",
            "A short name, which `/model` takes too and the system prompt names; no blanks, slashes or `@`.",
          ),
        ),
      params: params.optional().meta(about("Parameters", "Parameters of this model, over those of all.")),
    }),
  )
  .optional()
  .meta(
    about(
      "Models",
      "The models that may be chosen for a conversation, as `provider/model` or `provider/*`, beside the agent's own; any when unset or empty.",
    ),
  );

/** `agents.defaults`, as far as the rooms below know it. */
export const agentDefaultsConfig = z.strictObject({
  model: modelChoice
    .optional()
    .meta(
      about(
        "Model",
        "Model of the agents, `provider/model` or primary and fallbacks. Found out when unset.",
        "anthropic/claude-sonnet-4-5",
      ),
    ),
  agentId: z
    .string()
    .optional()
    .meta(
      about(
        "Default agent",
        "Id of the agent that answers when nothing else is said; `default: true` in the list goes before it.",
      ),
    ),
  models: allowedModels,
  params: params
    .prefault({})
    .meta(about("Parameters", "How the models draw their answers; their own choice when unset.")),
  thinkingDefault: thinking
    .default("off")
    .meta(about("Thinking", "How much the model thinks. `adaptive` counts as `medium`, `max` as `xhigh`.")),
  timeoutSeconds: z.int().min(1).max(2_000_000).default(600).meta(about("Run timeout", "Seconds a run may take.")),
  llm: z
    .strictObject({
      idleTimeoutSeconds: z
        .int()
        .min(1)
        .max(300)
        .default(120)
        .meta(about("Idle timeout", "Seconds without a sign of the model after which a call has stalled.")),
    })
    .prefault({})
    .meta(about("Model calls", "How models are called.")),
  maxConcurrent: z.int().min(1).default(64).meta(about("Concurrency", "Runs of all sessions at once.")),
  ...promptDefaultsShape,
  ...historyDefaultsShape,
  ...replyDefaultsShape,
});

const { workspace, systemPromptOverride, skills } = promptDefaultsShape;

/** A row of `agents.list`, as far as the rooms below know it. */
export const agentEntryConfig = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/i, "letters, digits, - and _, at most 64")
    .meta(about("Id", "Name of the agent in session keys and on the command line.")),
  models: allowedModels,
  params: params.prefault({}).meta(about("Parameters", "As in `agents.defaults.params`, over them.")),
  default: z.boolean().default(false).meta(about("Default", "The agent that answers when nothing else is said.")),
  name: z.string().optional().meta(about("Name", "Shown to people.")),
  identity: z
    .strictObject({
      name: z.string().optional().meta(about("Name", "What it calls itself; `name` when unset.")),
    })
    .prefault({})
    .meta(about("Identity", "Who the agent is in chats.")),
  workspace,
  systemPromptOverride,
  skills,
  model: modelChoice.optional().meta(about("Model", "As in `agents.defaults.model`.")),
  thinkingDefault: thinking.optional().meta(about("Thinking", "As in `agents.defaults.thinkingDefault`.")),
  contextTokens: historyDefaultsShape.contextTokens,
  contextLimits: ownContextLimitsConfig
    .optional()
    .meta(about("Context limits", "As in `agents.defaults.contextLimits`, over them.")),
  bootstrapMaxChars: z.int().min(1).optional().meta(about("Bootstrap file size", "As in `agents.defaults`.")),
  bootstrapTotalMaxChars: z.int().min(1).optional().meta(about("Bootstrap total size", "As in `agents.defaults`.")),
  humanDelay: ownHumanDelayConfig
    .optional()
    .meta(about("Pause between blocks", "As in `agents.defaults.humanDelay`, over it.")),
  tools: agentToolsConfig.prefault({}).meta(about("Tools", "Tool policy of this agent over the one of `tools`.")),
  groupChat: z
    .strictObject({
      mentionPatterns: z
        .array(z.string().refine(isPattern, "is no regular expression"))
        .optional()
        .meta(about("Mention patterns", "As in `messages.groupChat.mentionPatterns`, instead of them.")),
    })
    .prefault({})
    .meta(about("Group chats", "Behaviour of this agent in groups.")),
});
