import { describe, expect, it } from "vitest";
import { accountKey, accountOf } from "../../../src/app/accounts/accounts.ts";
import { configSchema } from "../../../src/app/config/schema/schema.ts";
import { toolPolicyOf } from "../../../src/app/config/tool-policy.ts";
import { chatToolRules } from "../../../src/channels/chat-tools.ts";
import { explainTool, keyOfAnswer, isToolAllowed } from "../../../src/tools/policy/decide.ts";
import { stagesFor } from "../../../src/tools/policy/stages.ts";
import { accountId, channelId } from "../../../src/types/ids.ts";
import type { Peer } from "../../../src/types/chat/message.ts";
import type { PolicySubject } from "../../../src/types/tool-policy.ts";

const NAMES = ["read", "write", "exec", "session_status"];
const SENDER = { id: "7", username: "ada" };
const GUILD = "55";

const from = (chat: Peer["chat"], thread?: string): Peer => ({
  channel: channelId("telegram"),
  account: accountId("default"),
  chat,
  ...(thread !== undefined && { thread }),
});
const GROUP = from({ kind: "group", id: "-1" });
const DIRECT = from({ kind: "direct", id: "7" });

interface Place {
  readonly peer?: Peer;
  readonly subject?: Partial<PolicySubject>;
}

/** The stages of a run of the agent `a` in a chat. */
function stagesIn(config: object, { peer = GROUP, subject = {} }: Place) {
  const parsed = configSchema.parse({ agents: { list: [{ id: "a" }] }, ...config });
  const [agent] = parsed.agents.list;
  const message = { from: peer, sender: SENDER, guildId: GUILD };
  return stagesFor(toolPolicyOf(parsed, agent ?? { id: "a" }), {
    hasOwnerRights: true,
    senders: [{ channel: "telegram", ...SENDER }],
    depth: 0,
    model: { provider: "p", id: "m" },
    chatRules: chatToolRules(accountOf(parsed, peer), accountKey(parsed, peer), message),
    ...subject,
  });
}

const left = (config: object, place: Place = {}) =>
  NAMES.filter((name) => isToolAllowed({ name }, stagesIn(config, place)));

/** A config with this value at a path. */
const at = (path: string, value: unknown): object =>
  path
    .split("/")
    .reduceRight<unknown>(
      (below, key) => (key === "[]" ? [{ id: "a", ...(below as object) }] : { [key]: below }),
      value,
    ) as object;

const inThread = { peer: from({ kind: "group", id: "-1" }, "9") };
const inDirect = { peer: DIRECT };
const inDirectThread = { peer: from({ kind: "direct", id: "7" }, "9") };

const PLACES: readonly (readonly [path: string, place: Place])[] = [
  ["tools/byProvider/p", {}],
  ["tools/byProvider/p~1m", {}],
  ["tools/toolsBySender/7", {}],
  ["tools/sandbox/tools", { subject: { isSandboxed: true } }],
  ["agents/list/[]/tools", {}],
  ["agents/list/[]/tools/byProvider/p", {}],
  ["agents/list/[]/tools/toolsBySender/username:ada", {}],
  ["agents/list/[]/tools/sandbox/tools", { subject: { isSandboxed: true } }],
  ["agents/list/[]/tools/subagents/tools", { subject: { depth: 1 } }],
  ...["groups/-1", "groups/*", "channels/-1", "guilds/55", "guilds/55/channels/-1"].flatMap(
    (chat) =>
      [
        [`channels/telegram/${chat}/tools`, {}],
        [`channels/telegram/${chat}/toolsBySender/7`, {}],
      ] as const,
  ),
  ...["groups/-1/topics/9", "channels/-1/topics/9", "guilds/55/channels/-1/topics/9"].flatMap(
    (topic) =>
      [
        [`channels/telegram/${topic}/tools`, inThread],
        [`channels/telegram/${topic}/toolsBySender/7`, inThread],
      ] as const,
  ),
  ...["direct/7", "dms/7"].flatMap(
    (chat) =>
      [
        [`channels/telegram/${chat}/tools`, inDirect],
        [`channels/telegram/${chat}/toolsBySender/7`, inDirect],
        [`channels/telegram/${chat}/topics/9/tools`, inDirectThread],
        [`channels/telegram/${chat}/topics/9/toolsBySender/7`, inDirectThread],
      ] as const,
  ),
];

const path = (written: string): string => written.replaceAll("~1", "/");

describe("lists of tools in the config", () => {
  it.each(PLACES)("take tools away at %s", (written, place) => {
    const config = (value: object) =>
      written.includes("~1") ? { tools: { byProvider: { [path("p~1m")]: value } } } : at(written, value);
    expect(left(config({ allow: ["read"] }), place)).toEqual(["read"]);
    expect(left(config({ deny: ["exec"] }), place)).not.toContain("exec");
    expect(left(config({ alsoAllow: ["read"] }), place)).toEqual(left({}, place));
    const elsewhere = { ...place, peer: from({ kind: "group", id: "-2" }), subject: { ...place.subject, senders: [] } };
    if (written.includes("-1")) expect(left(config({ deny: ["exec"] }), elsewhere)).toContain("exec");
  });

  it("take tools away in an agent's policy, beside its other lists", () => {
    const policy = (lists: object, more: object = {}) => at("agents/list/[]/tools", { policy: lists, ...more });
    expect(left(policy({ allow: ["read", "exec"] }, { allow: ["read", "write"] }), {})).toEqual(["read"]);
    const denied = left(policy({ deny: ["exec"] }, { deny: ["read"] }), {});
    expect(denied.filter((name) => name === "exec" || name === "read")).toEqual([]);
  });

  it("name the key that took a tool away", () => {
    const config = {
      channels: { telegram: { accounts: { default: { groups: { "-1": { tools: { deny: ["group:runtime"] } } } } } } },
    };
    const { isAllowed, trace } = explainTool({ name: "exec" }, stagesIn(config, {}));
    expect(isAllowed).toBe(false);
    expect(trace.find(({ answer }) => answer === "denied")).toEqual({
      stage: "chat",
      key: "channels.telegram.accounts.default.groups.-1.tools",
      answer: "denied",
      entry: "group:runtime",
    });
  });

  it("switch the tool for plans off, by the names of both eras", () => {
    const answers = (tools: object) => explainTool({ name: "update_plan" }, stagesIn({ tools }, {}));
    expect(answers({ updatePlan: true }).isAllowed).toBe(true);
    expect(answers({ updatePlan: true, experimental: { planTool: false } }).isAllowed).toBe(true);
    for (const [tools, key] of [
      [{ updatePlan: false }, "tools.updatePlan"],
      [{ experimental: { planTool: false } }, "tools.experimental.planTool"],
    ] as const) {
      const { isAllowed, trace } = answers(tools);
      expect(isAllowed).toBe(false);
      expect(trace.filter(({ answer }) => answer === "denied").map(keyOfAnswer)).toEqual([key]);
    }
  });

  it("have profiles for models too", () => {
    expect(left(at("tools/byProvider/p", { profile: "minimal" }))).toEqual(["session_status"]);
    expect(left(at("agents/list/[]/tools/byProvider/p", { profile: "minimal" }))).toEqual(["session_status"]);
  });

  it("refuse allow and alsoAllow in one place", () => {
    const both = { allow: ["read"], alsoAllow: ["exec"] };
    for (const [written] of PLACES.slice(2, 4))
      expect(() => configSchema.parse(at(written, both))).toThrow(/cannot be set together/);
    expect(() => configSchema.parse({ tools: both })).toThrow(/cannot be set together/);
  });
});
