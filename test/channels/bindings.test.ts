import fc from "fast-check";
import { expect, test } from "vitest";
import { bindingFor, bindingsConfig } from "../../src/channels/routing/bindings.ts";
import type { Binding, Routed } from "../../src/channels/routing/bindings.ts";
import { accountId, channelId } from "../../src/types/ids.ts";

const bind = (agentId: string, match: Record<string, unknown>): Binding =>
  bindingsConfig.parse([{ agentId, match: { channel: "discord", ...match } }])[0]!;

const said = (
  more: Partial<Routed> & { account?: string; kind?: "direct" | "group"; thread?: string } = {},
): Routed => ({
  from: {
    channel: channelId("discord"),
    account: accountId(more.account ?? "default"),
    chat: { kind: more.kind ?? "group", id: "C1" },
    ...(more.thread !== undefined && { thread: more.thread }),
  },
  sender: more.sender ?? { id: "U1" },
  ...(more.guildId !== undefined && { guildId: more.guildId }),
  ...(more.teamId !== undefined && { teamId: more.teamId }),
});

const CHAT = bind("chat", { peer: { kind: "channel", id: "c1" } });
const THREAD = bind("thread", { peer: { kind: "group", id: "T9" } });
const ANY_GROUP = bind("any-group", { peer: { kind: "group", id: "*" } });
const ROLES = bind("roles", { guildId: "G", roles: ["admin"] });
const GUILD = bind("guild", { guildId: "G" });
const TEAM = bind("team", { teamId: "W" });
const ACCOUNT = bind("account", { accountId: "work" });
const DEFAULT_ONLY = bind("default-only", {});
const WIDE = bind("wide", { accountId: "*" });
const ALL = [WIDE, DEFAULT_ONLY, ACCOUNT, TEAM, GUILD, ROLES, ANY_GROUP, CHAT, THREAD];

const admin = { id: "U1", roles: ["x", "admin"] };
test.each<[string, Routed, readonly Binding[], string | undefined]>([
  ["a thread before its chat", said({ thread: "T9" }), ALL, "thread"],
  ["the chat around a thread", said({ thread: "other" }), ALL, "chat"],
  ["a chat before a guild", said({ guildId: "G", sender: admin }), ALL, "chat"],
  ["any chat of a kind", said({ guildId: "G" }), [GUILD, ANY_GROUP], "any-group"],
  ["a guild with roles", said({ guildId: "G", sender: admin }), [GUILD, ROLES], "roles"],
  ["a guild without the role", said({ guildId: "G" }), [ROLES, GUILD], "guild"],
  ["a team", said({ teamId: "W" }), [WIDE, DEFAULT_ONLY, TEAM], "team"],
  ["an account", said({ account: "work" }), [WIDE, DEFAULT_ONLY, ACCOUNT], "account"],
  ["the default account where none is named", said(), [WIDE, DEFAULT_ONLY], "default-only"],
  ["every account", said({ account: "other" }), [DEFAULT_ONLY, WIDE], "wide"],
  ["nothing", said({ account: "other" }), [DEFAULT_ONLY, ACCOUNT], undefined],
  ["a direct chat by its sender", said({ kind: "direct" }), [bind("me", { peer: { kind: "dm", id: "u1" } })], "me"],
  [
    "a chat by its id after the channel's name",
    said(),
    [bind("me", { peer: { kind: "group", id: "discord:C1" } })],
    "me",
  ],
  ["a chat by its id after its kind", said(), [bind("me", { peer: { kind: "channel", id: "channel:c1" } })], "me"],
  [
    "no chat by its id after another channel's name",
    said(),
    [bind("x", { peer: { kind: "group", id: "slack:C1" } })],
    undefined,
  ],
  ["no direct chat by a group's id", said({ kind: "direct" }), [CHAT], undefined],
  ["another channel", said(), [bind("x", { channel: "slack" })], undefined],
  ["the first among equals", said(), [bind("one", {}), bind("two", {})], "one"],
])("%s", (_, message, bindings, agent) => {
  expect(bindingFor(bindings, message, "default")?.agentId).toBe(agent);
});

test("the order of unequal bindings makes no difference", () => {
  const messages = [said({ thread: "T9" }), said({ guildId: "G", sender: admin }), said({ account: "work" }), said()];
  fc.assert(
    fc.property(fc.shuffledSubarray(ALL), fc.constantFrom(...messages), (bindings, message) => {
      const inOrder = ALL.filter((binding) => bindings.includes(binding));
      expect(bindingFor(bindings, message, "default")).toBe(bindingFor(inOrder, message, "default"));
    }),
  );
});
