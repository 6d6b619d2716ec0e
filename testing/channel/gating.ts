import type { TestRunner } from "../runner.ts";
import { accountConfig } from "../../src/channels/config.ts";
import { gate, type Gate } from "../../src/channels/access/gating.ts";
import { channelPolicyOf } from "../../src/channels/access/policy.ts";
import type { InboundMessage, Peer } from "../../src/types/chat/message.ts";
import type { AnyPlatform } from "./platform.ts";
import { KEY, start, text } from "./running.ts";

type Open = () => Promise<AnyPlatform>;

const OPERATORS = "who writes there is the operator";
const ALONE = "the platform has no groups";
const UNLISTED = { kind: "drop", why: "the group is not in groups" };

/**
 * Decision of the core about a message of somebody who was never approved, under the default settings except for
 * `config`.
 */
function verdict(message: InboundMessage, config: Readonly<Record<string, unknown>> = {}, paired = false): Gate {
  const policy = channelPolicyOf(accountConfig.parse(config), { mentionPatterns: [], historyLimit: 50 });
  return gate(message, policy, { paired, isOwner: false });
}

/** Tests of the core's gate with an adapter's messages of its platform's events. */
export function gating({ expect, test }: TestRunner, open: Open): void {
  const begin = async (skip: (why: string) => void) => {
    const { platform, host } = await start(await open());
    const { group } = platform;
    if (!group) skip(ALONE);
    return { platform, host, group: group! };
  };
  const listed = ({ chat }: Peer) => ({ groups: { [chat.id]: {} } });

  test("a stranger is asked to pair, and let in where a list names them as the messages do", async (context) => {
    const { platform, host } = await start(await open());
    if (!platform.wrongConfig) return context.skip(OPERATORS);
    platform.say(platform.direct, "let me in");
    const message = await host.heard("let me in");
    const { id, username, e164 } = message.sender;
    expect(verdict(message)).toEqual({ kind: "pair" });
    expect(verdict(message, {}, true)).toEqual({ kind: "pass" });
    expect(verdict(message, { dmPolicy: "disabled" }, true).kind).toBe("drop");
    const names = [id, `${message.from.channel}:${id}`, username && `@${username}`, e164].filter(Boolean);
    for (const name of names) expect(verdict(message, { allowFrom: [name] }), name).toEqual({ kind: "pass" });
    expect(verdict(message, { dmPolicy: "allowlist", allowFrom: [`${id}0`] }).kind).toBe("drop");
  });

  test("a group is admitted when it is listed by the id of its messages, and answered when the bot is mentioned", async (context) => {
    const { platform, host, group } = await begin(context.skip);
    platform.say(group, "one to all");
    platform.say(group, "two to the bot", { naming: true });
    platform.say(group, "three as a reply", { replyingToBot: true });
    const toAll = await host.heard("one");
    const meant = [await host.heard("two"), await host.heard("three")];
    for (const message of [toAll, ...meant]) {
      expect(verdict(message)).toEqual(UNLISTED);
      expect(verdict(message, { groupPolicy: "disabled", ...listed(group) }).kind).toBe("drop");
      expect(verdict(message, { groupAllowFrom: ["somebody else"], ...listed(group) }).kind).toBe("drop");
    }
    expect(verdict(toAll, listed(group))).toEqual({ kind: "history" });
    expect(verdict(toAll, { requireMention: false, ...listed(group) })).toEqual({ kind: "pass" });
    const { guildId } = toAll;
    if (guildId !== undefined) expect(verdict(toAll, { guilds: { [guildId]: {} } })).toEqual({ kind: "history" });
    for (const message of meant) expect(verdict(message, listed(group))).toEqual({ kind: "pass" });
  });

  test("a thread counts as its group", async (context) => {
    const { platform, host } = await start(await open());
    const { topic } = platform;
    if (!topic) return context.skip("the platform has no threads");
    platform.say(topic, "in the thread");
    platform.say(topic, "to the bot", { naming: true });
    expect(verdict(await host.heard("in the thread"), listed(topic))).toEqual({ kind: "history" });
    expect(verdict(await host.heard("to the bot"), listed(topic))).toEqual({ kind: "pass" });
    expect(verdict(await host.heard("to the bot"))).toEqual(UNLISTED);
  });

  test("messages of other bots are dropped unless the settings allow them", async (context) => {
    const { platform, host, group } = await begin(context.skip);
    if (!platform.sayAsBot) return context.skip("bots do not hear bots there");
    platform.sayAsBot(group, "beep");
    const message = await host.heard("beep");
    const open = { requireMention: false, ...listed(group) };
    expect(verdict(message, open)).toEqual({ kind: "drop", why: "the sender is a bot" });
    expect(verdict(message, { allowBots: "mentions", ...open }).kind).toBe("drop");
    expect(verdict(message, { allowBots: true, ...open })).toEqual({ kind: "pass" });
  });

  test("a reaction is an event for the agent, and asks no stranger to pair", async (context) => {
    const { platform, host, link } = await start(await open());
    if (!platform.react) return context.skip("the platform reports no reactions");
    const sent = await link.send(platform.direct, text("of the bot"), KEY);
    platform.react(platform.direct, sent.kind === "sent" ? sent.messageId : "", "👍");
    const find = () => host.received.find(({ event }) => event === "reaction");
    await host.until(() => find() !== undefined);
    const reaction = find()!;
    expect(verdict(reaction, {}, true)).toEqual({ kind: "event" });
    expect(verdict(reaction).kind).toBe("drop");
    expect(verdict(reaction, { reactionNotifications: "off" }, true).kind).toBe("drop");
  });

  test("news of a group are an event for the agent only where the sender may write", async (context) => {
    const { platform, host, group } = await begin(context.skip);
    const [happens] = platform.news ?? [];
    if (!happens) return context.skip("the platform reports none");
    platform.say(group, "I am here");
    await host.heard("I am here");
    happens();
    const find = () => host.received.find(({ event }) => event === "news");
    await host.until(() => find() !== undefined);
    expect(verdict(find()!, listed(group))).toEqual({ kind: "event" });
    expect(verdict(find()!).kind).toBe("drop");
    expect(verdict(find()!, { ...listed(group), groupAllowFrom: ["nobody"] }).kind).toBe("drop");
  });
}
