import { describe, expect, it } from "vitest";
import { approvalRoute } from "../../../src/app/compose/approvals/route.ts";
import { loadConfigText } from "../../kit/config-text.ts";
import { approvalsCheck } from "../../../src/app/doctor/people/approvals-check.ts";
import { hasApproverIn, mayApprove } from "../../../src/app/accounts/approvers.ts";
import { nextMessage, peer } from "../../kit/inbound.ts";
import { agentId, sessionKey } from "../../../src/types/ids.ts";

const CHANNELS = {
  telegram: { enabled: true, botToken: "t", accounts: { one: { botToken: "a" }, off: { enabled: false } } },
  signal: { enabled: false, account: "+1" },
};

const load = async (approvals: object, owners: readonly string[] = ["telegram:42"], telegram: object = {}) => {
  const channels = { ...CHANNELS, telegram: { ...CHANNELS.telegram, ...telegram } };
  const text = JSON.stringify({ commands: { ownerAllowFrom: owners }, channels, approvals });
  return (await loadConfigText(text, { path: "/x/openclaw.json", env: {} })).config;
};

const DESK = { channel: "telegram", to: "42", accountId: "one" };
const QUESTION = { agentId: agentId("main"), sessionKey: sessionKey("agent:main:telegram:direct:7") };

async function route(exec: object, question: { askedBy?: "plugin"; agentId?: string; sessionKey?: string } = {}) {
  const config = await load({ exec, plugin: { enabled: true, mode: "both", targets: [DESK] } });
  const asked = { ...QUESTION, ...question };
  return approvalRoute({ ...asked, agentId: agentId(asked.agentId), sessionKey: sessionKey(asked.sessionKey) }, config);
}

const ON = { enabled: true, mode: "targets", targets: [DESK] };
const CHAT_ONLY = { isInChat: true, targets: [], unusable: [] };

describe("where a question is shown", () => {
  it("is its chat, its targets or both, as approvals.exec says", async () => {
    expect(await route({ ...ON, enabled: false })).toEqual(CHAT_ONLY);
    expect(await route({ ...ON, mode: "session" })).toEqual(CHAT_ONLY);
    const to = { channel: "telegram", account: "one", chat: { kind: "direct", id: "42" } };
    expect(await route(ON)).toEqual({ isInChat: false, targets: [to], unusable: [] });
    expect(await route({ ...ON, mode: "both" })).toEqual({ isInChat: true, targets: [to], unusable: [] });
  });

  it("is narrowed to the agents and sessions that the filters name", async () => {
    const isRouted = async (filters: object, question?: object) =>
      (await route({ ...ON, ...filters }, question)).targets.length === 1;
    expect(await isRouted({ agentFilter: ["clerk"] })).toBe(false);
    expect(await isRouted({ agentFilter: ["clerk"] }, { agentId: "clerk" })).toBe(true);
    expect(await isRouted({ sessionFilter: ["telegram:direct"] })).toBe(true);
    expect(await isRouted({ sessionFilter: ["^agent:main:.*:7$"] })).toBe(true);
    expect(await isRouted({ sessionFilter: ["discord"] })).toBe(false);
    await expect(load({ exec: { sessionFilter: ["("] } })).rejects.toThrow("sessionFilter");
  });

  it("is a thread or a group where the target names one", async () => {
    const { targets } = await route({
      ...ON,
      targets: [{ channel: "telegram", to: -100_1, threadId: 5, accountId: "one" }],
    });
    expect(targets).toMatchObject([{ chat: { kind: "group", id: "-1001" }, thread: "5" }]);
  });

  it("follows approvals.plugin for a question of a plugin", async () => {
    expect(await route({}, { askedBy: "plugin" })).toMatchObject({ isInChat: true, targets: [{ chat: { id: "42" } }] });
  });

  it("is no target whose channel or account is not on, and the reason names its key", async () => {
    const unusable = [
      { channel: "signal", to: "+1" },
      { channel: "constructor", to: "1" },
      { ...DESK, accountId: "off" },
      { ...DESK, accountId: "nobody" },
      { ...DESK, to: "telegram:" },
    ];
    const found = await route({ ...ON, targets: unusable });
    expect(found.targets).toEqual([]);
    expect(found.unusable.map((text) => text.slice(0, text.indexOf(" ")))).toEqual(
      unusable.map((_one, at) => `approvals.exec.targets[${at}]`),
    );
    expect(found.unusable[0]).toContain('the channel "signal", which is not on');
  });
});

