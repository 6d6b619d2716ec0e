import { z } from "zod";
import { accountId, type AccountId } from "../types/ids.ts";
import { about, idList, pacingConfig } from "../utils/config.ts";
import { makes } from "../utils/makes.ts";
import { botLoopConfig, directConfig, dmConfig, groupConfig, guildConfig } from "./chat-config.ts";
import { compilePattern } from "../utils/text/pattern.ts";

const replyToMode = z.enum(["off", "first", "all", "batched"]);

const chunkMode = z.enum(["length", "newline"]).optional();

const STREAM_MODES = ["off", "partial", "block", "progress"] as const;
/** How an answer is shown while it is written. */
const streamingConfig = z.looseObject({
  mode: z
    .enum(STREAM_MODES)
    .optional()
    .meta(
      about(
        "Mode",
        "`partial` and `progress` show an answer while it is written, `block` sends finished parts, `off` sends the " +
          "whole answer. When unset, `block` if `agents.defaults.blockStreamingDefault` is on, else `partial`.",
      ),
    ),
  nativeTransport: z
    .boolean()
    .default(true)
    .meta(
      about(
        "Native",
        "Shows an answer while it is written in the platform's own way: as a draft in Telegram's direct chats, as a " +
          "stream in Slack's threads. Where the platform has none or refuses, and when false, the gateway edits a " +
          "message.",
      ),
    ),
  chunkMode: chunkMode.meta(about("Chunk mode", "As in `chunkMode`; has priority over it.")),
});

