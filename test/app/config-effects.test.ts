import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { accountOf, lowerLimits } from "../../src/app/accounts.ts";
import { loadConfigText } from "../../src/app/config/load.ts";
import { resolvePaths } from "../../src/app/config/paths.ts";
import { keysBelow, schemaKeys } from "../../src/app/config/schema-keys.ts";
import { describeSchema } from "../../src/app/config/schema.ts";
import { Live } from "../../src/app/live.ts";
import { createRules, mentionPatternsFor } from "../../src/app/rules.ts";
import { accountId } from "../../src/types/ids.ts";
import { telegramConfig } from "../../extensions/telegram/config.ts";
import { message } from "../channels/messages.ts";
import { peer } from "../outbox/stage.ts";

const root = join(import.meta.dirname, "../..");

/** Which file obeys which key: below `agents.list.[]` and `channels.*.accounts.*` the same files do. */
const READERS: Readonly<Record<string, readonly string[]>> = {
  "src/app/gateway/server-options.ts": [
    "gateway.port",
    "gateway.bind",
    "gateway.customBindHost",
    "gateway.auth.mode",
    "gateway.auth.password",
    "gateway.auth.rateLimit",
    "gateway.controlUi.enabled",
    "gateway.controlUi.allowedOrigins",
    "gateway.http.endpoints.chatCompletions.enabled",
    "gateway.handshakeTimeoutMs",
    "gateway.trustedProxies",
    "agents.list.name",
  ],
  "src/server/auth.ts": [
    "gateway.auth.rateLimit.maxAttempts",
    "gateway.auth.rateLimit.windowMs",
    "gateway.auth.rateLimit.lockoutMs",
  ],
  "src/app/config/gateway-token.ts": ["gateway.auth.token"],
  "src/app/config/load.ts": ["gateway.mode"],
  "src/app/gateway/reload.ts": ["gateway.reload.mode", "gateway.reload.debounceMs"],
  "src/app/gateway/foreign.ts": ["gateway.adopt"],
  "src/app/config/settings.ts": [
    "tools.message.mediaHosts",
    "agents.defaults.model.primary",
    "agents.defaults.model.fallbacks",
    "agents.defaults.thinkingDefault",
    "agents.defaults.timeoutSeconds",
    "agents.defaults.llm.idleTimeoutSeconds",
    "agents.defaults.workspace",
    "agents.defaults.agentId",
    "agents.defaults.models",
    "agents.list.models",
    "agents.defaults.systemPromptOverride",
    "agents.defaults.skipBootstrap",
    "agents.defaults.bootstrapMaxChars",
    "agents.defaults.bootstrapTotalMaxChars",
    "agents.defaults.skills",
    "agents.defaults.userTimezone",
    "agents.defaults.contextTokens",
    "agents.defaults.compaction.mode",
    "agents.defaults.compaction.reserveTokens",
    "agents.defaults.compaction.reserveTokensFloor",
    "agents.defaults.compaction.keepRecentTokens",
    "agents.defaults.compaction.model",
    "agents.defaults.compaction.timeoutSeconds",
    "agents.defaults.compaction.customInstructions",
    "agents.defaults.compaction.memoryFlush.enabled",
    "agents.defaults.compaction.postCompactionSections",
    "agents.defaults.contextLimits.postCompactionMaxChars",
    "agents.defaults.contextLimits.toolResultMaxChars",
    "agents.list.contextLimits.postCompactionMaxChars",
    "agents.list.contextLimits.toolResultMaxChars",
    "agents.defaults.contextPruning.mode",
    "agents.defaults.contextPruning.ttl",
    "agents.defaults.imageMaxDimensionPx",
    "agents.defaults.blockStreamingDefault",
    "agents.defaults.blockStreamingBreak",
    ...["defaults", "list"].flatMap((of) => ["mode", "minMs", "maxMs"].map((key) => `agents.${of}.humanDelay.${key}`)),
    "agents.defaults.typingMode",
    "agents.defaults.typingIntervalSeconds",
    "agents.defaults.blockStreamingChunk.minChars",
    "agents.defaults.blockStreamingChunk.maxChars",
    "agents.defaults.blockStreamingChunk.breakPreference",
    "agents.list.id",
    "agents.list.default",
    "agents.list.identity.name",
    "agents.list.workspace",
    "agents.list.systemPromptOverride",
    "agents.list.skills",
    "agents.list.model.primary",
    "agents.list.model.fallbacks",
    "agents.list.thinkingDefault",
    "agents.list.contextTokens",
    "agents.list.bootstrapMaxChars",
    "agents.list.bootstrapTotalMaxChars",
    ...["agents.list.", ""].flatMap((of) => [
      `${of}tools.profile`,
      `${of}tools.allow`,
      `${of}tools.alsoAllow`,
      `${of}tools.deny`,
      `${of}tools.exec.timeoutSec`,
      `${of}tools.exec.security`,
      `${of}tools.exec.ask`,
      `${of}tools.exec.safeBins`,
      `${of}tools.exec.pathPrepend`,
      `${of}tools.exec.passEnv`,
      `${of}tools.fs.workspaceOnly`,
    ]),
    "tools.message.actions.allow",
    "tools.message.allowCrossContextSend",
  ],
  "src/app/config/heartbeat.ts": ["agents.defaults.heartbeat", "agents.list.heartbeat"].flatMap((of) => [
    `${of}.every`,
    `${of}.activeHours.start`,
    `${of}.activeHours.end`,
    `${of}.activeHours.timezone`,
    `${of}.target`,
    `${of}.to`,
    `${of}.accountId`,
    `${of}.directPolicy`,
    `${of}.session`,
    `${of}.isolatedSession`,
    `${of}.lightContext`,
    `${of}.model`,
    `${of}.timeoutSeconds`,
    `${of}.prompt`,
    `${of}.includeSystemPromptSection`,
    `${of}.ackMaxChars`,
    `${of}.skipWhenBusy`,
  ]),
  "src/history/prune.ts": [
    "keepLastAssistants",
    "softTrimRatio",
    "hardClearRatio",
    "minPrunableToolChars",
    "tools.allow",
    "tools.deny",
    "softTrim.maxChars",
    "softTrim.headChars",
    "softTrim.tailChars",
    "hardClear.enabled",
    "hardClear.placeholder",
  ].map((key) => `agents.defaults.contextPruning.${key}`),
  "src/history/compaction/config.ts": [
    "agents.defaults.compaction.identifierPolicy",
    "agents.defaults.compaction.identifierInstructions",
  ],
  "src/harness/attempt.ts": [
    "agents.defaults.params.temperature",
    "agents.defaults.params.topP",
    "agents.defaults.params.maxTokens",
    "agents.defaults.models.params.temperature",
    "agents.defaults.models.params.topP",
    "agents.defaults.models.params.maxTokens",
    "agents.list.params.temperature",
    "agents.list.params.topP",
    "agents.list.params.maxTokens",
    "agents.list.models.params.temperature",
    "agents.list.models.params.topP",
    "agents.list.models.params.maxTokens",
  ],
  "src/harness/flush.ts": [
    "agents.defaults.compaction.memoryFlush.softThresholdTokens",
    "agents.defaults.compaction.memoryFlush.prompt",
  ],
  "src/dispatch/maintenance/post-turn.ts": ["agents.defaults.compaction.memoryFlush.systemPrompt"],
  "src/dispatch/maintenance/compactions.ts": ["agents.defaults.compaction.notifyUser"],
  "src/app/rules.ts": [
    "commands.allowFrom",
    "agents.defaults.maxConcurrent",
    "agents.defaults.blockStreamingCoalesce",
    "session.resetTriggers",
    "session.dmHistoryLimit",
    "channels.dms.historyLimit",
    "messages.responsePrefix",
    "messages.queue.mode",
    "messages.queue.byChannel",
    "messages.inbound.debounceMs",
    "messages.inbound.byChannel",
    "commands.text",
    "commands.ownerAllowFrom",
    "commands.allowFrom",
    "channels.dmHistoryLimit",
    "channels.mediaMaxMb",
    "channels.streaming.mode",
    "channels.streaming.nativeTransport",
    "channels.streaming.chunkMode",
    "channels.chunkMode",
    "channels.replyToMode",
    ...["direct", "group", "channel"].map((kind) => `channels.replyToModeByChatType.${kind}`),
    "bindings.session.dmScope",
    "agents.list.groupChat.mentionPatterns",
    "channels.responsePrefix",
  ],
  "src/dispatch/media/fetch-file.ts": ["channels.mediaTypes.allow", "channels.mediaTypes.deny"],
  "src/reply/coalesce.ts": [
    "agents.defaults.blockStreamingCoalesce.minChars",
    "agents.defaults.blockStreamingCoalesce.maxChars",
    "agents.defaults.blockStreamingCoalesce.idleMs",
  ],
  "src/app/ack-reaction.ts": [
    "messages.ackReaction",
    "messages.ackReactionScope",
    "messages.removeAckAfterReply",
    "channels.ackReaction",
    "channels.ackReactionScope",
  ],
  "src/app/accounts.ts": [
    "channels.thread.historyScope",
    "channels.textChunkLimit",
    "channels.maxLinesPerMessage",
    "channels.markdown.tables",
    "channels.defaultAccount",
  ],
  "src/channels/config.ts": ["channels.accounts"],
  "src/channels/chat-prompt.ts": ["groups", "channels", "guilds.channels", "dms", "direct"].flatMap((of) => [
    `channels.${of}.systemPrompt`,
    `channels.${of}.topics.systemPrompt`,
  ]),
  "src/channels/policy.ts": [
    "channels.dmPolicy",
    "channels.allowFrom",
    "channels.groupPolicy",
    "channels.groupAllowFrom",
    "channels.groups",
    "channels.requireMention",
    "channels.historyLimit",
    "messages.groupChat.mentionPatterns",
    "messages.groupChat.historyLimit",
    "channels.allowBots",
    ...["enabled", "policy", "allowFrom"].map((key) => `channels.dm.${key}`),
    ...["enabled", "maxEventsPerWindow", "windowSeconds", "cooldownSeconds"].map(
      (key) => `channels.botLoopProtection.${key}`,
    ),
    "channels.reactionNotifications",
    "channels.reactionAllowlist",
    ...["groups", "channels", "guilds", "guilds.channels"].flatMap((of) => [
      `channels.${of}.users`,
      ...(of === "guilds" ? [] : [`channels.${of}.allow`]),
      `channels.${of}.roles`,
    ]),
    ...["channels", "guilds.channels"].flatMap((of) => [`channels.${of}.enabled`, `channels.${of}.allowFrom`]),
    ...["channels", "guilds", "guilds.channels"].map((of) => `channels.${of}.requireMention`),
  ],
  "src/channels/gating.ts": ["channels.groups.enabled", "channels.groups.requireMention", "channels.groups.allowFrom"],
  "src/channels/bindings.ts": [
    ...["type", "agentId", "comment"].map((key) => `bindings.${key}`),
    ...["channel", "accountId", "peer.kind", "peer.id", "guildId", "teamId", "roles"].map(
      (key) => `bindings.match.${key}`,
    ),
  ],
  "src/channels/transcribe.ts": [
    "command",
    "baseUrl",
    "model",
    "apiKey",
    "language",
    "prompt",
    "maxBytes",
    "timeoutSeconds",
  ].map((key) => `audio.transcription.${key}`),
  "src/app/gateway/channel-room.ts": ["channels.enabled"],
  "src/dispatch/queue/lanes.ts": ["messages.queue.debounceMs", "messages.queue.debounceMsByChannel"],
  "src/dispatch/queue/lane.ts": ["messages.queue.cap", "messages.queue.drop"],
  "src/sessions/keys.ts": ["session.scope", "session.dmScope", "session.identityLinks"],
  "src/sessions/send-policy.ts": [
    "session.sendPolicy.default",
    "session.sendPolicy.rules.action",
    "session.sendPolicy.rules.match.channel",
    "session.sendPolicy.rules.match.chatType",
    "session.sendPolicy.rules.match.keyPrefix",
    "session.sendPolicy.rules.match.rawKeyPrefix",
  ],
  "src/sessions/expiry.ts": [
    "session.idleMinutes",
    ...[
      "reset",
      "resetByType.direct",
      "resetByType.dm",
      "resetByType.group",
      "resetByType.thread",
      "resetByChannel",
    ].flatMap((of) => [`session.${of}.mode`, `session.${of}.atHour`, `session.${of}.idleMinutes`]),
  ],
  "src/providers/catalog.ts": ["models.mode"],
  "src/providers/auth/profiles.ts": ["auth.profiles.mode", "auth.order"],
  "src/providers/auth/credential.ts": ["auth.profiles.email", "auth.profiles.displayName"],
  "src/providers/auth/rest-length.ts": [
    "auth.cooldowns.billingBackoffHours",
    "auth.cooldowns.billingBackoffHoursByProvider",
    "auth.cooldowns.billingMaxHours",
    "auth.cooldowns.authPermanentBackoffMinutes",
    "auth.cooldowns.authPermanentMaxMinutes",
  ],
  "src/providers/auth/keyring.ts": [
    "auth.cooldowns.rateLimitedProfileRotations",
    "auth.cooldowns.overloadedProfileRotations",
    "auth.cooldowns.overloadedBackoffMs",
  ],
  "src/providers/auth/rests.ts": ["auth.cooldowns.failureWindowHours"],
  "src/providers/settings.ts": [
    "models.providers.baseUrl",
    "models.providers.apiKey",
    "models.providers.api",
    "models.providers.headers",
    "models.providers.contextWindow",
    "models.providers.contextTokens",
    "models.providers.maxTokens",
    "models.providers.models.id",
    "models.providers.models.name",
    "models.providers.models.reasoning",
    "models.providers.models.input",
    "models.providers.models.cost.input",
    "models.providers.models.cost.output",
    "models.providers.models.cost.cacheRead",
    "models.providers.models.cost.cacheWrite",
    "models.providers.models.contextWindow",
    "models.providers.models.contextTokens",
    "models.providers.models.maxTokens",
    "models.providers.models.compat",
  ],
  "src/history/engines/settings.ts": [
    "plugins.slots.contextEngine",
    ...["bootstrap", "assemble", "afterTurn", "compact", "maintain", "dispose"].map(
      (call) => `plugins.contextEngineTimeoutSeconds.${call}`,
    ),
  ],
  "src/app/skill-sources.ts": ["skills.allowBundled", "skills.load.extraDirs", "skills.entries.enabled"],
  "src/prompt/skills.ts": [
    "skills.limits.maxCandidatesPerRoot",
    "skills.limits.maxSkillsLoadedPerSource",
    "skills.limits.maxSkillsInPrompt",
    "skills.limits.maxSkillsPromptChars",
    "skills.limits.maxSkillFileBytes",
  ],
  "src/app/core.ts": ["journal.fsync"],
  "src/app/open-outbox.ts": ["messages.labelRepeats"],
  "src/outbox/pace.ts": ["messages", "channels"].flatMap((of) => [
    `${of}.pacing.perChatPerSecond`,
    `${of}.pacing.perAccountPerSecond`,
  ]),
  "src/tools/message.ts": [
    "tools.message.allowTargets",
    "tools.message.mediaHosts",
    "tools.message.crossContext.allowWithinProvider",
    "tools.message.crossContext.allowAcrossProviders",
  ],
  "src/app/gateway/gateway.ts": ["messages.recovery.maxAgeHours", "messages.recovery.maxRows"],
  "src/app/gateway/upkeep.ts": [
    "retention.rowsDays",
    "retention.strangersDays",
    "retention.dedupeDays",
    "retention.journalMaxMb",
    "retention.mediaDays",
    "retention.mediaMaxMb",
    "retention.logsDays",
    "retention.logsMaxMb",
  ],
  "src/app/gateway/run.ts": [
    "logging.level",
    "logging.file",
    "logging.consoleLevel",
    "logging.consoleStyle",
    "logging.redactPatterns",
  ],
  "src/app/config/env-vars.ts": ["env.vars"],
  "extensions/telegram/api.ts": [
    "channels.telegram.botToken",
    "channels.telegram.tokenFile",
    "channels.telegram.apiRoot",
    "channels.telegram.timeoutSeconds",
    "channels.telegram.pollingStallThresholdMs",
    "channels.telegram.proxy",
  ],
  "extensions/telegram/send.ts": ["channels.telegram.linkPreview"],
  "extensions/telegram/download.ts": ["channels.telegram.mediaMaxMb", "channels.telegram.trustedLocalFileRoots"],
  "extensions/telegram/webhook.ts": [
    "channels.telegram.webhookSecret",
    "channels.telegram.webhookPath",
    "channels.telegram.webhookCertPath",
  ],
  "extensions/telegram/receive.ts": ["channels.telegram.webhookUrl"],
  "extensions/telegram/menu.ts": [
    "channels.telegram.commands.native",
    "channels.telegram.customCommands.command",
    "channels.telegram.customCommands.description",
  ],
  "extensions/telegram/envelope.ts": ["channels.telegram.capabilities.inlineButtons"],
  "extensions/telegram/intake.ts": ["channels.telegram.edits", "channels.telegram.mediaGroupFlushMs"],
  "extensions/telegram/poll.ts": ["channels.telegram.takeOverWebhook"],
};

