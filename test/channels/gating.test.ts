import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { accountConfig } from "../../src/channels/config.ts";
import { gate } from "../../src/channels/access/gating.ts";
import type { SenderFacts } from "../../src/channels/access/gating.ts";
import { isListed } from "../../src/channels/access/listed.ts";
import { mentionPatterns } from "../../src/channels/access/mention-pattern.ts";
import { channelPolicyOf } from "../../src/channels/access/policy.ts";
import { channelId } from "../../src/types/ids.ts";
import type { InboundMessage } from "../../src/types/chat/message.ts";
import { message } from "../kit/inbound.ts";

const STRANGER: SenderFacts = { paired: false, isOwner: false };
const policy = (config: Record<string, unknown>, patterns: string[] = []) =>
  channelPolicyOf(accountConfig.parse(config), { mentionPatterns: mentionPatterns(patterns), historyLimit: 50 });
const direct = message({ sender: { id: "7", username: "Ada", e164: "+4930123" } });
const group = message({
  chat: { kind: "group", id: "-100" },
  sender: { id: "7", username: "Ada" },
  mentionsBot: false,
});
const named = { ...group, mentionsBot: true };

describe("direct chats", () => {
  test("a stranger must pair, and is let in afterwards", () => {
    expect(gate(direct, policy({}), STRANGER)).toEqual({ kind: "pair" });
    expect(gate(direct, policy({}), { ...STRANGER, paired: true })).toEqual({ kind: "pass" });
  });

  test.each(["7", "telegram:7", "tg:7", "TELEGRAM:7", "@ada", "telegram:@Ada", "+4930123", "*"])(
    "%s lets in",
    (entry) => {
      expect(gate(direct, policy({ dmPolicy: "allowlist", allowFrom: [entry] }), STRANGER)).toEqual({ kind: "pass" });
    },
  );

  test.each(["77", "adam", "whatsapp:7", "", "7*"])("%s does not", (entry) => {
    expect(gate(direct, policy({ dmPolicy: "allowlist", allowFrom: [entry] }), STRANGER).kind).toBe("drop");
  });

  test("dm is an alternative notation", () => {
    const kind = (dm: object): string => gate(direct, policy({ dm }), STRANGER).kind;
    expect(kind({})).toBe("pair");
    expect(kind({ enabled: false, allowFrom: ["7"] })).toBe("drop");
    expect(kind({ policy: "allowlist" })).toBe("drop");
    expect(kind({ policy: "allowlist", allowFrom: ["7"] })).toBe("pass");
  });

  test("open needs * in allowFrom", () => {
    expect(gate(direct, policy({ dmPolicy: "open" }), STRANGER).kind).toBe("drop");
    expect(gate(direct, policy({ dmPolicy: "open", allowFrom: ["*"] }), STRANGER)).toEqual({ kind: "pass" });
  });

  test("disabled rejects even the owner", () => {
    expect(gate(direct, policy({ dmPolicy: "disabled", allowFrom: ["*"] }), { paired: true, isOwner: true }).kind).toBe(
      "drop",
    );
  });
});

describe("groups", () => {
  test("a group that is not listed is ignored", () => {
    expect(gate(named, policy({}), STRANGER)).toEqual({ kind: "drop", why: "the group is not in groups" });
    expect(gate(named, policy({ groups: { "-100": {} } }), STRANGER)).toEqual({ kind: "pass" });
    expect(gate(named, policy({ groups: { "*": {} } }), STRANGER)).toEqual({ kind: "pass" });
    expect(gate(named, policy({ groups: { "*": {}, "-100": { enabled: false } } }), STRANGER).kind).toBe("drop");
    expect(gate(named, policy({ groupPolicy: "open" }), STRANGER)).toEqual({ kind: "pass" });
    expect(gate(named, policy({ groupPolicy: "disabled", groups: { "*": {} } }), STRANGER).kind).toBe("drop");
  });

  test("a message without a mention is kept as history, unless the group requires none", () => {
    expect(gate(group, policy({ groups: { "*": {} } }), STRANGER)).toEqual({ kind: "history" });
    expect(gate(group, policy({ groups: { "-100": { requireMention: false } } }), STRANGER)).toEqual({ kind: "pass" });
    expect(gate(group, policy({ requireMention: false, groups: { "*": {} } }), STRANGER)).toEqual({ kind: "pass" });
    const claw = policy({ groups: { "*": {} } }, ["\\bclaw\\b"]);
    for (const text of ["hey Claw", "claw again"])
      expect(gate({ ...group, text }, claw, STRANGER)).toEqual({ kind: "pass" });
  });

  test("a group's allowFrom overrides groupAllowFrom, which overrides allowFrom", () => {
    const lists = { allowFrom: ["1"], groupAllowFrom: ["2"], groups: { "*": { allowFrom: ["7"] } } };
    expect(gate(named, policy(lists), STRANGER)).toEqual({ kind: "pass" });
    expect(gate(named, policy({ ...lists, groups: { "*": {} } }), STRANGER).kind).toBe("drop");
    expect(gate(named, policy({ allowFrom: ["1"], groups: { "*": {} } }), STRANGER).kind).toBe("drop");
    expect(gate(named, policy({ allowFrom: ["7"], groups: { "*": {} } }), STRANGER)).toEqual({ kind: "pass" });
  });

  test("an owner's command needs no mention, that of others does", () => {
    const open = policy({ groups: { "*": {} } });
    expect(gate(group, open, { paired: false, isOwner: true, isCommand: true })).toEqual({ kind: "pass" });
    expect(gate(group, open, { paired: false, isOwner: false, isCommand: true })).toEqual({ kind: "history" });
  });
});