describe("where a question about a command of a channel's chat is shown", () => {
  const IN_CHAT = peer("7");
  const inTelegram = async (
    execApprovals: object,
    more: { exec?: object; askedBy?: "plugin"; owners?: string[] } = {},
  ) => {
    const { exec = {}, owners = ["telegram:42", "43", "slack:U1"], askedBy } = more;
    const text = JSON.stringify({
      commands: { ownerAllowFrom: owners },
      channels: { telegram: { botToken: "t", execApprovals } },
      approvals: { exec },
    });
    const { config } = await loadConfigText(text, { path: "/x/openclaw.json", env: {} });
    const { isInChat, targets } = approvalRoute({ ...QUESTION, ...(askedBy && { askedBy }) }, config, IN_CHAT);
    return { isInChat, chats: targets.map(({ chat }) => `${chat.kind} ${chat.id}`), config };
  };

  it("is the approvers' direct chats, its chat or both, as execApprovals of the account says", async () => {
    const approvers = [5, "telegram:6"];
    expect(await inTelegram({ approvers })).toMatchObject({ isInChat: false, chats: ["direct 5", "direct 6"] });
    expect(await inTelegram({ approvers, target: "both" })).toMatchObject({
      isInChat: true,
      chats: ["direct 5", "direct 6"],
    });
    expect(await inTelegram({ approvers, target: "channel" })).toMatchObject({ isInChat: true, chats: [] });
    expect(await inTelegram({})).toMatchObject({ isInChat: false, chats: ["direct 42"] });
  });

  it("is none of its chats when that is switched off, and its own where there is nobody to ask", async () => {
    expect(await inTelegram({ enabled: false, approvers: [5] })).toMatchObject({ isInChat: false, chats: [] });
    expect(await inTelegram({ enabled: "auto" }, { owners: [] })).toMatchObject({ isInChat: true, chats: [] });
    expect(await inTelegram({ enabled: true }, { owners: [] })).toMatchObject({ isInChat: false, chats: [] });
  });

  it("is as without the key for other agents, other sessions and questions of plugins", async () => {
    for (const filter of [{ agentFilter: ["clerk"] }, { sessionFilter: ["discord"] }])
      expect(await inTelegram({ approvers: [5], ...filter })).toMatchObject({ isInChat: true, chats: [] });
    for (const filter of [{ agentFilter: ["main"] }, { sessionFilter: ["direct:7$"] }])
      expect(await inTelegram({ approvers: [5], ...filter })).toMatchObject({ isInChat: false, chats: ["direct 5"] });
    expect(await inTelegram({ approvers: [5] }, { askedBy: "plugin" })).toMatchObject({ isInChat: true, chats: [] });
  });

  it("is also what approvals.exec says", async () => {
    const exec = { enabled: true, mode: "targets", targets: [{ channel: "telegram", to: "9" }] };
    expect(await inTelegram({ approvers: [5], target: "both" }, { exec })).toMatchObject({
      isInChat: false,
      chats: ["direct 9", "direct 5"],
    });
  });

  it("has an answer only from the approvers, who are owners where none is named", async () => {
    const from = (id: string) => ({ ...nextMessage("x", id), from: IN_CHAT });
    const { config } = await inTelegram({ approvers: ["telegram:5"] });
    expect(["5", "42"].map((id) => mayApprove(from(id), config))).toEqual([true, false]);
    expect(hasApproverIn("telegram", config)).toBe(true);
    const without = await inTelegram({}, { owners: [] });
    expect(mayApprove(from("5"), without.config)).toBeUndefined();
    expect(hasApproverIn("telegram", without.config)).toBe(false);
  });
});

describe("doctor", () => {
  const results = async (approvals: object, owners?: readonly string[], telegram?: object) =>
    (await approvalsCheck(await load(approvals, owners, telegram)).run(AbortSignal.timeout(10_000))).map(
      ({ status, message }) => `${status} ${message}`,
    );

  it("is content without targets, and with those that reach an owner", async () => {
    expect(await results({})).toEqual(["ok None; questions go to their chats."]);
    expect(await results({ exec: ON })).toEqual(["ok 1 usable."]);
  });

  it("names each target that gets no question, and one that nobody may answer from", async () => {
    const [bad, ...others] = await results({ exec: { ...ON, targets: [{ channel: "signal", to: "+1" }, DESK] } }, [
      "signal:+1",
    ]);
    expect(bad).toMatch(/^fail approvals\.exec\.targets\[0\] names the channel "signal"/);
    expect(others).toEqual([
      expect.stringMatching(/^warn approvals\.exec\.targets\[1\]: nobody in telegram may answer/),
    ]);
  });

  it("names a target from which the gateway takes no message and no press", async () => {
    const target = { channel: "telegram", to: "-1005", accountId: "one" };
    const inGroups = async (more: object) =>
      (await results({ exec: { ...ON, targets: [target] } }, ["telegram:42"], more)).join("\n");
    expect(await inGroups({})).toMatch(
      /^warn .*targets\[0\]: nobody can answer in that chat.*the group is not in groups/,
    );
    expect(await inGroups({ groupPolicy: "disabled" })).toContain("groups are disabled");
    expect(await inGroups({ groups: { "-1005": { enabled: false } } })).toContain("the group is disabled");
    expect(await inGroups({ groups: { "-1005": {} } })).toBe("ok 1 usable.");
    expect(await inGroups({ groupPolicy: "open" })).toBe("ok 1 usable.");
    const [direct] = await results({ exec: ON }, ["telegram:42"], { dmPolicy: "disabled" });
    expect(direct).toContain("direct chats are disabled");
  });

  it("names targets that a route does not use, and a route without targets", async () => {
    expect(await results({ plugin: { targets: [DESK] } })).toEqual([
      expect.stringContaining("approvals.plugin.enabled"),
    ]);
    expect(await results({ exec: { ...ON, targets: [] } })).toEqual([expect.stringMatching(/^fail .*is empty/)]);
  });
});
