import { z } from "zod";
import { accountId, type AccountId } from "../types/ids.ts";
import { about, idList, pacingConfig } from "../utils/config.ts";

/** Characters that the operator may add to the system prompt of one chat: as many as a workspace file has there. */
const MOST_CHAT_PROMPT = 20_000;

const systemPrompt = z
  .string()
  .max(MOST_CHAT_PROMPT)
  .optional()
  .meta(
    about(
      "System prompt",
      "Words for the model that hold in this chat alone, added to the system prompt as they are: 20,000 characters at most. " +
        "Unset, those of the entry `*`; empty, none.",
    ),
  );

/** One topic of a chat. */
export const topicConfig = z.looseObject({ systemPrompt });

const topics = z
  .record(z.string(), topicConfig)
  .optional()
  .meta(about("Topics", "Topics by the platform's id; `*` for all others. Their words come after those of the chat."));

/** One direct chat. */
export const directConfig = z.looseObject({ systemPrompt, topics });

/** One group of an account. */
export const groupConfig = z.looseObject({
  systemPrompt,
  topics,
  enabled: z.boolean().default(true).meta(about("Enabled", "Ignores the group when false.")),
  allow: z.boolean().optional().meta(about("Allow", "An older name of `enabled`; false in either ignores the group.")),
  requireMention: z.boolean().optional().meta(about("Require mention", "Answers only when the bot is named.")),
  allowFrom: idList
    .optional()
    .meta(
      about("Allow from", "Senders who are heard there; as `groupAllowFrom` says when unset, with no roles either."),
    ),
  users: idList.optional().meta(about("Users", "Another name of `allowFrom`.")),
  roles: idList.optional().meta(about("Roles", "Senders with one of these roles are heard as well.")),
});

/** One Discord server of an account. */
export const guildConfig = z.looseObject({
  requireMention: z.boolean().optional().meta(about("Require mention", "Answers only when the bot is named.")),
  users: idList
    .optional()
    .meta(about("Users", "Senders who are heard; as `groupAllowFrom` says when neither users nor roles are set.")),
  roles: idList.optional().meta(about("Roles", "Senders with one of these roles are heard.")),
  channels: z
    .record(z.string(), groupConfig)
    .optional()
    .meta(about("Channels", "The channels that are heard; all of the server's when unset or with `*`.")),
});

const botLoopConfig = z.looseObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "Counts what other bots write.")),
  maxEventsPerWindow: z.int().min(1).default(20).meta(about("Most", "Messages of one bot in one chat and window.")),
  windowSeconds: z.int().min(1).default(60).meta(about("Window", "Seconds in which they are counted.")),
  cooldownSeconds: z.int().min(1).default(60).meta(about("Rest", "Seconds in which the bot is not heard afterwards.")),
});

/** Another way to write the rules of direct chats. */
export const dmConfig = z.looseObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "False is `dmPolicy: disabled`.")),
  policy: z
    .enum(["pairing", "allowlist", "open", "disabled"])
    .optional()
    .meta(about("Policy", "Goes before `dmPolicy`.")),
  allowFrom: idList.prefault([]).meta(about("Allow from", "Let in beside those of the account's `allowFrom`.")),
});

const replyToMode = z.enum(["off", "first", "all", "batched"]);

const chunkMode = z.enum(["length", "newline"]).optional();

const STREAM_MODES = ["off", "partial", "block", "progress"] as const;
/** How an answer appears while it is written. */
export const streamingConfig = z.looseObject({
  mode: z
    .enum(STREAM_MODES)
    .optional()
    .meta(
      about(
        "Mode",
        "`partial` and `progress` show the answer while it grows, `block` sends finished parts, `off` the whole. " +
          "When unset, `block` where `agents.defaults.blockStreamingDefault` is on, else `partial`.",
      ),
    ),
  nativeTransport: z
    .boolean()
    .default(true)
    .meta(
      about(
        "Native",
        "Shows a growing answer in the platform's own way: as a draft in Telegram's direct chats, as a stream in Slack's " +
          "threads. Where it has none or refuses, and when false, a message is edited.",
      ),
    ),
  chunkMode: chunkMode.meta(about("Chunk mode", "As in `chunkMode`, before it.")),
});

