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

const isSet: Test = (value) => value !== undefined;

/** Keys below `tools` and below `agents.list[].tools`. */
const OF_TOOLS: readonly NarrowingKey[] = [row("exec.host", "that commands run on another machine", isOneOf("node"))];

/** Keys below `agents.defaults` and below each agent. */
const OF_AGENTS: readonly NarrowingKey[] = [
  row("contextInjection", "that the model is not shown the files of the workspace", isOneOf("never")),
  row("sandbox.docker.seccompProfile", "how containers are confined", isSet),
  row("sandbox.docker.apparmorProfile", "how containers are confined", isSet),
  row("sandbox.docker.ulimits", "what containers may use", isSet),
  row("sandbox.backend", "that commands run on another machine", isOneOf("ssh", "openshell")),
  row("sandbox.browser.allowHostControl", "that sandboxed sessions use no browser of this machine", isFalse),
];

/** Keys below the entry of an agent; for all agents these keys have an effect, or stand elsewhere. */
const OF_ONE_AGENT: readonly NarrowingKey[] = [
  row("groupChat.visibleReplies", "that only the message tool writes into groups", isOneOf("message_tool")),
  row("tools.message.allowCrossContextSend", "to which chats the message tool sends", isFalse),
  row("tools.message.crossContext.allowWithinProvider", "to which chats the message tool sends", isFalse),
  row("tools.message.crossContext.allowAcrossProviders", "to which chats the message tool sends", isFalse),
  row("tools.message.actions.allow", "what the message tool does", isListed),
];

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

/** Keys below each of `CHATS`. */
const OF_CHATS: readonly NarrowingKey[] = [
  row("groupPolicy", "who is heard in that chat", isOneOf("disabled", "allowlist")),
];

/**
 * Keys below each of `SMALL_CHATS`: in direct chats and their topics they have no effect; in groups, their topics and
 * channels they have one.
 */
const OF_SMALL_CHATS: readonly NarrowingKey[] = [
  row("enabled", "that the chat is not answered", isFalse),
  row("allowFrom", "who is heard in that chat", isListed),
  row("dmPolicy", "who is heard in that chat", isOneOf("disabled", "allowlist", "pairing")),
  row("requireMention", "that the bot answers there only when it is named", isTrue),
];
const SMALL_CHATS = ["direct.*", "direct.*.topics.*"];

/** Keys below `channels.<channel>` and its accounts. */
const OF_ACCOUNTS: readonly NarrowingKey[] = [
  row("contextVisibility", "whose messages the model is shown", isOther("all")),
  row("reactionLevel", "that the agent sets no reactions", isOneOf("off", "ack")),
];

/** Keys of platforms that have lists of people by name. */
const OF_NAMED: readonly NarrowingKey[] = [
  row("dangerouslyAllowNameMatching", "that names in lists of people match nobody", isFalse),
];

const OF_DISCORD: readonly NarrowingKey[] = [
  ...OF_NAMED,
  row("proxy", "that its traffic goes out through a proxy", isSet),
  row("agentComponents.enabled", "that the agent sends no buttons and choices", isFalse),
];

