import { describe, expect, it } from "vitest";
import { OPERATOR_KEY } from "../../../src/sessions/keys.ts";
import { accountOf, lowerLimits } from "../../../src/app/accounts/accounts.ts";
import { loadConfigText } from "../../kit/config-text.ts";
import { resolvePaths } from "../../../src/app/config/paths.ts";
import { Live } from "../../../src/app/live.ts";
import { isAddressedTo, mentionPatternsFor } from "../../../src/app/compose/routing/mentions.ts";
import { createRules } from "../../../src/app/compose/rules.ts";
import { accountId } from "../../../src/types/ids.ts";
import { telegramConfig } from "../../../extensions/telegram/config.ts";
import { message, peer } from "../../kit/inbound.ts";

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
      skills: { entries: { tidy: { apiKey: "b" } } },
      channels: {
        telegram: {
          ...TELEGRAM,
          name: "bot",
          streaming: { progress: { label: "x" } },
          groups: { "-100": { requireMention: true, agentId: "short" } },
        },
      },
    });
    const others = warnings.filter(({ text }) => !text.endsWith(NONE)).map(({ text }) => text);
    expect(others).toEqual(["openclaw.json:1: channels.telegram.groups.-100.agentId: has no effect here"]);
    expect(warnings.map(({ key }) => key).toSorted()).toEqual(
      [
        "agents.list[0].description",
        "commands.native",
        "logging.redactSensitive",
        "channels.telegram.name",
        "channels.telegram.groups.-100.agentId",
        "channels.telegram.streaming.progress",
      ].toSorted(),
    );
  });

  it("are not what a misspelt rule about addresses is taken for: it is refused", async () => {
    const ssrfPolicy = { allowHosts: ["x"] };
    for (const config of [{ browser: { ssrfPolicy } }, { tools: { web: { fetch: { ssrfPolicy } } } }])
      await expect(load(config)).rejects.toThrow("ssrfPolicy.allowHosts: unknown key");
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
    await expect(load({ gateway: { auth: { mode: "password" } } })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("OPENCLAW_GATEWAY_PASSWORD"),
    });
  });
});

describe("how a chat is answered", () => {
  const rulesFor = async (config: unknown) => {
    const loaded = { ...(await load(config)), path: "openclaw.json", exists: true, hash: "", files: [] };
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
    const { rules: usual } = await rulesFor({ messages: { groupChat: { mentionPatterns: ["^ops"] } } });
    const said = (text: string, kind: "direct" | "group") =>
      usual.typingMode?.(message({ text, mentionsBot: false, chat: { kind, id: "g" } }));
    expect([said("hi", "direct"), said("hi", "group"), said("ops, hi", "group")]).toEqual([
      "instant",
      "message",
      "instant",
    ]);
    const session = { typingMode: "never", typingIntervalSeconds: 9 };
    const { rules } = await rulesFor({ session, agents: { defaults: { typingMode: "message" } } });
    expect(rules.agents.get(rules.defaultAgent)?.typing).toEqual({ mode: "never", everyMs: 9000 });
  });

  it("waits in the mode of its channel, else in that of all, else in `collect`; each mode has its other names", async () => {
    const rules = async (messages: object) => (await rulesFor({ messages })).rules;
    const modeOf = async (queue: object) => (await rules({ queue })).queueMode(peer("1"));
    expect(await modeOf({})).toBe("collect");
    expect(await modeOf({ mode: "interrupt" })).toBe("interrupt");
    expect(await modeOf({ mode: "interrupt", byChannel: { slack: "steer" } })).toBe("interrupt");
    expect(await modeOf({ mode: "interrupt", byChannel: { telegram: "queue" } })).toBe("followup");
    expect(await modeOf({ mode: "steer+backlog" })).toBe("steer-backlog");
    expect((await rules({})).queue).toMatchObject({ cap: 20, drop: "summarize", debounceMs: 500 });
    const inbound = async (values: object) => (await rules({ inbound: values })).inboundDebounceMs(peer("1"));
    expect(await inbound({})).toBe(0);
    expect(await inbound({ debounceMs: 7, byChannel: { slack: 9 } })).toBe(7);
    expect(await inbound({ debounceMs: 7, byChannel: { telegram: 9 } })).toBe(9);
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
            small: { ...TELEGRAM, botToken: "2:small", textChunkLimit: 1 },
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
    const loaded = { ...(await load({ agents, ...config })), path: "openclaw.json", exists: true, hash: "", files: [] };
    const live = new Live(resolvePaths({ HOME: "/nowhere" }), "/nowhere", loaded);
    return { live, rules: createRules(live)() };
  };
  const bindings = [
    { agentId: "ops", match: { channel: "telegram" }, session: { dmScope: "main" } },
    { agentId: "main", match: { channel: "telegram", accountId: "two" } },
  ];

  it("names of the agent count in the chats that the account names, and a topic is one of them", async () => {
    const isCalled = async (mentionPatterns: object, thread?: string) => {
      const channels = { telegram: { botToken: "1:a", mentionPatterns } };
      const { live } = await rulesOf({ messages: { groupChat: { mentionPatterns: ["claw"] } }, channels });
      const { from, ...rest } = said("default");
      const asked = { ...rest, text: "claw, hi", mentionsBot: false, from: { ...from, ...(thread && { thread }) } };
      return isAddressedTo(asked, live);
    };
    expect(await isCalled({})).toBe(true);
    expect(await isCalled({ denyIn: ["-5"] }, "7")).toBe(false);
    expect([await isCalled({ denyIn: ["-5:topic:7"] }, "7"), await isCalled({ denyIn: ["-5:topic:7"] }, "8")]).toEqual([
      false,
      true,
    ]);
    expect(await isCalled({ mode: "deny" })).toBe(false);
    expect(await isCalled({ mode: "deny", allowIn: [-5] })).toBe(true);
    expect(await isCalled({ mode: "deny", allowIn: ["-5"], denyIn: ["-5"] })).toBe(false);
  });

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

  it("a topic's agent answers in it, before any binding, and in no other place", async () => {
    const topics = { 7: { agentId: "ops" } };
    const at = (section: object) => ({ telegram: { botToken: "1:a", accounts: { one: section } } });
    const heard = (thread: string | undefined, kind: "direct" | "group", guildId?: string) => ({
      ...said("one"),
      ...(guildId !== undefined && { guildId }),
      from: { ...said("one").from, chat: { kind, id: "-5" }, ...(thread !== undefined && { thread }) },
    });
    for (const [section, kind] of [
      [{ groups: { "-5": { topics } } }, "group"],
      [{ channels: { "-5": { topics } } }, "group"],
      [{ guilds: { g: { channels: { "-5": { topics } } } } }, "group"],
      [{ direct: { "-5": { topics } } }, "direct"],
      [{ dms: { "-5": { topics } } }, "direct"],
    ] as const) {
      const { rules } = await rulesOf({ channels: at(section) });
      const agents = ["7", "8", undefined].map((thread) => rules.agentOf(rules.keyFor(heard(thread, kind, "g"))));
      expect(agents, JSON.stringify(section)).toEqual(["ops", "main", "main"]);
    }
    const bound = [
      { agentId: "main", match: { channel: "telegram", accountId: "*", peer: { kind: "group", id: "7" } } },
    ];
    const { rules } = await rulesOf({ bindings: bound, channels: at({ groups: { "-5": { topics } } }) });
    expect(rules.agentOf(rules.keyFor(heard("7", "group")))).toBe("ops");
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
    expect([direct("two", "7"), direct("two", "8")]).toEqual([OPERATOR_KEY, OPERATOR_KEY]);
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