/** Obeyed elsewhere, in a way that no file can be searched for. */
const FOR_EDITORS = ["$schema"];
const OF_THE_CORE = ["channels.telegram.enabled"];

/** Without names and indices that users choose, and without the parts of a secret reference. */
const plain = (path: readonly string[]): string =>
  path.filter((part) => !["*", "[]", "source", "provider"].includes(part)).join(".");

const keys = [...schemaKeys(), ...keysBelow(describeSchema(telegramConfig), ["channels", "telegram"])].map(({ path }) =>
  plain(path),
);
const leaves = [...new Set(keys)].filter((key) => !keys.some((other) => other.startsWith(`${key}.`)));
const listed = new Map(Object.entries(READERS).flatMap(([file, own]) => own.map((key) => [key, file] as const)));

describe("every key of the config", () => {
  it("is obeyed by a file that names it: one without belongs to the keys that are warned of", () => {
    const unread = leaves.filter((key) => !listed.has(key) && !FOR_EDITORS.includes(key) && !OF_THE_CORE.includes(key));
    expect(unread).toEqual([]);
  });

  it("is in the schema, and its file is there and names it", () => {
    const known = new Set(keys);
    const wrong = [...listed].filter(([key, file]) => {
      const name = key.split(".").at(-1) ?? "";
      const path = join(root, file);
      return !known.has(key) || !existsSync(path) || !new RegExp(`\\b${name}\\b`).test(readFileSync(path, "utf8"));
    });
    expect(wrong).toEqual([]);
  });
});

