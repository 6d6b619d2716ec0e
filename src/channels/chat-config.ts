import { z } from "zod";
import { toolListsConfig, toolsBySenderConfig } from "../tools/config.ts";
import { about, idList } from "../utils/config.ts";

/** Characters that the operator may add to the system prompt of one chat: the limit of a workspace file. */
const MOST_CHAT_PROMPT = 20_000;

const systemPrompt = z
  .string()
  .max(MOST_CHAT_PROMPT)
  .optional()
  .meta(
    about(
      "System prompt",
      "Text that is added to the system prompt in this chat only, up to 20,000 characters. When unset, the text of " +
        "the entry `*`; when empty, none.",
    ),
  );

/** Tools of a chat; the settings of an entry take the place of those of the entry `*`. */
const chatTools = {
  tools: toolListsConfig
    .optional()
    .meta(about("Tools", "Lists of tools in this chat; they take away from the tools that the agent has.")),
  toolsBySender: toolsBySenderConfig,
};

const skills = z
  .array(z.string())
  .optional()
  .meta(
    about(
      "Skills",
      "The only skills of the agent that are offered in this chat; none when empty. When unset, those of the chat around it, or of the entry `*`.",
    ),
  );

/** A topic of a chat. */
const topicConfig = z.looseObject({
  systemPrompt,
  skills,
  agentId: z.string().min(1).optional().meta(about("Agent", "Id of the agent that answers; before `bindings`.")),
  ...chatTools,
});

/** A topic of a group. */
const groupTopicConfig = topicConfig.extend({
  enabled: z.boolean().default(true).meta(about("Enabled", "False ignores the topic.")),
  requireMention: z
    .boolean()
    .optional()
    .meta(about("Require mention", "Answers only when the bot is mentioned; as in the group when unset.")),
  allowFrom: idList.optional().meta(about("Allow from", "Senders who are allowed; as in the group when unset.")),
});

const TOPICS = about(
  "Topics",
  "Topics by the platform's id; `*` for all others. Their text follows the text of the chat.",
);

/** A direct chat. */
export const directConfig = z.looseObject({
  systemPrompt,
  skills,
  topics: z.record(z.string(), topicConfig).optional().meta(TOPICS),
  ...chatTools,
});

/** A group of an account. */
export const groupConfig = z.looseObject({
  systemPrompt,
  skills,
  topics: z.record(z.string(), groupTopicConfig).optional().meta(TOPICS),
  ...chatTools,
  enabled: z.boolean().default(true).meta(about("Enabled", "False ignores the group.")),
  allow: z.boolean().optional().meta(about("Allow", "Older name of `enabled`; false in either ignores the group.")),
  requireMention: z.boolean().optional().meta(about("Require mention", "Answers only when the bot is mentioned.")),
  allowFrom: idList
    .optional()
    .meta(
      about(
        "Allow from",
        "Senders who are allowed in this group. When neither these nor roles are set, `groupAllowFrom` applies.",
      ),
    ),
  users: idList.optional().meta(about("Users", "Another name for `allowFrom`.")),
  roles: idList.optional().meta(about("Roles", "Senders with one of these roles are allowed too.")),
});

/** A Discord server of an account. */
export const guildConfig = z.looseObject({
  skills,
  ...chatTools,
  requireMention: z.boolean().optional().meta(about("Require mention", "Answers only when the bot is mentioned.")),
  users: idList
    .optional()
    .meta(about("Users", "Senders who are allowed. When neither users nor roles are set, `groupAllowFrom` applies.")),
  roles: idList.optional().meta(about("Roles", "Senders with one of these roles are allowed.")),
  channels: z
    .record(z.string(), groupConfig)
    .optional()
    .meta(about("Channels", "Channels of the server that the bot reads; all of them when unset or with `*`.")),
});

export const botLoopConfig = z.looseObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "Counts messages of other bots.")),
  maxEventsPerWindow: z
    .int()
    .min(1)
    .default(20)
    .meta(about("Most", "Most messages of one bot in one chat within the window.")),
  windowSeconds: z.int().min(1).default(60).meta(about("Window", "Seconds of the window.")),
  cooldownSeconds: z.int().min(1).default(60).meta(about("Rest", "Seconds for which the other bot is then ignored.")),
});

/** An alternative notation for the rules of direct chats. */
export const dmConfig = z.looseObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "False means `dmPolicy: disabled`.")),
  policy: z
    .enum(["pairing", "allowlist", "open", "disabled"])
    .optional()
    .meta(about("Policy", "Has priority over `dmPolicy`.")),
  allowFrom: idList
    .prefault([])
    .meta(about("Allow from", "Senders who are allowed in addition to the account's `allowFrom`.")),
});