/** Keys of a platform that brings a bot chats of several people without a channel. */
const OF_SLACK: readonly NarrowingKey[] = [
  ...OF_NAMED,
  row("mode", "that messages come only through a relay", isOneOf("relay")),
  row("implicitMentions.replyToBot", "that a reply to the bot does not count as a mention", isFalse),
  row("implicitMentions.quotedBot", "that a quote of the bot does not count as a mention", isFalse),
  row("implicitMentions.threadParticipation", "that a thread of the bot does not count as a mention", isFalse),
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
 * Restricting keys that this version does not implement. Each stops the parts that it would have restricted: below
 * `agents.list[]` and `agents.entries` that agent, below `channels` that account, elsewhere every agent.
 * docs/guides/migration.md lists keys that look like restrictions and stop nothing, with the reasons.
 */
export const NARROWING_KEYS: readonly NarrowingKey[] = [
  ...below("tools", OF_TOOLS),
  ...below("agents.list.*.tools", OF_TOOLS),
  ...below("agents.entries.*.tools", OF_TOOLS),
  ...["agents.defaults", "agents.list.*", "agents.entries.*"].flatMap((place) => below(place, OF_AGENTS)),
  ...["agents.list.*", "agents.entries.*"].flatMap((place) => below(place, OF_ONE_AGENT)),
  row("messages.visibleReplies", "that only the message tool writes into chats", isOneOf("message_tool")),
  row("messages.groupChat.visibleReplies", "that only the message tool writes into groups", isOneOf("message_tool")),
  row("models.providers.*.request.proxy", "that calls of models go out through a proxy", isSet),
  row("models.providers.*.request.tls", "which certificates servers of models must have", isSet),
  row("proxy.enabled", "that everything goes out through a proxy", isTrue),
  row("channels.defaults.groupPolicy", "that no group is answered", isOneOf("disabled")),
  row("channels.defaults.contextVisibility", "whose messages the model is shown", isOther("all")),
  ...below("channels.*", ACCOUNT_ROWS),
  ...below("channels.*.accounts.*", ACCOUNT_ROWS),
  ...below("channels.discord", OF_DISCORD),
  ...below("channels.discord.accounts.*", OF_DISCORD),
  ...below("channels.slack", OF_SLACK),
  ...below("channels.slack.accounts.*", OF_SLACK),
];

/** Keys that look like restrictions, and the reason why they stop nothing. */
export interface HarmlessKeys {
  /** The paths of the keys. A path also covers all keys below it. */
  readonly keys: readonly string[];
  /** The reason why nothing has to stop for the keys. */
  readonly why: string;
}

/**
 * Keys without an effect that look like restrictions, and for which nothing stops: this gateway lacks the feature that
 * they restrict, or is stricter without them. docs/guides/migration.md shows them.
 */
export const HARMLESS_KEYS: readonly HarmlessKeys[] = [
  { keys: ["accessGroups"], why: "an entry of `allowFrom` that names a group of people allows nobody" },
  {
    keys: ["acp", "nodeHost", "gateway.nodes", "bridge"],
    why: "no other machine and no other agent program runs anything",
  },
  { keys: ["tools.web.x_search"], why: "no tool searches X" },
  {
    keys: ["tools.media"],
    why: "only what `audio` names is transcribed, and files are shown to the agent's own model",
  },
  { keys: ["tools.links"], why: "no link is followed by itself" },
  {
    keys: ["tools.toolSearch", "tools.codeMode", "agents.list.*.tools.codeMode"],
    why: "no model writes programs that call tools",
  },
  {
    keys: ["tools.message.broadcast", "agents.list.*.tools.message.broadcast"],
    why: "the message tool writes to one chat at a time",
  },
  {
    keys: ["commands.bash", "commands.config", "commands.debug", "commands.mcp", "commands.plugins"],
    why: "there are no such commands",
  },
  {
    keys: ["channels.discord.dm.groupEnabled", "channels.discord.dm.groupChannels"],
    why: "Discord lets no bot into group chats",
  },
  {
    keys: ["channels.*.heartbeatVisibility"],
    why: "a heartbeat writes only when the agent has something to say",
  },
  { keys: ["channels.slack.relay"], why: "`mode: relay` stops the account" },
  { keys: ["channels.*.configWrites"], why: "no chat can change the config" },
  { keys: ["commands.useAccessGroups"], why: "commands are always for those whom the lists of people name" },
  {
    keys: [
      "gateway.auth.trustedProxy",
      "gateway.auth.allowTailscale",
      "gateway.auth.identityScopes",
      "gateway.allowRealIpFallback",
    ],
    why: "nobody signs in with a header; the token is always asked for",
  },
  {
    keys: [
      "gateway.controlUi.allowExternalEmbedUrls",
      "gateway.controlUi.dangerouslyAllowHostHeaderOriginFallback",
      "gateway.controlUi.allowInsecureAuth",
      "gateway.controlUi.dangerouslyDisableDeviceAuth",
      "channels.telegram.network.dangerouslyAllowPrivateNetwork",
      "agents.defaults.sandbox.docker.dangerouslyAllowReservedContainerTargets",
      "agents.defaults.sandbox.docker.dangerouslyAllowExternalBindSources",
      "agents.defaults.sandbox.docker.dangerouslyAllowContainerNamespaceJoin",
      "agents.list.*.sandbox.docker.dangerouslyAllowReservedContainerTargets",
      "agents.list.*.sandbox.docker.dangerouslyAllowExternalBindSources",
      "agents.list.*.sandbox.docker.dangerouslyAllowContainerNamespaceJoin",
      "skills.load.allowSymlinkTargets",
      "skills.install.allowUploadedArchives",
    ],
    why: "what they would loosen is never loosened",
  },
  { keys: ["gateway.tls"], why: "`gateway.tls.enabled: true` is refused" },
  {
    keys: [
      "gateway.remote.enabled",
      "gateway.remote.transport",
      "gateway.remote.remotePort",
      "gateway.remote.tlsFingerprint",
      "gateway.remote.sshTarget",
      "gateway.remote.sshIdentity",
      "gateway.remote.edgeAuth",
      "gateway.remote.sshHostKeyPolicy",
    ],
    why: "commands connect to `gateway.remote.url` directly, with certificates that this machine trusts",
  },
  {
    keys: [
      "agents.defaults.sandbox.browser.enabled",
      "agents.list.*.sandbox.browser.enabled",
      "agents.defaults.sandbox.browser.noVncEnabled",
      "agents.list.*.sandbox.browser.noVncEnabled",
    ],
    why: "no browser runs in a container",
  },
  {
    keys: ["agents.defaults.embeddedPi", "agents.list.*.embeddedPi"],
    why: "settings of a project in the workspace are not read",
  },
  {
    keys: ["messages.tts.modelOverrides", "messages.tts.personas"],
    why: "the model chooses only whether an answer is spoken",
  },
  { keys: ["logging.redactSensitive"], why: "secrets are always masked" },
  { keys: ["secrets.egressProxy"], why: "there is no store of secrets, so no program is given one to send" },
  {
    keys: ["tools.exec.approvalRunningNoticeMs", "agents.list.*.tools.exec.approvalRunningNoticeMs"],
    why: "a command that was allowed says when it ends",
  },
  {
    keys: ["tools.exec.reviewer", "agents.list.*.tools.exec.reviewer"],
    why: "no model decides about a command; a person is asked",
  },
  {
    keys: ["tools.exec.grantExpiryDays", "agents.list.*.tools.exec.grantExpiryDays"],
    why: "a question of a scheduled job gives no permission for later",
  },
  { keys: ["browser.allowSystemProfileImport"], why: "no profile of a person's browser is read" },
  {
    keys: ["agents.defaults.modelSelectionScope"],
    why: "a choice of model counts for its own conversation, until an owner says more",
  },
  { keys: ["agents.defaults.authInheritance"], why: "keys are those of the gateway and of each agent" },
  { keys: ["memory.qmd"], why: "notes are found by another index, with rules of its own" },
  {
    keys: [
      "channels.discord.voice",
      "channels.discord.pluralkit",
      "channels.discord.intents",
      "channels.slack.userTokenReadOnly",
    ],
    why: "the bot is in no voice channel, reads no lists of members, and uses no person's token",
  },
  { keys: ["session.threadBindings", "channels.*.threadBindings"], why: "no thread is bound to a subagent" },
  { keys: ["models.providers.*.auth", "models.providers.*.authHeader"], why: "the kind of key says how it is sent" },
];
