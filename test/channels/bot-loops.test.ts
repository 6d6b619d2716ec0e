import { expect, test } from "vitest";
import { BotLoops } from "../../src/channels/access/bot-loops.ts";
import { accountConfig } from "../../src/channels/config.ts";
import { channelPolicyOf } from "../../src/channels/access/policy.ts";
import { message } from "../kit/inbound.ts";

const RULES = { maxMessages: 3, windowMs: 1000, cooldownMs: 5000 };
const bot = (id = "8", chat = "-1") => message({ sender: { id, isBot: true }, chat: { kind: "group", id: chat } });

test("a bot that writes too often is ignored for a cooldown", () => {
  const loops = new BotLoops();
  const at = (now: number): boolean => loops.isTooMany(bot(), RULES, now);
  expect([0, 10, 20, 30, 40, 4000].map(at)).toEqual([false, false, false, true, true, true]);
  expect([5031, 5032, 5033, 5034].map(at)).toEqual([false, false, false, true]);
});

test("slow bots, other bots and other chats are not affected", () => {
  const loops = new BotLoops();
  for (let now = 0; now < 20_000; now += 500) expect(loops.isTooMany(bot(), RULES, now)).toBe(false);
  for (let number = 0; number < 10; number += 1) {
    expect(loops.isTooMany(bot(`b${number}`), RULES, 0)).toBe(false);
    expect(loops.isTooMany(bot("8", `-${number + 5}`), RULES, 0)).toBe(false);
  }
});

test("the rules come from the account, and can be disabled", () => {
  const rules = (config: object) =>
    channelPolicyOf(accountConfig.parse(config), { mentionPatterns: [], historyLimit: 0 }).botLoops;
  expect(rules({})).toEqual({ maxMessages: 20, windowMs: 60_000, cooldownMs: 60_000 });
  expect(rules({ botLoopProtection: { maxEventsPerWindow: 2, windowSeconds: 1, cooldownSeconds: 3 } })).toEqual({
    maxMessages: 2,
    windowMs: 1000,
    cooldownMs: 3000,
  });
  expect(rules({ botLoopProtection: { enabled: false } })).toBeUndefined();
});