test("bots are ignored by default, whatever the policy", () => {
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

describe("more rules of groups", () => {
  const open = { groupPolicy: "open" };

  test("a reply to the bot counts as a mention, whatever the adapter says", () => {
    const reply = { ...group, replyTo: { id: "5", fromBot: true } };
    expect(gate(reply, policy(open), STRANGER)).toEqual({ kind: "pass" });
    expect(gate({ ...group, replyTo: { id: "5" } }, policy(open), STRANGER)).toEqual({ kind: "history" });
  });

  test("an agent's own patterns replace the general ones", () => {
    const said = { ...group, text: "hey Molty, hello" };
    const facts = { ...STRANGER, mentionPatterns: mentionPatterns(["\\bmolty\\b"]) };
    expect(gate(said, policy(open), facts)).toEqual({ kind: "pass" });
    expect(gate(said, policy(open, ["molty"]), { ...facts, mentionPatterns: [] })).toEqual({ kind: "history" });
  });

  test("allowBots decides which bots are let in", () => {
    const bot = { ...named, sender: { id: "8", isBot: true } };
    const silent = { ...bot, mentionsBot: false };
    const kinds = (allowBots: unknown) =>
      [bot, silent].map((said) => gate(said, policy({ ...open, allowBots, requireMention: false }), STRANGER).kind);
    expect(kinds(false)).toEqual(["drop", "drop"]);
    expect(kinds("mentions")).toEqual(["pass", "drop"]);
    expect(kinds(true)).toEqual(["pass", "pass"]);
  });

  test("a guild allows its listed channels, or all of them", () => {
    const inGuild = { ...named, guildId: "G" };
    const kind = (guild: object): string => gate(inGuild, policy({ guilds: { G: guild } }), STRANGER).kind;
    expect(kind({})).toBe("pass");
    expect(kind({ channels: { "-100": {} } })).toBe("pass");
    expect(kind({ channels: { other: {} } })).toBe("drop");
    expect(kind({ channels: { "-100": { enabled: false } } })).toBe("drop");
    expect(kind({ channels: { "*": {} } })).toBe("pass");
    expect(gate({ ...inGuild, guildId: "H" }, policy({ guilds: { G: {} } }), STRANGER).kind).toBe("drop");
    expect(
      gate({ ...inGuild, mentionsBot: false }, policy({ guilds: { G: { requireMention: false } } }), STRANGER),
    ).toEqual({ kind: "pass" });
  });

  test("roles and users each allow senders in a guild", () => {
    const rules = policy({ guilds: { G: { roles: ["r1"], users: ["7"] } } });
    const by = (id: string, roles: string[]): string =>
      gate({ ...named, guildId: "G", sender: { id, roles } }, rules, STRANGER).kind;
    expect([by("7", []), by("9", ["r1"]), by("9", ["r2"])]).toEqual(["pass", "pass", "drop"]);
  });

  test("a channel with its own list, even of roles alone, ignores the list of its guild", () => {
    const by = (channel: object, id: string, roles: string[] = []): string => {
      const rules = policy({ guilds: { G: { users: ["7"], roles: ["r1"], channels: { "-100": channel } } } });
      return gate({ ...named, guildId: "G", sender: { id, roles } }, rules, STRANGER).kind;
    };
    expect([by({}, "7"), by({}, "9", ["r1"]), by({}, "9", ["r2"])]).toEqual(["pass", "pass", "drop"]);
    const ofRoles = { roles: ["r2"] };
    expect([by(ofRoles, "7"), by(ofRoles, "9", ["r1"]), by(ofRoles, "9", ["r2"])]).toEqual(["drop", "drop", "pass"]);
    const ofUsers = { users: ["8"] };
    expect([by(ofUsers, "7"), by(ofUsers, "9", ["r1"]), by(ofUsers, "8")]).toEqual(["drop", "drop", "pass"]);
  });

  test("the guild `*` applies to guilds that are not listed", () => {
    const guilds = { "*": { requireMention: false, users: ["7"] }, G: { channels: { other: {} } } };
    const heard = (guildId: string, id = "7"): string =>
      gate({ ...group, guildId, sender: { id } }, policy({ guilds }), STRANGER).kind;
    expect([heard("H"), heard("H", "9"), heard("G")]).toEqual(["pass", "drop", "drop"]);
    const other = { ...group, guildId: "G", from: { ...group.from, chat: { kind: "group", id: "other" } } } as const;
    expect(gate(other, policy({ guilds }), STRANGER)).toEqual({ kind: "history" });
  });

  test("Slack's channels are groups", () => {
    expect(gate(named, policy({ channels: { "-100": {} } }), STRANGER)).toEqual({ kind: "pass" });
  });

  test("a channel with the older `allow: false` is ignored", () => {
    for (const of of ["groups", "channels"])
      expect(gate(named, policy({ [of]: { "-100": { allow: false } } }), STRANGER).kind).toBe("drop");
    const guilds = { G: { channels: { "-100": { allow: false } } } };
    expect(gate({ ...named, guildId: "G" }, policy({ guilds }), STRANGER).kind).toBe("drop");
    expect(gate(named, policy({ channels: { "-100": { allow: true } } }), STRANGER)).toEqual({ kind: "pass" });
  });

  test("everybody in a guild or a Slack channel is allowed, whoever may write directly", () => {
    const inGuild = { ...named, guildId: "G" };
    for (const listed of [{ allowFrom: ["1"] }, { dm: { allowFrom: ["1"] } }]) {
      expect(gate(inGuild, policy({ ...listed, guilds: { G: {} } }), STRANGER)).toEqual({ kind: "pass" });
      expect(gate(named, policy({ ...listed, channels: { "-100": {} } }), STRANGER)).toEqual({ kind: "pass" });
      expect(gate(named, policy({ ...listed, groups: { "-100": {} } }), STRANGER).kind).toBe("drop");
      expect(gate(inGuild, policy({ ...listed, groupAllowFrom: ["1"], guilds: { G: {} } }), STRANGER).kind).toBe(
        "drop",
      );
    }
  });
});

describe("a list names a sender", () => {
  const by = (sender: InboundMessage["sender"], channel: string, entry: string): boolean =>
    isListed({ sender, from: { ...direct.from, channel: channelId(channel) } }, [entry]);
  const phone = { id: "uuid:7ccae375", e164: "+493012345678" };

  test.each(["+493012345678", "493012345678", "signal:+493012345678", "+49 (30) 1234-5678", "uuid:7ccae375"])(
    "by number: %s",
    (entry) => {
      expect(by(phone, "signal", entry)).toBe(true);
      expect(by({ ...phone, id: "uuid:8", e164: "+4930123456789" }, "signal", entry)).toBe(false);
    },
  );

  test.each([
    "42",
    "<@42>",
    "<@!42>",
    "<@42|alice>",
    "discord:42",
    "Discord:42",
    "user:42",
    "alice",
    "@Alice",
    "ALIce",
  ])("by id or name: %s", (entry) => {
    expect(by({ id: "42", username: "alice" }, "discord", entry)).toBe(true);
    expect(by({ id: "43", username: "bob" }, "discord", entry)).toBe(false);
  });

  test("an empty name is on no list", () => {
    const nameless = { id: "", username: "", e164: "" };
    for (const entry of ["42", "+493012345678", "U0ABC", "alice", "@", "", " ", "telegram:", "user:"])
      expect(by(nameless, "telegram", entry), entry).toBe(false);
    expect(by({ id: "9" }, "telegram", "telegram:")).toBe(false);
    expect(by(nameless, "telegram", "*")).toBe(true);
  });

  test("an id does not match a user who takes it as a username", () => {
    for (const [entry, username] of [
      ["123456789", "123456789"],
      ["U061F7AUR", "u061f7aur"],
      ["uuid:7c", "uuid:7c"],
    ] as const)
      expect(by({ id: "9", username }, "slack", entry), entry).toBe(false);
    expect(by({ id: "9" }, "telegram", "+9")).toBe(false);
  });
});

describe("reactions", () => {
  const thumb = {
    ...direct,
    text: "",
    event: "reaction",
    reaction: { emoji: "👍", messageId: "3", toBot: true },
  } as const;
  const other = { ...thumb, reaction: { ...thumb.reaction, toBot: false } };
  const heard = { dmPolicy: "allowlist", allowFrom: ["7"] };

  test.each([
    ["off", "drop", "drop"],
    ["own", "event", "drop"],
    ["all", "event", "event"],
    ["allowlist", "drop", "drop"],
  ])("%s", (reactionNotifications, own, others) => {
    const rules = policy({ ...heard, reactionNotifications });
    expect([gate(thumb, rules, STRANGER).kind, gate(other, rules, STRANGER).kind]).toEqual([own, others]);
  });

  test("of listed people are kept, of strangers never", () => {
    const rules = policy({ ...heard, reactionNotifications: "allowlist", reactionAllowlist: ["7"] });
    expect(gate(other, rules, STRANGER)).toEqual({ kind: "event" });
    expect(gate(thumb, policy({}), STRANGER).kind).toBe("drop");
  });
});

describe("news of a chat", () => {
  const pinned = { ...direct, text: "", event: "news", news: { kind: "pinned", messageId: "3" } } as const;
  const inGroup = {
    ...pinned,
    mentionsBot: false,
    from: { ...pinned.from, chat: { kind: "group", id: "-1" } },
  } as const;

  test("are told of those who may write, even where the bot must be named", () => {
    expect(gate(pinned, policy({ dmPolicy: "allowlist", allowFrom: ["7"] }), STRANGER)).toEqual({ kind: "event" });
    expect(gate(inGroup, policy({ groupPolicy: "open" }), STRANGER)).toEqual({ kind: "event" });
  });

  test("are never told of anybody else", () => {
    expect(gate(pinned, policy({}), STRANGER).kind).toBe("drop");
    expect(gate(inGroup, policy({ groupPolicy: "allowlist" }), STRANGER).kind).toBe("drop");
    expect(gate(inGroup, policy({ groupPolicy: "open", groupAllowFrom: ["8"] }), STRANGER).kind).toBe("drop");
  });
});

describe("topics", () => {
  const inTopic = (thread: string) => ({ ...group, from: { ...group.from, thread } });
  const outcome = (config: Record<string, unknown>, thread: string) =>
    gate(inTopic(thread), policy(config), STRANGER).kind;

  test.each([
    ["groups", (chat: object) => ({ groups: { "-100": chat } })],
    ["channels", (chat: object) => ({ channels: { "-100": chat } })],
    ["servers", (chat: object) => ({ guilds: { "*": { channels: { "-100": chat } } } })],
  ])("of %s may have rules of their own about who is heard", (_, at) => {
    const config = at({
      allowFrom: ["7"],
      topics: {
        1: { requireMention: false },
        2: { requireMention: false, enabled: false },
        3: { requireMention: false, allowFrom: ["8"] },
        4: { requireMention: true },
        5: {},
      },
    });
    const outcomes = ["1", "2", "3", "4", "5", "6"].map((thread) => outcome(config, thread));
    expect(outcomes).toEqual(["pass", "drop", "drop", "history", "history", "history"]);
    const open = at({ requireMention: false, topics: { 4: { requireMention: true }, "*": { enabled: false } } });
    expect(["4", "9"].map((thread) => outcome(open, thread))).toEqual(["history", "drop"]);
    expect(gate(group, policy(open), STRANGER).kind).toBe("pass");
  });

  test("take the rules of the entry for all groups where their group has none", () => {
    const config = { groups: { "-100": {}, "*": { topics: { 1: { requireMention: false } } } } };
    expect(["1", "2"].map((thread) => outcome(config, thread))).toEqual(["pass", "history"]);
  });
});