const mimePattern = z
  .string()
  .regex(/^[a-z0-9!#$&^_.+*-]+\/[a-z0-9!#$&^_.+*-]+$/i, "expected a type such as `image/png` or `image/*`");

/** `thread.historyScope` of an account. Adapters that read it declare it by this schema. */
export const historyScope = z
  .enum(["thread", "channel"])
  .default("thread")
  .meta(
    about(
      "Conversation of a thread",
      "`thread`: each thread has its own conversation. `channel`: threads share the conversation of their chat; answers " +
        "still go into the thread.",
    ),
  );

/** `channels.*.execApprovals`: who is asked about commands of a channel's chats, and where. */
const execApprovalsConfig = z.strictObject({
  enabled: z
    .union([z.boolean(), z.literal("auto")])
    .default("auto")
    .meta(
      about(
        "Enabled",
        "`auto`: if there is somebody to ask. False: no chat of the channel shows a question; connected clients and `approvals.exec` do.",
      ),
    ),
  approvers: idList
    .prefault([])
    .meta(
      about(
        "Approvers",
        "The only people of this channel who may answer questions about commands, by their id; the owners of `commands.ownerAllowFrom` when empty.",
      ),
    ),
  agentFilter: z
    .array(z.string().min(1))
    .prefault([])
    .meta(about("Agents", "Applies `target` only to questions of these agents; of all agents when empty.")),
  sessionFilter: z
    .array(z.string().min(1).refine(makes(compilePattern), "is no regular expression"))
    .prefault([])
    .meta(
      about(
        "Sessions",
        "Applies `target` only to sessions whose key contains one of these texts or matches it as a regular expression; to all sessions when empty.",
      ),
    ),
  target: z
    .enum(["dm", "channel", "both"])
    .default("dm")
    .meta(
      about(
        "Target",
        "Where a question is shown: in the approvers' direct chats (`dm`), in the chat that it is from (`channel`), or in `both`.",
      ),
    ),
});

const chatIds = idList.prefault([]);

/** Where the names of `messages.groupChat.mentionPatterns` count. */
const mentionScopeConfig = z.strictObject({
  mode: z
    .enum(["allow", "deny"])
    .default("allow")
    .meta(about("Mode", "`allow`: in all chats but those of `denyIn`. `deny`: only in those of `allowIn`.")),
  allowIn: chatIds.meta(about("In these", "Ids of chats, or of topics: `-1001:topic:7`.")),
  denyIn: chatIds.meta(about("Not in these", "Ids of chats or topics in which they never count.")),
});

/** Keys that every channel account has and the core applies. Others belong to the adapter. */
const accountShape = {
  enabled: z.boolean().default(true).meta(about("Enabled", "Starts the account.")),
  dmPolicy: z
    .enum(["pairing", "allowlist", "open", "disabled"])
    .default("pairing")
    .meta(
      about(
        "Direct chats",
        "Who may write direct messages. `pairing`: strangers get a pairing code. `allowlist`: strangers are ignored. " +
          '`open`: everybody whom `allowFrom` names, with `"*"` everybody. `disabled`: nobody.',
      ),
    ),
  allowFrom: idList
    .prefault([])
    .meta(about("Allow from", "Senders who are allowed, by id, phone number or `@username`; `*` means everybody.")),
  dm: dmConfig.prefault({}).meta(about("Direct chats", "Older form of `dmPolicy` and `allowFrom`.")),
  groupPolicy: z
    .enum(["allowlist", "open", "disabled"])
    .default("allowlist")
    .meta(
      about("Groups", "Groups that the bot reads: `allowlist` only those of `groups`, `open` all, `disabled` none."),
    ),
  groupAllowFrom: idList
    .optional()
    .meta(
      about(
        "Group allow from",
        "Senders who are allowed in groups. When unset, everybody; but with `groupPolicy: allowlist`, only senders of " +
          "`allowFrom` in the groups of `groups`, if it lists anybody.",
      ),
    ),
  groups: z
    .record(z.string(), groupConfig)
    .prefault({})
    .meta(about("Groups", "Groups by their id; `*` for all others.")),
  channels: z
    .record(z.string(), groupConfig)
    .prefault({})
    .meta(about("Channels", "Slack's name for `groups`; both apply.")),
  guilds: z
    .record(z.string(), guildConfig)
    .prefault({})
    .meta(about("Guilds", "Discord servers by their id; `*` for all others.")),
  allowBots: z
    .union([z.boolean(), z.literal("mentions")])
    .default(false)
    .meta(about("Bots", "Whether messages of other bots count: never, always, or when they mention this bot.")),
  botLoopProtection: botLoopConfig
    .prefault({})
    .meta(about("Bot loops", "Ends conversations in which bots keep answering each other.")),
  execApprovals: execApprovalsConfig
    .optional()
    .meta(about("Approvals", "Who is asked about commands of the account's chats; owners, in that chat, when unset.")),
  actions: z
    .record(z.string(), z.boolean())
    .prefault({})
    .meta(
      about(
        "Actions",
        "Actions of the `message` tool, by the platform's name of their group, such as `reactions`, `polls`, `pins`, `messages`, `threads`, `memberInfo`; false switches them off. All are on but `sticker`.",
      ),
    ),
  reactionNotifications: z
    .enum(["off", "own", "all", "allowlist"])
    .default("own")
    .meta(
      about(
        "Reactions",
        "Reactions that the agent's next turn reports: to its own messages, all, or of the senders of an allowlist.",
      ),
    ),
  reactionAllowlist: idList
    .prefault([])
    .meta(about("Reactions of", "Senders whose reactions are reported with `allowlist`.")),
  requireMention: z
    .boolean()
    .default(true)
    .meta(about("Require mention", "Answers in groups only when mentioned. A group's own setting has priority.")),
  mentionPatterns: mentionScopeConfig
    .prefault({})
    .meta(
      about("Mention patterns", "The chats in which mention patterns count. A mention by the platform counts in any."),
    ),
  thread: z
    .looseObject({
      historyScope,
    })
    .prefault({})
    .meta(about("Threads", "Conversations of threads.")),
  historyLimit: z.int().min(0).optional().meta(about("History limit", "As in `messages.groupChat.historyLimit`.")),
  dms: z
    .record(
      z.string(),
      directConfig.extend({
        historyLimit: z
          .int()
          .min(0)
          .optional()
          .meta(about("History limit", "As `dmHistoryLimit`, for this chat; has priority over it.")),
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
        "As `dms`, and has priority over it. By the platform's id or the phone number; `*` for all others.",
      ),
    ),
  dmHistoryLimit: z
    .int()
    .min(0)
    .optional()
    .meta(
      about(
        "Direct history limit",
        "Number of earlier user turns of a direct chat that the model sees; all that fit when 0 or unset.",
      ),
    ),
  textChunkLimit: z
    .int()
    .min(1)
    .optional()
    .meta(about("Text limit", "Most characters of one sent message, at least 100, if less than the platform's limit.")),
  maxLinesPerMessage: z
    .int()
    .min(1)
    .optional()
    .meta(about("Most lines", "Most lines of one sent message, for platforms that show long messages badly.")),
  markdown: z
    .looseObject({
      tables: z
        .enum(["off", "bullets", "code", "block"])
        .optional()
        .meta(
          about("Tables", "Tables as written, as lists, or aligned in a code block; chosen by their width when unset."),
        ),
    })
    .prefault({})
    .meta(about("Markdown", "Layout of answers.")),
  mediaMaxMb: z
    .number()
    .min(0)
    .optional()
    .meta(about("Media limit", "Most megabytes of one file, if less than the platform's limit.")),
  mediaTypes: z
    .looseObject({
      allow: z
        .array(mimePattern)
        .optional()
        .meta(about("Taken", "File types that are accepted, such as `image/*`; all when unset.")),
      deny: z
        .array(mimePattern)
        .prefault([])
        .meta(about("Refused", "File types that are refused; has priority over `allow`.")),
    })
    .prefault({})
    .meta(
      about("Media types", "Files of a message that are kept and shown to the agent, by the type of their content."),
    ),
  streaming: streamingConfig.prefault({}).meta(about("Streaming", "How an answer appears while it is written.")),
  chunkMode: chunkMode.meta(
    about(
      "Chunk mode",
      "`length`, the default, splits only an answer that is too long for one message; `newline` sends each paragraph as a message.",
    ),
  ),
  replyToMode: replyToMode
    .default("off")
    .meta(about("Quote", "Which messages of an answer quote the message that they answer.")),
  replyToModeByChatType: z
    .looseObject({
      direct: replyToMode.optional().meta(about("Direct chats", "As in `replyToMode`.")),
      group: replyToMode.optional().meta(about("Groups", "As in `replyToMode`.")),
      channel: replyToMode.optional().meta(about("Channels", "Another name for `group`.")),
    })
    .prefault({})
    .meta(about("Quote by chat", "Has priority over `replyToMode`.")),
  pacing: pacingConfig.prefault({}).meta(about("Pacing", "Has priority over `messages.pacing`.")),
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

/** An account with its defaults. Keys of the adapter are kept unchanged. */
export const accountConfig = z.looseObject(accountShape);
export type AccountConfig = z.output<typeof accountConfig>;

const channelConfig = z.looseObject({
  ...accountShape,
  enabled: z.boolean().default(true).meta(about("Enabled", "Starts the channel.")),
  accounts: z
    .record(z.string(), z.record(z.string(), z.unknown()))
    .optional()
    .meta(about("Accounts", "Several accounts by name. Each inherits the channel's keys and may set its own.")),
  defaultAccount: z
    .string()
    .optional()
    .meta(about("Default account", "Account that is used where none is named; `default` or the first when unset.")),
});
export type ChannelConfig = z.output<typeof channelConfig>;

/** `channels.*` */
export const channelsConfig = z.record(z.string(), channelConfig);

export interface ChannelAccount {
  readonly id: string;
  readonly config: AccountConfig;
}

/** The unparsed keys of each account of a channel; its own override the channel's. One `default` account when none is listed. */
export function accountInputs(
  channel: Readonly<Record<string, unknown>>,
): readonly { id: string; input: Record<string, unknown> }[] {
  const { accounts, defaultAccount: _, ...base } = channel;
  const listed = typeof accounts === "object" && accounts !== null ? Object.entries(accounts) : [];
  if (listed.length === 0) return [{ id: "default", input: base }];
  return listed.map(([id, own]) => ({ id, input: { ...base, ...own, enabled: isOn(base) && isOn(own) } }));
}

/**
 * Like `accountInputs`, for a channel that knows its accounts itself: each account has the keys of the channel and its
 * own keys of the config. Without `ids` the accounts of the config.
 */
export function inputsFor(
  channel: Readonly<Record<string, unknown>>,
  ids: readonly string[] = [],
): readonly { id: string; input: Record<string, unknown> }[] {
  const inputs = accountInputs(channel);
  if (ids.length === 0) return inputs;
  const { accounts: _accounts, defaultAccount: _default, ...base } = channel;
  return ids.map((id) => inputs.find((one) => one.id === id) ?? { id, input: base });
}

/** The default account of a channel's section. */
export function defaultAccountIn(section: Readonly<Record<string, unknown>>): string {
  const ids = accountInputs(section).map(({ id }) => id);
  const named = section["defaultAccount"];
  return (typeof named === "string" ? named : undefined) ?? (ids.includes("default") ? undefined : ids[0]) ?? "default";
}

/** The accounts of a channel's section, parsed by an adapter's schema. Throws the errors of the schema. */
export const readAccounts = <C>(
  section: Readonly<Record<string, unknown>>,
  schema: { parse(input: unknown): C },
): readonly { account: AccountId; config: C }[] =>
  accountInputs(section).map(({ id, input }) => ({ account: accountId(id), config: schema.parse(input) }));

const isOn = (settings: unknown): boolean =>
  !(typeof settings === "object" && settings !== null && "enabled" in settings && settings.enabled === false);

/** The accounts of a channel's section, with defaults. Throws a `ZodError` only for sections that were not validated. */
export function channelAccounts(channel: ChannelConfig): readonly ChannelAccount[] {
  return accountInputs(channel).map(({ id, input }) => ({ id, config: accountConfig.parse(input) }));
}