const load = (config: unknown) =>
  loadConfigText(JSON.stringify(config), {
    path: "openclaw.json",
    env: {},
    channelSchemas: { telegram: telegramConfig },
  });

const TELEGRAM = { enabled: true, botToken: "777000111:AAbench", dmPolicy: "open", allowFrom: ["*"] };

describe("known keys without effect", () => {
  const NONE = "is known, but has no effect here yet";
  it("are named in warnings, also inside groups", async () => {
    const { warnings } = await load({
      auth: { profiles: { work: { provider: "anthropic", mode: "api_key" } } },
      plugins: { entries: { "memory-core": { enabled: true } } },
      commands: { native: true },
      logging: { redactSensitive: "tools" },
      agents: { list: [{ id: "main", description: "mine" }] },
      skills: { entries: { tidy: { env: { A: "b" } } } },
      channels: {
        telegram: {
          ...TELEGRAM,
          name: "bot",
          streaming: { progress: { label: "x" } },
          groups: { "-100": { requireMention: true, agentId: "short" } },
        },
      },
    });
    expect(warnings.filter(({ text }) => !text.endsWith(NONE))).toEqual([]);
    expect(warnings.map(({ key }) => key).toSorted()).toEqual(
      [
        "plugins.entries",
        "agents.list[0].description",
        "commands.native",
        "logging.redactSensitive",
        "skills.entries.tidy.env",
        "channels.telegram.name",
        "channels.telegram.groups.-100.agentId",
        "channels.telegram.streaming.progress",
      ].toSorted(),
    );
  });

  it("are warnings and no more in a config that was written for OpenClaw", async () => {
    const { config, warnings } = await load({
      gateway: { mode: "local", port: 1, bind: "loopback", auth: { mode: "token", token: "bench-token" } },
      models: {
        mode: "merge",
        providers: { fake: { baseUrl: "http://127.0.0.1:1/v1", apiKey: "x", api: "openai-completions" } },
      },
      agents: { defaults: { model: { primary: "fake/fake-1" }, heartbeat: { every: "0m" } } },
      session: { dmScope: "per-channel-peer" },
      channels: { telegram: { ...TELEGRAM, apiRoot: "http://127.0.0.1:1" } },
      update: { checkOnStart: false },
    });
    expect(warnings.map(({ key }) => key)).toEqual(["update"]);
    expect(config.gateway.port).toBe(1);
  });

  it("include a place that the gateway cannot run at, and a password that is missing is an error", async () => {
    const { warnings } = await load({
      gateway: { mode: "remote" },
      models: { providers: { copilot: { api: "github-copilot" } } },
    });
    expect(warnings.map(({ key }) => key)).toEqual(["gateway.mode", "models.providers.copilot.api"]);
    await expect(load({ gateway: { auth: { mode: "password" } } })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });
});

describe("how a chat is answered", () => {
  const rulesFor = async (config: unknown) => {
    const loaded = { ...(await load(config)), path: "openclaw.json", exists: true, hash: "" };
    const live = new Live(resolvePaths({ OPENCLAW_STATE_DIR: "/nowhere" }), "/home/ann", loaded);
    return { rules: createRules(live)(), config: loaded.config };
  };

  it("follows the agents' defaults for blocks", async () => {
    const coalesce = { minChars: 5, maxChars: 50, idleMs: 7 };
    const { rules } = await rulesFor({ agents: { defaults: { blockStreamingCoalesce: coalesce } } });
    expect(rules.chat(peer("1"))).toEqual({ replyToMode: "off", coalesce });
  });

  it("pauses as the agent or the defaults say, and shows typing so", async () => {
    const settings = async (humanDelay: unknown, own?: unknown) => {
      const list = [{ id: "main", ...(own !== undefined && { humanDelay: own }) }];
      const { rules } = await rulesFor({ agents: { defaults: { humanDelay, typingMode: "message" }, list } });
      return rules.agents.get(rules.defaultAgent);
    };
    const pause = async (humanDelay: unknown, own?: unknown) => (await settings(humanDelay, own))?.streaming.pause;
    expect(await pause({ mode: "off" })).toBeUndefined();
    expect(await pause({ mode: "natural", minMs: 1 })).toEqual({ minMs: 800, maxMs: 2500 });
    expect(await pause({ mode: "custom", minMs: 10, maxMs: 5 })).toEqual({ minMs: 10, maxMs: 10 });
    expect(await pause({ mode: "off", minMs: 1 }, { mode: "custom", maxMs: 20 })).toEqual({ minMs: 1, maxMs: 20 });
    expect(await pause({ mode: "natural" }, { mode: "off" })).toBeUndefined();
    expect((await settings({}))?.typing).toEqual({ mode: "message", everyMs: 4000 });
  });

  it("sends paragraphs one by one where the channel's chunk mode says so, in either place", async () => {
    const style = async (channel: object) =>
      (await rulesFor({ channels: { telegram: { ...TELEGRAM, ...channel } } })).rules.chat(peer("1")).byParagraph;
    expect(await style({})).toBeUndefined();
    expect(await style({ chunkMode: "newline" })).toBe(true);
    expect(await style({ streaming: { chunkMode: "newline" } })).toBe(true);
    expect(await style({ chunkMode: "newline", streaming: { chunkMode: "length" } })).toBeUndefined();
  });

  it("remembers as many turns of a direct chat as the chat, its channel or all channels say", async () => {
    const limit = async (telegram: object, session = {}) =>
      (await rulesFor({ session, channels: { telegram: { ...TELEGRAM, ...telegram } } })).rules.chat(peer("1"))
        .dmHistoryLimit;
    const dms = { "1": { historyLimit: 2 } };
    expect(await limit({})).toBeUndefined();
    expect(await limit({}, { dmHistoryLimit: 9 })).toBe(9);
    expect(await limit({ dmHistoryLimit: 5 }, { dmHistoryLimit: 9 })).toBe(5);
    expect(await limit({ dms, dmHistoryLimit: 5 }, { dmHistoryLimit: 9 })).toBe(2);
  });

  it("follows the channel, and an account of its own before it", async () => {
    const { rules, config } = await rulesFor({
      channels: {
        telegram: {
          streaming: { mode: "progress", nativeTransport: false },
          dmHistoryLimit: 3,
          textChunkLimit: 500,
          accounts: {
            default: { ...TELEGRAM, mediaMaxMb: 2, mediaTypes: { deny: ["video/*"] }, dmHistoryLimit: 1 },
            small: { ...TELEGRAM, textChunkLimit: 1 },
          },
        },
      },
    });
    expect(rules.chat(peer("1"))).toMatchObject({
      streaming: "partial",
      nativeStreaming: false,
      dmHistoryLimit: 1,
      mostMediaBytes: 2 * 1024 * 1024,
      mediaTypes: { deny: ["video/*"] },
    });
    const limits = { text: 4096, format: "plain", media: 1 } as const;
    const lowered = (account: string) =>
      lowerLimits(limits, accountOf(config, { ...peer("1"), account: accountId(account) })).text;
    expect([lowered("default"), lowered("small")]).toEqual([500, 100]);
    expect(lowerLimits({ ...limits, text: 300 }, accountOf(config, peer("1"))).text).toBe(300);
  });
});

describe("bindings and reactions", () => {
  const group = { kind: "group", id: "-5" } as const;
  const said = (account: string) => ({
    ...message({ chat: group }),
    from: { ...peer("-5"), account: accountId(account), chat: group },
  });
  const rulesOf = async (config: object) => {
    const agents = { list: [{ id: "main" }, { id: "ops", groupChat: { mentionPatterns: ["ops"] } }] };
    const loaded = { ...(await load({ agents, ...config })), path: "openclaw.json", exists: true, hash: "" };
    const live = new Live(resolvePaths({ HOME: "/nowhere" }), "/nowhere", loaded);
    return { live, rules: createRules(live)() };
  };
  const bindings = [
    { agentId: "ops", match: { channel: "telegram" }, session: { dmScope: "main" } },
    { agentId: "main", match: { channel: "telegram", accountId: "two" } },
  ];

  it("a binding names the agent of a session; without an account it means the default one", async () => {
    const channels = { telegram: { botToken: "1:a", accounts: { one: {}, two: {} } } };
    const { live, rules } = await rulesOf({ bindings, channels });
    expect(rules.keyFor(said("one"))).toBe("agent:ops:telegram:one:group:-5");
    expect(rules.keyFor(said("two"))).toBe("telegram:two:group:-5");
    expect(mentionPatternsFor(said("one"), live)?.map(({ source }) => source)).toEqual(["ops"]);
    expect(mentionPatternsFor(said("two"), live)).toBeUndefined();
    const direct = { ...said("one"), from: { ...said("one").from, chat: { kind: "direct", id: "7" } } } as const;
    expect(rules.keyFor(direct)).toBe("agent:ops:main");
  });

  it("with a global scope all direct chats of an agent are one, and groups are not", async () => {
    const channels = { telegram: { botToken: "1:a", accounts: { one: {}, two: {} } } };
    const links = { identityLinks: { ada: ["telegram:7"] } };
    const { rules } = await rulesOf({
      bindings,
      channels,
      session: { scope: "global", dmScope: "per-peer", ...links },
    });
    const direct = (account: string, id: string) =>
      rules.keyFor({
        ...said(account),
        sender: { id },
        from: { ...said(account).from, chat: { kind: "direct", id } },
      });
    expect([direct("two", "7"), direct("two", "8")]).toEqual(["main", "main"]);
    expect([direct("one", "7"), direct("one", "8")]).toEqual(["agent:ops:main", "agent:ops:main"]);
    expect(rules.keyFor(said("two"))).toBe("telegram:two:group:-5");
  });

  it("threads have conversations of their own, or share that of their chat", async () => {
    const { rules } = await rulesOf({
      channels: { telegram: { accounts: { one: {}, two: { thread: { historyScope: "channel" } } } } },
    });
    const inThread = (account: string) => ({ ...said(account), from: { ...said(account).from, thread: "7" } });
    expect(rules.keyFor(inThread("one"))).toBe("telegram:one:group:-5:thread:7");
    expect(rules.keyFor(inThread("two"))).toBe("telegram:two:group:-5");
  });

  it("answers quote as the kind of chat says", async () => {
    const channels = {
      telegram: { botToken: "1:a", replyToMode: "all", replyToModeByChatType: { channel: "batched" } },
    };
    const { rules } = await rulesOf({ channels });
    expect(rules.chat(peer("1")).replyToMode).toBe("all");
    expect(rules.chat(said("default").from).replyToMode).toBe("first");
  });

  it("a reaction is for those who name the bot, also by the words that the config counts as its name", async () => {
    const messages = { ackReaction: "👀", groupChat: { mentionPatterns: ["\\bclaw\\b"] } };
    const channels = { telegram: { accounts: { one: {}, two: { ackReaction: { emoji: "✅" } } } } };
    const { rules } = await rulesOf({ messages, channels, bindings: bindings.slice(1) });
    const reaction = (account: string, text: string) =>
      rules.reaction({ ...said(account), mentionsBot: false, text })?.emoji;
    expect([reaction("one", "hey Claw!"), reaction("one", "hey you")]).toEqual(["👀", undefined]);
    expect([reaction("two", "hey Claw!"), reaction("two", "hey you")]).toEqual(["✅", undefined]);
    const own = await rulesOf({ messages, channels, bindings: bindings.slice(0, 1) });
    const ops = (text: string) => own.rules.reaction({ ...said("one"), mentionsBot: false, text })?.emoji;
    expect([ops("ops?"), ops("claw?")]).toEqual(["👀", undefined]);
  });

  it("a reaction follows the account's scope, or the form of WhatsApp", async () => {
    const reaction = async (account: object, more: object = {}) =>
      (
        await rulesOf({ messages: { ackReaction: "👀" }, channels: { telegram: { botToken: "1:a", ...account } } })
      ).rules.reaction({
        ...said("default"),
        mentionsBot: false,
        ...more,
      });
    expect(await reaction({})).toBeUndefined();
    expect(await reaction({}, { replyTo: { id: "1", fromBot: true } })).toMatchObject({ emoji: "👀" });
    expect(await reaction({ ackReactionScope: "all", ackReaction: "🦞" })).toMatchObject({ emoji: "🦞" });
    expect(await reaction({ ackReaction: { emoji: "✅", group: "always" } })).toMatchObject({ emoji: "✅" });
    expect(await reaction({ ackReaction: { emoji: "✅" } })).toBeUndefined();
    expect(await reaction({ ackReactionScope: "all" }, { event: "reaction" })).toBeUndefined();
  });
});
