import { z } from "zod";
import { about, idList, milliseconds, secretField } from "../utils/config.ts";

const seconds = (usual: number) => z.int().min(1).max(3600).default(usual);

const timeouts = z.strictObject({
  bootstrap: seconds(60).meta(about("Bootstrap", "Seconds to create the engine and to read a conversation in.")),
  assemble: seconds(15).meta(about("Assemble", "Seconds to assemble what the model sees.")),
  afterTurn: seconds(60).meta(about("After a turn", "Seconds to take in the messages of a turn.")),
  compact: seconds(180).meta(about("Compact", "Seconds for a compaction.")),
  maintain: seconds(300).meta(about("Maintain", "Seconds for maintenance in the background.")),
  dispose: seconds(5).meta(about("Dispose", "Seconds to release the engine.")),
});

const slots = z.strictObject({
  contextEngine: z
    .string()
    .min(1)
    .default("legacy")
    .meta(
      about(
        "Context engine",
        "Id of the context engine, which decides what the model sees; `legacy` is the built-in one.",
      ),
    ),
  memory: z
    .string()
    .min(1)
    .default("memory-core")
    .meta(
      about(
        "Memory",
        "Id of the plugin that is the memory; other memory plugins stay off. `memory-core` is the built-in one, `none` is none.",
      ),
    ),
});

const hooks = z.strictObject({
  allowConversationAccess: z
    .boolean()
    .default(false)
    .meta(about("Conversation access", "Its hooks may read conversations: prompts, answers, messages.")),
  allowPromptInjection: z
    .boolean()
    .default(true)
    .meta(about("Prompt changes", "Its hooks may add to prompts; needs conversation access.")),
  timeoutMs: milliseconds
    .optional()
    .meta(about("Time limit", "Milliseconds for each call of its hooks; by the kind of hook when unset.")),
  timeouts: z
    .record(z.string(), milliseconds)
    .prefault({})
    .meta(about("Time limits", "Milliseconds by the name of a hook.")),
});

const llm = z.strictObject({
  allowModelOverride: z
    .boolean()
    .default(false)
    .meta(about("Other models", "Its model calls may name another model than the agent's.")),
  allowedModels: z
    .array(z.string())
    .optional()
    .meta(about("Allowed models", "The models that it may name, as `provider/model`; any when unset or `*`.")),
});

const subagent = z.strictObject({
  allowModelOverride: z
    .boolean()
    .default(false)
    .meta(about("Other models", "Its subagents may use another model than the agent's.")),
  allowedModels: z
    .array(z.string())
    .optional()
    .meta(
      about("Allowed models", "The models that it may name for subagents, as `provider/model`; any when unset or `*`."),
    ),
});

const entry = z.strictObject({
  enabled: z.boolean().optional().meta(about("Enabled", "Whether the plugin is loaded.")),
  config: z.unknown().optional().meta(about("Config", "The plugin's own settings; the plugin defines the keys.")),
  hooks: hooks.prefault({}).meta(about("Hooks", "What the plugin's hooks may do.")),
  llm: llm.prefault({}).meta(about("Model calls", "Model calls that the plugin makes.")),
  subagent: subagent.prefault({}).meta(about("Subagents", "Subagents that the plugin starts.")),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "a name of a variable"), secretField)
    .optional()
    .meta(about("Variables", "Environment variables for the plugin; one that is set already keeps its value.")),
  apiKey: secretField
    .optional()
    .meta(about("Key", "A key for the plugin, which reads it in its entry of the config; others see it masked.")),
});

/** `plugins.*` */
export const pluginsConfig = z.strictObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "Whether any plugin is loaded.")),
  allow: idList.prefault([]).meta(about("Allowed", "When not empty: no other plugin is loaded.")),
  deny: idList.prefault([]).meta(about("Denied", "Plugins that are never loaded.")),
  load: z
    .strictObject({
      paths: z
        .array(z.string().min(1))
        .prefault([])
        .meta(about("Paths", "Folders of plugins, or folders that hold such folders.")),
    })
    .prefault({})
    .meta(about("Load", "Where plugins are looked for, beside `extensions/` of the state directory.")),
  slots: slots.prefault({}).meta(about("Slots", "Features of which only one plugin can be active.")),
  entries: z.record(z.string(), entry).prefault({}).meta(about("Entries", "Settings of plugins, by their ids.")),
  answerTimeoutSeconds: seconds(60).meta(
    about(
      "Time limit of answers",
      "Seconds in which a plugin's HTTP route has to begin its answer, and its method of the protocol or action has to answer.",
    ),
  ),
  contextEngineTimeoutSeconds: timeouts
    .prefault({})
    .meta(about("Engine time limits", "Time limits for calls of a context engine.")),
});

export type PluginsConfig = z.output<typeof pluginsConfig>;
export type PluginEntry = z.output<typeof entry>;
