import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { accountConfig } from "../../src/channels/config.ts";
import { gate } from "../../src/channels/gating.ts";
import type { SenderFacts } from "../../src/channels/gating.ts";
import { policyOf } from "../../src/channels/policy.ts";
import { message } from "./messages.ts";

const STRANGER: SenderFacts = { paired: false, isOwner: false };
const policy = (config: Record<string, unknown>, patterns: RegExp[] = []) =>
  policyOf(accountConfig.parse(config), { mentionPatterns: patterns, historyLimit: 50 });
const direct = message({ sender: { id: "7", username: "Ada", e164: "+4930123" } });
const group = message({
  chat: { kind: "group", id: "-100" },
  sender: { id: "7", username: "Ada" },
  mentionsBot: false,
});
const named = { ...group, mentionsBot: true };

describe("direct chats", () => {
  test("a stranger is asked to pair, and let in afterwards", () => {
    expect(gate(direct, policy({}), STRANGER)).toEqual({ kind: "pair" });
    expect(gate(direct, policy({}), { ...STRANGER, paired: true })).toEqual({ kind: "pass" });
  });

  test.each(["7", "telegram:7", "tg:7", "TELEGRAM:7", "@ada", "telegram:@Ada", "+4930123", "*"])(
    "%s lets in",
    (entry) => {
      expect(gate(direct, policy({ dmPolicy: "allowlist", allowFrom: [entry] }), STRANGER)).toEqual({ kind: "pass" });
    },
  );

  test.each(["77", "ada", "whatsapp:7", "", "7*"])("%s does not", (entry) => {
    expect(gate(direct, policy({ dmPolicy: "allowlist", allowFrom: [entry] }), STRANGER).kind).toBe("drop");
  });

  test("open needs a star", () => {
    expect(gate(direct, policy({ dmPolicy: "open" }), STRANGER).kind).toBe("drop");
    expect(gate(direct, policy({ dmPolicy: "open", allowFrom: ["*"] }), STRANGER)).toEqual({ kind: "pass" });
  });

  test("disabled keeps out even the owner", () => {
    expect(gate(direct, policy({ dmPolicy: "disabled", allowFrom: ["*"] }), { paired: true, isOwner: true }).kind).toBe(
      "drop",
    );
  });
});

describe("groups", () => {
  test("a group that is not listed is not heard", () => {
    expect(gate(named, policy({}), STRANGER)).toEqual({ kind: "drop", why: "the group is not in groups" });
    expect(gate(named, policy({ groups: { "-100": {} } }), STRANGER)).toEqual({ kind: "pass" });
    expect(gate(named, policy({ groups: { "*": {} } }), STRANGER)).toEqual({ kind: "pass" });
    expect(gate(named, policy({ groups: { "*": {}, "-100": { enabled: false } } }), STRANGER).kind).toBe("drop");
    expect(gate(named, policy({ groupPolicy: "open" }), STRANGER)).toEqual({ kind: "pass" });
    expect(gate(named, policy({ groupPolicy: "disabled", groups: { "*": {} } }), STRANGER).kind).toBe("drop");
  });

  test("what does not name the bot is kept as history, unless the group wants no mention", () => {
    expect(gate(group, policy({ groups: { "*": {} } }), STRANGER)).toEqual({ kind: "history" });
    expect(gate(group, policy({ groups: { "-100": { requireMention: false } } }), STRANGER)).toEqual({ kind: "pass" });
    expect(gate(group, policy({ requireMention: false, groups: { "*": {} } }), STRANGER)).toEqual({ kind: "pass" });
    const claw = policy({ groups: { "*": {} } }, [/\bclaw\b/gi]);
    for (const text of ["hey Claw", "claw again"])
      expect(gate({ ...group, text }, claw, STRANGER)).toEqual({ kind: "pass" });
  });

  test("the group's senders go before those of all groups, and these before allowFrom", () => {
    const lists = { allowFrom: ["1"], groupAllowFrom: ["2"], groups: { "*": { allowFrom: ["7"] } } };
    expect(gate(named, policy(lists), STRANGER)).toEqual({ kind: "pass" });
    expect(gate(named, policy({ ...lists, groups: { "*": {} } }), STRANGER).kind).toBe("drop");
    expect(gate(named, policy({ allowFrom: ["1"], groups: { "*": {} } }), STRANGER).kind).toBe("drop");
    expect(gate(named, policy({ allowFrom: ["7"], groups: { "*": {} } }), STRANGER)).toEqual({ kind: "pass" });
  });

  test("an owner's command needs no mention, another one's does", () => {
    const open = policy({ groups: { "*": {} } });
    expect(gate(group, open, { paired: false, isOwner: true, isCommand: true })).toEqual({ kind: "pass" });
    expect(gate(group, open, { paired: false, isOwner: false, isCommand: true })).toEqual({ kind: "history" });
  });
});

test("bots are never heard, whatever the policy", () => {
  const choice = fc.record({
    dmPolicy: fc.constantFrom("pairing", "allowlist", "open", "disabled"),
    groupPolicy: fc.constantFrom("allowlist", "open", "disabled"),
    allowFrom: fc.constantFrom([], ["*"], ["7"]),
    requireMention: fc.boolean(),
  });
  fc.assert(
    fc.property(choice, fc.constantFrom(direct, group, named), fc.boolean(), (config, from, isOwner) => {
      const bot = { ...from, sender: { ...from.sender, isBot: true } };
      expect(gate(bot, policy({ ...config, groups: { "*": {} } }), { paired: true, isOwner }).kind).toBe("drop");
    }),
  );
});

test("nobody who is neither listed, paired nor owner passes a closed direct policy", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("pairing", "allowlist", "open"),
      fc.array(fc.stringMatching(/^[0-68-9]{1,4}$/)),
      (dmPolicy, allowFrom) => {
        expect(gate(direct, policy({ dmPolicy, allowFrom }), STRANGER).kind).not.toBe("pass");
      },
    ),
  );
});
