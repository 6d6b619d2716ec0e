import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  agentOf,
  buildKey,
  canonicalKey,
  isSubagentKey,
  keyForPeer,
  OPERATOR_KEY,
  parseKey,
  resolveAlias,
  wireKey,
} from "../../src/sessions/keys.ts";
import { accountId, agentId, channelId, sessionKey } from "../../src/types/ids.ts";
import type { Peer } from "../../src/types/chat/message.ts";

const rules = { agentId: agentId("main"), dmScope: "per-channel-peer" } as const;
const direct: Peer = {
  channel: channelId("telegram"),
  account: accountId("default"),
  chat: { kind: "direct", id: "8001" },
};
const group: Peer = { ...direct, chat: { kind: "group", id: "-100" } };

// Ids that try to pass for something else.
const id = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.constantFrom(
    "agent",
    "main",
    "peer",
    "group",
    "thread",
    "",
    "%",
    ":",
    "::",
    "%3A",
    "%61gent",
    "default",
    "direct",
    "dm",
    "channel",
  ),
);
const peers: fc.Arbitrary<{ peer: Peer; sender: { id: string }; agent: string }> = fc
  .record({ channel: id, account: id, chat: id, isGroup: fc.boolean(), sender: id, thread: fc.option(id), agent: id })
  .filter(({ agent }) => agent !== "")
  .map(({ channel, account, chat, isGroup, sender, thread, agent }) => ({
    agent,
    sender: { id: sender },
    peer: {
      channel: channelId(channel),
      account: accountId(account),
      chat: { kind: isGroup ? "group" : "direct", id: chat },
      ...(thread === null ? {} : { thread }),
    },
  }));
type Who = { peer: Peer; sender: { id: string }; agent: string };
const identity = ({ peer, sender, agent }: Who): string =>
  JSON.stringify([
    agent,
    peer.channel,
    peer.account,
    peer.chat.kind,
    peer.chat.kind === "group" ? peer.chat.id : sender.id,
    peer.thread ?? null,
  ]);
const keyOf = ({ peer, sender, agent }: Who) => keyForPeer(peer, sender, { ...rules, agentId: agentId(agent) });

