import { z } from "zod";
import { agentsConfig } from "../../../automation/config.ts";
import { audioConfig } from "../../../channels/audio-config.ts";
import { bindingsConfig } from "../../../channels/routing/bindings.ts";
import { channelsConfig } from "../../../channels/config.ts";
import { approvalsConfig, commandsConfig, diagnosticsConfig, messagesConfig } from "../../../dispatch/config.ts";
import { pluginsConfig } from "../../../plugins/config.ts";
import { skillsConfig } from "../../../prompt/config.ts";
import { authConfig, modelsConfig } from "../../../providers/config.ts";
import { gatewayConfig } from "../../../server/config.ts";
import { sessionConfig } from "../../../sessions/config.ts";
import { backupConfig, journalConfig, retentionConfig } from "../../../store/config.ts";
import { toolsConfig } from "../../../tools/config.ts";
import { about } from "../../../utils/config.ts";
import {
  broadcastConfig,
  browserConfig,
  budgetsConfig,
  cronConfig,
  hooksConfig,
  envConfig,
  loggingConfig,
  mcpConfig,
  memoryConfig,
  secretsConfig,
  securityConfig,
} from "./base.ts";

/** The schema of `openclaw.json`, composed from the slices of the modules. */
export const configSchema = z.strictObject({
  $schema: z
    .string()
    .optional()
    .meta(about("Schema", "Address of the JSON Schema, for editors.", "./docs/openclaw.schema.json")),
  gateway: gatewayConfig.prefault({}).meta(about("Gateway", "Address, clients and page of the server.")),
  agents: agentsConfig
    .prefault({})
    .meta(about("Agents", "The agents: which agent answers, with which model and settings.")),
  models: modelsConfig.prefault({}).meta(about("Models", "Model providers.")),
  auth: authConfig.prefault({}).meta(about("Keys", "Keys of providers: their order and cooldowns.")),
  budgets: budgetsConfig
    .prefault({})
    .meta(about("Budgets", "How much models may be used, in money or in tokens. Nothing is limited when unset.")),
  tools: toolsConfig.prefault({}).meta(about("Tools", "The tools of agents, and who may use them.")),
  browser: browserConfig.prefault({}).meta(about("Browser", "The browser that agents can use.")),
  memory: memoryConfig.prefault({}).meta(about("Memory", "How agents name the notes that they use.")),
  mcp: mcpConfig.prefault({}).meta(about("MCP", "Servers of the Model Context Protocol, whose tools agents can use.")),
  session: sessionConfig
    .prefault({})
    .meta(about("Sessions", "Which messages share a conversation, and when a conversation begins anew.")),
  messages: messagesConfig.prefault({}).meta(about("Messages", "How messages are collected and answered.")),
  commands: commandsConfig.prefault({}).meta(about("Commands", "Commands in chats.")),
  approvals: approvalsConfig
    .prefault({})
    .meta(about("Approvals", "Where the questions whether a command may run are shown.")),
  channels: channelsConfig.prefault({}).meta(
    about("Channels", "Chat platforms by name.", {
      telegram: { botToken: "${TELEGRAM_BOT_TOKEN}", allowFrom: ["123456789"] },
    }),
  ),
  audio: audioConfig.prefault({}).meta(about("Audio", "Transcription of recordings.")),
  cron: cronConfig.prefault({}).meta(about("Scheduled jobs", "What agents do at certain times.")),
  hooks: hooksConfig.prefault({}).meta(about("Hooks", "Requests of other programs that wake agents.")),
  bindings: bindingsConfig
    .prefault([])
    .meta(about("Bindings", "Which agent answers in which chat. The default agent answers everywhere else.")),
  broadcast: broadcastConfig
    .prefault({})
    .meta(about("Broadcast", "Chats that several agents answer, each in its own session.")),
  skills: skillsConfig.prefault({}).meta(about("Skills", "Instructions that agents can read when they need them.")),
  plugins: pluginsConfig.prefault({}).meta(about("Plugins", "Settings of plugins.")),
  journal: journalConfig.prefault({}).meta(about("Journal", "How the journal is written.")),
  retention: retentionConfig
    .prefault({})
    .meta(about("Retention", "How long finished data is kept, and how much of it.")),
  backup: backupConfig.prefault({}).meta(about("Backup", "Backups that the gateway makes by itself.")),
  diagnostics: diagnosticsConfig.prefault({}).meta(about("Diagnostics", "What the gateway watches in itself.")),
  logging: loggingConfig.prefault({}).meta(about("Logging", "Log files and console output.")),
  security: securityConfig.prefault({}).meta(about("Security", "What the operator allows beside the other sections.")),
  secrets: secretsConfig.prefault({}).meta(about("Secrets", "Where the secrets are that the config refers to.")),
  env: envConfig.prefault({}).meta(about("Environment", "Environment variables.")),
});

export type Config = z.output<typeof configSchema>;

const SECRET_SHAPE = {
  type: "object",
  properties: {
    source: { type: "string", enum: ["env", "file", "exec"] },
    provider: { type: "string" },
    id: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] },
  },
  required: ["source", "id"],
  additionalProperties: false,
};

/** JSON Schema of the config as a person may write it, for editors and `openclaw config schema`. */
export const jsonSchema = (): Record<string, unknown> => describeSchema(configSchema);

/**
 * The JSON Schema of a part, with secrets as people write them. `hasMarks`: with the marks that are for the gateway,
 * not for editors.
 */
export function describeSchema(schema: z.ZodType, hasMarks = false): Record<string, unknown> {
  return {
    ...z.toJSONSchema(schema, {
      io: "input",
      unrepresentable: "any",
      override({ zodSchema, jsonSchema: node }) {
        if (zodSchema._zod.def.type === "custom") Object.assign(node, SECRET_SHAPE);
        if (hasMarks) return;
        delete node["login"];
        delete node["applies"];
        if ("example" in node) node["examples"] = [node["example"]];
        delete node["example"];
      },
    }),
  };
}
