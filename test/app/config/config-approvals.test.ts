import { describe, expect, it } from "vitest";
import { approvalRoute } from "../../../src/app/compose/approvals/route.ts";
import { loadConfigText } from "../../../src/app/config/load.ts";
import { approvalsCheck } from "../../../src/app/doctor/people/approvals-check.ts";
import { agentId, sessionKey } from "../../../src/types/ids.ts";

const CHANNELS = {
  telegram: { enabled: true, botToken: "t", accounts: { one: { botToken: "a" }, off: { enabled: false } } },
  signal: { enabled: false, account: "+1" },
};

const load = async (approvals: object, owners: readonly string[] = ["telegram:42"]) => {
  const text = JSON.stringify({ commands: { ownerAllowFrom: owners }, channels: CHANNELS, approvals });
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

describe("doctor", () => {
  const results = async (approvals: object, owners?: readonly string[]) =>
    (await approvalsCheck(await load(approvals, owners)).run(AbortSignal.timeout(10_000))).map(
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

  it("names targets that a route does not use, and a route without targets", async () => {
    expect(await results({ plugin: { targets: [DESK] } })).toEqual([
      expect.stringContaining("approvals.plugin.enabled"),
    ]);
    expect(await results({ exec: { ...ON, targets: [] } })).toEqual([expect.stringMatching(/^fail .*is empty/)]);
  });
});