describe("session keys", () => {
  it("are written as users of the field know them", () => {
    expect(keyForPeer(direct, { id: "8001" }, rules)).toBe("telegram:default:8001");
    expect(keyForPeer(group, { id: "8001" }, rules)).toBe("telegram:default:group:-100");
    expect(keyForPeer({ ...group, thread: "7" }, { id: "1" }, rules)).toBe("telegram:default:group:-100:thread:7");
    expect(keyForPeer(direct, { id: "a:b%" }, { ...rules, agentId: agentId("ops") })).toBe(
      "agent:ops:telegram:default:a%3Ab%25",
    );
    const parent = sessionKey("telegram:default:8001");
    expect(buildKey({ kind: "subagent", parent, agentId: agentId("coder"), child: "x1" })).toBe(
      "telegram:default:8001::coder:x1",
    );
  });

  it("follow the scope of direct chats and the identity links", () => {
    const links = { identityLinks: { alice: ["telegram:8001", "slack:U1"] } };
    expect(keyForPeer(direct, { id: "8001" }, { ...rules, ...links })).toBe("peer:alice");
    expect(keyForPeer(direct, { id: "8002" }, { ...rules, ...links })).toBe("telegram:default:8002");
    expect(keyForPeer(direct, { id: "8001" }, { ...rules, ...links, dmScope: "main" })).toBe(OPERATOR_KEY);
    expect(keyForPeer(direct, { id: "8001" }, { ...rules, dmScope: "per-peer" })).toBe("peer:8001");
    expect(keyForPeer(direct, { id: "8001" }, { ...rules, dmScope: "per-account-channel-peer" })).toBe(
      "telegram:default:8001",
    );
    expect(keyForPeer(group, { id: "8001" }, { ...rules, ...links, dmScope: "main" })).toBe(
      "telegram:default:group:-100",
    );
  });

  it("lead back to the one who built them", () => {
    fc.assert(
      fc.property(peers, (who) => {
        const key = keyOf(who);
        const parsed = parseKey(key);
        expect(buildKey(parsed)).toBe(key);
        expect(parsed.agentId).toBe(who.agent);
        const { peer, sender } = who;
        const thread = peer.thread === undefined ? {} : { thread: peer.thread };
        const place = { channel: peer.channel, account: peer.account, ...thread };
        if (peer.chat.kind === "group") expect(parsed).toMatchObject({ kind: "group", ...place, group: peer.chat.id });
        else expect(parsed).toMatchObject({ kind: "direct", ...place, sender: sender.id });
      }),
      { numRuns: 500 },
    );
  });

  it("differ whenever the peers do", () => {
    fc.assert(
      fc.property(peers, peers, (one, other) => {
        expect(keyOf(one) === keyOf(other)).toBe(identity(one) === identity(other));
      }),
      { numRuns: 1000 },
    );
  });

  it("name a subagent after the last ::, however deep", () => {
    fc.assert(
      fc.property(
        peers,
        id.filter((agent) => agent !== ""),
        fc.option(id),
        (who, agent, child) => {
          const parent = buildKey({ kind: "subagent", parent: keyOf(who), agentId: agentId("first") });
          const ofChild = child === null ? {} : { child };
          const key = buildKey({ kind: "subagent", parent, agentId: agentId(agent), ...ofChild });
          expect(parseKey(key)).toEqual({ kind: "subagent", agentId: agent, parent, ...ofChild });
          expect(agentOf(key)).toBe(agent);
        },
      ),
    );
  });

  it("have one spelling for the default agent, and aliases for web clients", () => {
    expect(canonicalKey(sessionKey("agent:main:telegram:default:1"))).toBe("telegram:default:1");
    expect(canonicalKey(sessionKey("agent:ops:telegram:default:1"))).toBe("agent:ops:telegram:default:1");
    expect(canonicalKey(sessionKey("agent:main:subagent:5d1f"))).toBe("agent:main:subagent:5d1f");
    expect(resolveAlias("main")).toBe("webchat:default:operator");
    expect(resolveAlias("agent:main:main")).toBe("webchat:default:operator");
    expect(resolveAlias("agent:ops:main", agentId("ops"))).toBe("webchat:default:operator");
    expect(resolveAlias("something else")).toBe("something else");
  });

  it("are unchanged when a client names them as it got them", () => {
    const channels = fc.constantFrom("telegram", "slack", "signal", "webchat");
    fc.assert(
      fc.property(peers, channels, fc.boolean(), (who, channel, isSubagent) => {
        const own = keyOf({ ...who, peer: { ...who.peer, channel: channelId(channel) } });
        const key = isSubagent ? buildKey({ kind: "subagent", parent: own, agentId: agentId("coder") }) : own;
        expect(resolveAlias(wireKey(key))).toBe(key.trim());
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ["agent:main:telegram:direct:8001", "telegram:default:8001"],
    ["telegram:dm:8001", "telegram:default:8001"],
    ["agent:main:telegram:work:direct:8001", "telegram:work:8001"],
    ["agent:main:telegram:direct:8001:thread:8001:7", "telegram:default:8001:thread:7"],
    ["agent:main:telegram:group:-100:topic:7", "telegram:default:group:-100:thread:7"],
    ["agent:ops:discord:channel:42", "agent:ops:discord:default:group:42"],
    ["agent:main:slack:channel:c0ab1:thread:1700.1", "slack:default:group:C0AB1:thread:1700.1"],
    ["agent:main:signal:direct:uuid:6f-1", "signal:default:6f-1"],
    ["agent:main:whatsapp:group:120@g.us", "whatsapp:default:group:120@g.us"],
    ["agent:main:build:group:1", "build:group:1"],
    ["agent:main:telegram:direct", "telegram:direct"],
  ])("have the chat of the field's key %s", (written, key) => {
    expect(resolveAlias(written)).toBe(key);
  });
});

it.each([
  ["webchat:default:op::own", true],
  ["agent:main:telegram:default:7::own:c1", true],
  ["agent:main:subagent:5d1f", true],
  ["subagent:5d1f", true],
  ["agent:x:subagent:5d1f:subagent:77", true],
  ["telegram:default:subagent", false],
  ["agent:subagent:main", false],
  ["webchat:default:group:subagent", false],
])("knows the session of a subagent by its key: %s", (key, is) => {
  expect(isSubagentKey(sessionKey(key))).toBe(is);
});
