/** Whether a value of such a key restricts anything. */
type Test = (value: unknown) => boolean;

export interface NarrowingKey {
  /** `*` matches any name or index. */
  readonly key: string;
  /** Completes "it says". */
  readonly says: string;
  readonly narrows: Test;
}

const isListed: Test = (value) => Array.isArray(value);
const isTrue: Test = (value) => value === true;
const isFalse: Test = (value) => value === false;
const isOneOf =
  (...values: readonly unknown[]): Test =>
  (value) =>
    values.includes(value);
const isOther =
  (plain: string): Test =>
  (value) =>
    value !== undefined && value !== plain;

const row = (key: string, says: string, narrows: Test): NarrowingKey => ({ key, says, narrows });

/** Below `tools` and below `agents.list[].tools`. */
const OF_TOOLS: readonly NarrowingKey[] = [row("exec.host", "that commands run on another machine", isOneOf("node"))];

/** Sections of an account in which a chat has its own rules. */
const CHATS = [
  "groups.*",
  "groups.*.topics.*",
  "channels.*",
  "guilds.*",
  "guilds.*.channels.*",
  "direct.*",
  "direct.*.topics.*",
];

/** Below each of `CHATS`. */
const OF_CHATS: readonly NarrowingKey[] = [
  row("skills", "which skills are there in that chat", isListed),
  row("groupPolicy", "who is heard in that chat", isOneOf("disabled", "allowlist")),
];

/** In topics and direct chats these have no effect; in groups and channels they have. */
const OF_SMALL_CHATS: readonly NarrowingKey[] = [
  row("enabled", "that the chat is not answered", isFalse),
  row("allowFrom", "who is heard in that chat", isListed),
  row("dmPolicy", "who is heard in that chat", isOneOf("disabled", "allowlist", "pairing")),
  row("requireMention", "that the bot answers there only when it is named", isTrue),
];
const SMALL_CHATS = ["groups.*.topics.*", "direct.*", "direct.*.topics.*"];

/** Below `channels.<channel>` and its accounts. */
const OF_ACCOUNTS: readonly NarrowingKey[] = [
  row("contextVisibility", "whose messages the model is shown", isOther("all")),
];

/** Of a platform that brings a bot chats of several people without a channel. */
const OF_SLACK: readonly NarrowingKey[] = [
  row("dm.groupEnabled", "that group chats without a channel are not answered", isFalse),
  row("dm.groupChannels", "which group chats without a channel are answered", isListed),
];

const below = (place: string, rows: readonly NarrowingKey[]): readonly NarrowingKey[] =>
  rows.map(({ key, ...rest }) => ({ key: `${place}.${key}`, ...rest }));

const ACCOUNT_ROWS = [
  ...OF_ACCOUNTS,
  ...CHATS.flatMap((place) => below(place, OF_CHATS)),
  ...SMALL_CHATS.flatMap((place) => below(place, OF_SMALL_CHATS)),
];

/**
 * Restricting keys that this version does not implement. Each stops what it would have restricted: below
 * `agents.list[]` and `agents.entries` that agent, below `channels` that account, elsewhere every agent. docs/guides/migration.md lists keys that look
 * like restrictions and stop nothing, with the reasons.
 */
export const NARROWING_KEYS: readonly NarrowingKey[] = [
  ...below("tools", OF_TOOLS),
  ...below("agents.list.*.tools", OF_TOOLS),
  ...below("agents.entries.*.tools", OF_TOOLS),
  row("proxy.enabled", "that everything goes out through a proxy", isTrue),
  row("channels.defaults.groupPolicy", "that no group is answered", isOneOf("disabled")),
  row("channels.defaults.contextVisibility", "whose messages the model is shown", isOther("all")),
  ...below("channels.*", ACCOUNT_ROWS),
  ...below("channels.*.accounts.*", ACCOUNT_ROWS),
  ...below("channels.slack", OF_SLACK),
  ...below("channels.slack.accounts.*", OF_SLACK),
];