/** Keys that every channel account has; the core obeys them. Others belong to the adapter. */
const mimePattern = z
  .string()
  .regex(/^[a-z0-9!#$&^_.+*-]+\/[a-z0-9!#$&^_.+*-]+$/i, "expected a type such as `image/png` or `image/*`");

const accountShape = {
  enabled: z.boolean().default(true).meta(about("Enabled", "Starts the account.")),
  dmPolicy: z
    .enum(["pairing", "allowlist", "open", "disabled"])
    .default("pairing")
    .meta(
      about(
        "Direct chats",
        'Strangers get a pairing code, or are ignored. `open` lets in whom `allowFrom` names: everybody with `"*"`. ' +
          "`disabled` ignores everybody.",
      ),
    ),
  allowFrom: idList
    .prefault([])
    .meta(about("Allow from", "Senders who are let in, by id, phone number or `@username`; `*` is everybody.")),
  dm: dmConfig.prefault({}).meta(about("Direct chats", "Another way to write `dmPolicy` and `allowFrom`.")),
  groupPolicy: z
    .enum(["allowlist", "open", "disabled"])
    .default("allowlist")
    .meta(about("Groups", "Hears only the groups of `groups`, all of them, or none.")),
  groupAllowFrom: idList
    .optional()
    .meta(
      about(
        "Group allow from",
        "Senders who are heard in groups. When unset everybody there; but in those of `groups`, while `groupPolicy` is " +
          "`allowlist`, only `allowFrom` where that lists anybody.",
      ),
    ),
  groups: z
    .record(z.string(), groupConfig)
    .prefault({})
    .meta(about("Groups", "Groups by their id; `*` for all others.")),
  channels: z
    .record(z.string(), groupConfig)
    .prefault({})
    .meta(about("Channels", "Slack's word for `groups`; both count.")),
  guilds: z
    .record(z.string(), guildConfig)
    .prefault({})
    .meta(about("Guilds", "Discord servers by their id; `*` for all others.")),
  allowBots: z
    .union([z.boolean(), z.literal("mentions")])
    .default(false)
    .meta(about("Bots", "Hears other bots: never, always, or when they name this one.")),
  botLoopProtection: botLoopConfig
    .prefault({})
    .meta(about("Bot loops", "Ends conversations in which bots answer each other for ever.")),
  reactionNotifications: z
    .enum(["off", "own", "all", "allowlist"])
    .default("own")
    .meta(
      about(
        "Reactions",
        "Which reactions the agent is told of with the next message: to its own messages, all, or by some.",
      ),
    ),
  reactionAllowlist: idList.prefault([]).meta(about("Reactions of", "Whose reactions are told with `allowlist`.")),
  requireMention: z
    .boolean()
    .default(true)
    .meta(about("Require mention", "In groups, answers only when named; a group's own setting goes first.")),
  thread: z
    .looseObject({
      historyScope: z
        .enum(["thread", "channel"])
        .default("thread")
        .meta(
          about(
            "Conversation of a thread",
            "`thread`: each thread has its own. `channel`: all threads share that of their chat; answers go into the thread still.",
          ),
        ),
    })
    .prefault({})
    .meta(about("Threads", "What a thread is to the agent.")),
  historyLimit: z.int().min(0).optional().meta(about("History limit", "As in `messages.groupChat.historyLimit`.")),
  dms: z
    .record(
      z.string(),
      directConfig.extend({
        historyLimit: z
          .int()
          .min(0)
          .optional()
          .meta(about("History limit", "As `dmHistoryLimit`, for this chat, and before it.")),
      }),
    )
    .prefault({})
    .meta(about("Direct chats", "Settings of single direct chats, by the platform's id.")),
  direct: z
    .record(z.string(), directConfig)
    .prefault({})
    .meta(
      about(
        "Direct chats",
        "The same as `dms`, and before it; by the platform's id or the phone number, `*` for all others.",
      ),
    ),
  dmHistoryLimit: z
    .int()
    .min(0)
    .optional()
    .meta(
      about(
        "Direct history limit",
        "Earlier user turns of a direct chat that the model sees; all that fit when 0 or unset.",
      ),
    ),
  textChunkLimit: z
    .int()
    .min(1)
    .optional()
    .meta(about("Text limit", "Characters of one sent message, at least 100, when less than the platform takes.")),
  maxLinesPerMessage: z
    .int()
    .min(1)
    .optional()
    .meta(about("Most lines", "Lines of one sent message, where the platform shows long ones badly.")),
  markdown: z
    .looseObject({
      tables: z
        .enum(["off", "bullets", "code", "block"])
        .optional()
        .meta(about("Tables", "As written, as lists, or aligned in a code block; by their width when unset.")),
    })
    .prefault({})
    .meta(about("Markdown", "How answers are laid out.")),
  mediaMaxMb: z
    .number()
    .min(0)
    .optional()
    .meta(about("Media limit", "Megabytes of one file, when less than the platform takes.")),
  mediaTypes: z
    .looseObject({
      allow: z
        .array(mimePattern)
        .optional()
        .meta(about("Taken", "Types of files that are taken, such as `image/*`; all when unset.")),
      deny: z.array(mimePattern).prefault([]).meta(about("Refused", "Types that are not taken, before `allow`.")),
    })
    .prefault({})
    .meta(about("Media types", "Which files of a message are kept and shown to the agent, by what is in them.")),
  streaming: streamingConfig.prefault({}).meta(about("Streaming", "How an answer appears while it is written.")),
  chunkMode: chunkMode.meta(
    about(
      "Chunk mode",
      "`length`, the default, sends an answer in several messages where it is too long for one, `newline` each paragraph in one.",
    ),
  ),
  replyToMode: replyToMode.default("off").meta(about("Quote", "Whether answers quote the message that they answer.")),
  replyToModeByChatType: z
    .looseObject({
      direct: replyToMode.optional().meta(about("Direct chats", "As in `replyToMode`.")),
      group: replyToMode.optional().meta(about("Groups", "As in `replyToMode`.")),
      channel: replyToMode.optional().meta(about("Channels", "Another name of `group`.")),
    })
    .prefault({})
    .meta(about("Quote by chat", "Goes before `replyToMode`.")),
  pacing: pacingConfig.prefault({}).meta(about("Pacing", "Goes before `messages.pacing`.")),
  responsePrefix: z.string().optional().meta(about("Response prefix", "As in `messages.responsePrefix`.")),
  ackReaction: z
    .unknown()
    .optional()
    .meta(about("Reaction", "As in `messages.ackReaction`; or `{emoji, direct, group: always|mentions|never}`.")),
  ackReactionScope: z
    .enum(["group-mentions", "group-all", "direct", "all", "off", "none"])
    .optional()
    .meta(about("Reaction scope", "As in `messages.ackReactionScope`.")),
};

/** One account with its defaults. Keys of the adapter are kept as they are. */
export const accountConfig = z.looseObject(accountShape);
export type AccountConfig = z.output<typeof accountConfig>;

const channelConfig = z.looseObject({
  ...accountShape,
  enabled: z.boolean().default(true).meta(about("Enabled", "Starts the channel.")),
  accounts: z
    .record(z.string(), z.record(z.string(), z.unknown()))
    .optional()
    .meta(about("Accounts", "Several accounts by name; each takes over the channel's keys and may set its own.")),
  defaultAccount: z
    .string()
    .optional()
    .meta(about("Default account", "The one that is meant where none is named; `default` or the first when unset.")),
});
export type ChannelConfig = z.output<typeof channelConfig>;

/** `channels.*` */
export const channelsConfig = z.record(z.string(), channelConfig);

export interface ChannelAccount {
  readonly id: string;
  readonly config: AccountConfig;
}

/** The raw keys of each account of a channel: its own over the channel's. One `default` account when none is listed. */
export function accountInputs(
  channel: Readonly<Record<string, unknown>>,
): readonly { id: string; input: Record<string, unknown> }[] {
  const { accounts, defaultAccount: _, ...base } = channel;
  const listed = typeof accounts === "object" && accounts !== null ? Object.entries(accounts) : [];
  if (listed.length === 0) return [{ id: "default", input: base }];
  return listed.map(([id, own]) => ({ id, input: { ...base, ...own, enabled: isOn(base) && isOn(own) } }));
}

/** The accounts of a channel's section as an adapter's schema reads them. Throws what the schema throws. */
export const readAccounts = <C>(
  section: Readonly<Record<string, unknown>>,
  schema: { parse(input: unknown): C },
): readonly { account: AccountId; config: C }[] =>
  accountInputs(section).map(({ id, input }) => ({ account: accountId(id), config: schema.parse(input) }));

const isOn = (settings: unknown): boolean =>
  !(typeof settings === "object" && settings !== null && "enabled" in settings && settings.enabled === false);

/** Accounts of a channel as its section says, with defaults. Throws a `ZodError` only for sections that were not loaded. */
export function channelAccounts(channel: ChannelConfig): readonly ChannelAccount[] {
  return accountInputs(channel).map(({ id, input }) => ({ id, config: accountConfig.parse(input) }));
}
