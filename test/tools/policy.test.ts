import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, textResult } from "../../src/tools/define.ts";
import { hostBackends } from "../../src/tools/host/host.ts";
import { explainTool, isToolAllowed } from "../../src/tools/policy/decide.ts";
import { stagesFor } from "../../src/tools/policy/stages.ts";
import { toolSchema } from "../../src/tools/schema.ts";
import { backendTools, toolsFor } from "../../src/tools/tools.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import { OPERATOR, type Acting } from "../../src/types/run/principal.ts";
import type { ToolContribution } from "../../src/types/run/tool.ts";
import type {
  PolicySubject,
  SenderNames,
  ToolLists,
  ToolPolicySettings,
  ToolRules,
} from "../../src/types/tool-policy.ts";
import { createTools, unexpected } from "../kit/create-tools.ts";
import { agentSettings, noRules } from "../kit/tools.ts";

const ALL = ["read", "write", "edit", "apply_patch", "grep", "find", "ls", "exec"];
const FILES = ALL.filter((name) => name !== "exec");

interface Asked {
  readonly global?: Omit<ToolRules, "key">;
  readonly agent?: Omit<ToolRules, "key">;
  readonly acting?: Partial<Acting>;
  readonly extra?: readonly ToolContribution[];
  readonly only?: readonly string[];
}

const contribution = (name: string, more: Partial<ToolContribution> = {}): ToolContribution => ({
  name,
  ...more,
  forRun: () =>
    defineTool({
      name,
      label: name,
      description: "",
      input: z.object({}),
      hasSideEffects: false,
      run: async () => textResult(""),
    }),
});

/** The tools of a run, as the model would be given them. */
function toolsOf({ global = {}, agent, acting = {}, extra = [], only }: Asked) {
  const tools: ToolPolicySettings = {
    global: { key: "tools", ...global },
    ...(agent && { agent: { key: "agents.list[0].tools", ...agent } }),
    workspaceOnly: true,
  };
  const settings = agentSettings("/w", { tools });
  return toolsFor(
    [...backendTools(noRules), ...extra],
    {
      ...hostBackends({ settings, rights: "owner", deniedPaths: [] }),
      agent: { ...settings, id: agentId("main") },
      acting: { principal: OPERATOR, sessionKey: sessionKey("s1"), ...acting },
      ...(only && { only }),
    },
    unexpected,
  );
}

const namesOf = (asked: Asked): readonly string[] => toolsOf(asked).tools.map(({ name }) => name);

describe("the lists of `tools`", () => {
  it.each<[Omit<ToolRules, "key">, readonly string[]]>([
    [{}, ALL],
    [{ profile: "minimal" }, []],
    [{ profile: "coding" }, ALL],
    [{ profile: "messaging" }, []],
    [{ profile: "minimal", alsoAllow: ["read"] }, ["read"]],
    [{ alsoAllow: ["read"] }, ALL],
    [{ allow: ["group:fs"] }, FILES],
    [{ deny: ["group:runtime"] }, FILES],
    [{ deny: ["bash"] }, FILES],
    [{ allow: ["r*", "Exec "] }, ["read", "exec"]],
    [{ allow: ["*"], deny: ["*"] }, []],
    [{ profile: "coding", alsoAllow: ["exec"], deny: ["exec"] }, FILES],
    [{ deny: ["e.ec", "rea"] }, ALL],
  ])("%j leaves %j", (global, expected) => {
    expect(namesOf({ global })).toEqual(expected);
  });

  it("hold for tools of plugins, which cannot take the place of a built-in one", () => {
    const extra = ["weather", "exec", "memory_get"].map((name) => contribution(name, { groups: ["group:plugins"] }));
    expect(namesOf({ extra })).toEqual([...ALL, "weather", "memory_get"]);
    expect(namesOf({ extra, global: { profile: "coding" } })).toEqual([...ALL, "memory_get"]);
    expect(namesOf({ extra, global: { profile: "coding", alsoAllow: ["weather"] } })).toContain("weather");
    expect(namesOf({ extra, global: { profile: "minimal", alsoAllow: ["group:plugins"] } })).toEqual([
      "weather",
      "memory_get",
    ]);
  });

  it("have an optional tool only when it is asked for", () => {
    const extra = [contribution("spare", { namedFor: "all", groups: ["plug"] })];
    expect(namesOf({ extra })).not.toContain("spare");
    expect(namesOf({ extra, global: { alsoAllow: ["plug"] } })).toContain("spare");
    expect(namesOf({ extra, global: { profile: "full" } })).toContain("spare");
    expect(namesOf({ extra, agent: { alsoAllow: ["spare"] } })).toContain("spare");
    expect(namesOf({ extra, global: { profile: "full", deny: ["spare"] } })).not.toContain("spare");
  });

  it("treat a patch as a write", () => {
    const extra = [contribution("apply_patch")];
    expect(namesOf({ extra, global: { allow: ["write"] } })).toEqual(["write", "apply_patch"]);
    expect(namesOf({ extra, global: { deny: ["write"] } })).not.toContain("apply_patch");
  });

  it("know a tool by its names of both eras", () => {
    const extra = [contribution("image"), contribution("update_plan")];
    expect(namesOf({ extra, global: { allow: ["view_image", "progress_card"] } })).toEqual(["image", "update_plan"]);
  });
});

describe("an agent's own lists", () => {
  it("take away in addition; only its profile and alsoAllow take the place of the global ones", () => {
    expect(namesOf({ global: { allow: ["read", "exec"] }, agent: { allow: ["read", "write"] } })).toEqual(["read"]);
    expect(namesOf({ global: { deny: ["exec"] }, agent: { allow: ["exec", "ls"] } })).toEqual(["ls"]);
    expect(namesOf({ global: { profile: "minimal" }, agent: { profile: "coding" } })).toEqual(ALL);
    const global = { profile: "minimal", alsoAllow: ["read"] } as const;
    expect(namesOf({ global, agent: { alsoAllow: ["ls"] } })).toEqual(["ls"]);
  });
});

describe("rules about models", () => {
  const byProvider = {
    openai: { deny: ["exec"] },
    "openai/gpt-5": { allow: ["exec"] },
    x: { profile: "minimal" },
  } as const;
  const on = (model: { provider: string; id: string }, asked: Asked = { global: { byProvider } }) =>
    toolsOf(asked)
      .on(model)
      .map(({ name }) => name);

  it("hold for the model that is asked; that of one model counts over that of its provider", () => {
    expect(on({ provider: "openai", id: "gpt-4" })).toEqual(FILES);
    expect(on({ provider: "openai", id: "gpt-5" })).toEqual(["exec"]);
    expect(on({ provider: "x", id: "y" })).toEqual([]);
    expect(on({ provider: "z", id: "y" })).toEqual(ALL);
  });

  it.each([" OpenAI", "openai ", "OPENAI/GPT-4", "openai / gpt-4"])("know a model as %j", (key) => {
    const asked = { global: { byProvider: { [key]: { deny: ["exec"] } } } };
    expect(on({ provider: "openai", id: "gpt-4" }, asked)).toEqual(FILES);
    expect(on({ provider: "OpenAI", id: "GPT-4" }, asked)).toEqual(FILES);
  });

  it("hold together when several keys name one model", () => {
    const rules = {
      openai: {},
      OpenAI: { deny: ["exec"] },
      "openai ": { profile: "minimal", alsoAllow: ["read"] },
    } as const;
    expect(on({ provider: "openai", id: "gpt-4" }, { global: { byProvider: rules } })).toEqual(["read"]);
  });

  it("only take away", () => {
    const asked = { global: { byProvider, deny: ["exec"] }, agent: { byProvider: { openai: { allow: ["*"] } } } };
    expect(on({ provider: "openai", id: "gpt-5" }, asked)).toEqual([]);
  });
});

describe("rules about senders", () => {
  const ada = { channel: "telegram", id: "7", username: "Ada", e164: "+43123", name: "Ada Lovelace" };
  const from = (toolsBySender: Record<string, ToolLists>, more: Asked = {}, senders: readonly SenderNames[] = [ada]) =>
    namesOf({ ...more, global: { toolsBySender }, acting: { senders } });

  it.each([
    "channel:telegram:7",
    "id:7",
    "7",
    "e164:+43123",
    "username:ada",
    "username:@Ada",
    "name:ada lovelace",
    "*",
    "telegram:7",
    "id:telegram:7",
    " Channel : Telegram : 7 ",
    "<@7>",
    "e164:43123",
    "e164: +43 1-23",
    "e164:0043123",
    "+43 123",
    "telegram:+43123",
    "@Ada",
    "username: @ada",
    "username:  Ada",
    "id:@ada",
    "telegram:@ada",
    "channel:telegram:username:ada",
    "name: Ada   Lovelace",
    "\uff49\uff44:7",
    "telegram:*",
    "channel:telegram:*",
  ])("know the sender as %s", (key) => {
    expect(from({ [key]: { allow: ["read"] } })).toEqual(["read"]);
  });

  it.each(["whatsapp:43123", "id:whatsapp:+43123", "43123", "43123@s.whatsapp.net", "whatsapp:43123:5@s.whatsapp.net"])(
    "know a phone number that is an id as %s",
    (key) => {
      const bob = { channel: "whatsapp", id: "+43123" };
      expect(from({ [key]: { deny: ["exec"] } }, {}, [bob])).toEqual(FILES);
      expect(from({ [key]: { deny: ["exec"] } }, {}, [{ channel: "whatsapp", id: "+43124" }])).toEqual(ALL);
    },
  );

  it.each(["signal:uuid:9", "channel:signal:uuid:9", "id:uuid:9", "uuid:9", "id:signal:uuid:9"])(
    "know an id with a colon as %s",
    (key) => expect(from({ [key]: { deny: ["exec"] } }, {}, [{ channel: "signal", id: "uuid:9" }])).toEqual(FILES),
  );

  it("hold together when several keys name one sender in the same way", () => {
    expect(from({ "7": { allow: ["read", "exec"] }, "id: 7": { deny: ["exec"] } })).toEqual(["read"]);
    expect(from({ "@ada": {}, "username:Ada": { deny: ["exec"] } })).toEqual(FILES);
    expect(from({ "*": {}, "telegram:*": { deny: ["exec"] } })).toEqual(FILES);
  });

  it("take the most certain name first, and leave other people alone", () => {
    const rules = { "*": { allow: ["ls"] }, "name:Ada Lovelace": { allow: ["find"] }, "id:7": { allow: ["read"] } };
    expect(from(rules)).toEqual(["read"]);
    expect(from({ "id:8": { deny: ["*"] }, "channel:slack:7": { deny: ["*"] } })).toEqual(ALL);
    expect(namesOf({ global: { toolsBySender: { "*": { deny: ["*"] } } } })).toEqual(ALL);
  });

  it("let an agent's entry, even an empty one, take the place of the global one", () => {
    expect(from({ "id:7": { deny: ["exec"] } }, { agent: { toolsBySender: { "7": {} } } })).toEqual(ALL);
    expect(from({ "id:7": { deny: ["exec"] } }, { agent: { toolsBySender: { "8": {} } } })).toEqual(FILES);
  });

  it("hold for everybody whose messages are in the turn", () => {
    const bob = { channel: "telegram", id: "8" };
    const rules = { "7": { allow: ["read", "exec"] }, "8": { allow: ["read", "ls"] } };
    expect(from(rules, {}, [ada, bob])).toEqual(["read"]);
  });
});

describe("rules about chats", () => {
  const sender = { channel: "telegram", id: "7" };

  it("take away in that chat; an entry about the sender takes the place of the chat's", () => {
    const chatRules = [{ key: "channels.telegram.groups.-1", tools: { allow: ["read", "ls"] } }];
    expect(namesOf({ acting: { chatRules, senders: [sender] } })).toEqual(["read", "ls"]);
    const withSender = [{ ...chatRules[0]!, toolsBySender: { "7": { deny: ["exec"] } } }];
    expect(namesOf({ acting: { chatRules: withSender, senders: [sender] } })).toEqual(FILES);
    expect(namesOf({ acting: { chatRules: withSender, senders: [{ ...sender, id: "8" }] } })).toEqual(["read", "ls"]);
    expect(namesOf({ acting: { chatRules: withSender } })).toEqual(["read", "ls"]);
  });
});

describe("runs below another", () => {
  const extra = ["gateway", "sessions_spawn", "session_status", "cron"].map((name) => contribution(name));

  it("have no tools that belong to whoever asked for them", () => {
    expect(namesOf({ extra, acting: { depth: 1 } })).toEqual(ALL);
    const subagents = { allow: ["read", "session_status"] };
    expect(namesOf({ extra, global: { subagents }, acting: { depth: 1 } })).toEqual(["read", "session_status"]);
    expect(namesOf({ extra })).toContain("gateway");
  });

  it("have no tool that the run had not which asked for them", () => {
    expect(namesOf({ acting: { depth: 1, inherited: ["read", "ls"] } })).toEqual(["read", "ls"]);
    expect(namesOf({ acting: { depth: 1, inherited: [] } })).toEqual([]);
  });
});

it("turns of guests never have the tools of the gateway itself", () => {
  const extra = ["gateway", "cron", "nodes"].map((name) => contribution(name));
  const principal = { kind: "sender", id: "telegram:7" } as const;
  expect(namesOf({ extra, global: { profile: "full" }, acting: { principal } })).toEqual(ALL);
});

it("whoever starts a run can cap its tools", () => {
  expect(namesOf({ only: ["read", "nothing"] })).toEqual(["read"]);
  expect(namesOf({ only: [] })).toEqual([]);
});

it("names the allow list that leaves no tool at all", () => {
  expect(toolsOf({ global: { allow: ["raed"] } }).emptiedBy).toBe("tools");
  expect(toolsOf({ agent: { allow: ["raed"] } }).emptiedBy).toBe("agents.list[0].tools");
  expect(toolsOf({ global: { profile: "minimal" } }).emptiedBy).toBeUndefined();
  expect(toolsOf({ only: [] }).emptiedBy).toBeUndefined();
});

const word = fc.constantFrom("read", "ls", "exec", "group:fs", "group:runtime", "*", "r*", "x");
const list = fc.array(word, { maxLength: 3 });
const lists = fc.record({ allow: list, deny: list });
const rules = fc.record(
  {
    profile: fc.constantFrom("minimal", "coding", "full"),
    allow: list,
    alsoAllow: list,
    deny: list,
    byProvider: fc.dictionary(fc.constantFrom("a", "a/m", "b"), lists),
    toolsBySender: fc.dictionary(fc.constantFrom("7", "name:x", "*"), lists),
    subagents: lists,
  },
  { requiredKeys: [] },
);
const subject: fc.Arbitrary<PolicySubject> = fc.record(
  {
    hasOwnerRights: fc.boolean(),
    senders: fc.array(fc.constantFrom({ channel: "t", id: "7" }, { channel: "t", id: "9", name: "x" }), {
      maxLength: 2,
    }),
    depth: fc.nat(2),
    chatRules: fc.array(fc.record({ key: fc.constant("c"), tools: lists }), { maxLength: 2 }),
    inherited: fc.option(list, { nil: undefined }),
    isSandboxed: fc.boolean(),
    model: fc.constantFrom({ provider: "a", id: "m" }, { provider: "b", id: "m" }),
  },
  { requiredKeys: ["hasOwnerRights", "senders", "depth"] },
);

describe("whatever the config says", () => {
  it("more rules never allow more, and the explanation agrees with the decision", () => {
    fc.assert(
      fc.property(rules, fc.option(rules, { nil: undefined }), subject, (global, agent, who) => {
        const settings = {
          global: { key: "tools", ...global },
          ...(agent && { agent: { key: "a", ...agent } }),
          workspaceOnly: true,
        };
        const stages = stagesFor(settings, who);
        for (const name of [...ALL, "cron"]) {
          const isAllowed = isToolAllowed({ name }, stages);
          expect(explainTool({ name }, stages).isAllowed).toBe(isAllowed);
          const fewer = stages.filter((_stage, at) => at % 2 === 0);
          if (isAllowed) expect(isToolAllowed({ name }, fewer)).toBe(true);
          if (name === "cron" && !who.hasOwnerRights) expect(isAllowed).toBe(false);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("the tools that a model is given are those that the explanation allows, for each model", () => {
    fc.assert(
      fc.property(rules, fc.option(rules, { nil: undefined }), subject, (global, agent, who) => {
        const tools = {
          global: { key: "tools", ...global },
          ...(agent && { agent: { key: "a", ...agent } }),
          workspaceOnly: true,
        };
        const { hasOwnerRights, isSandboxed = false, senders, depth, chatRules, inherited } = who;
        const acting: Acting = {
          principal: hasOwnerRights ? OPERATOR : { kind: "sender", id: "x" },
          sessionKey: sessionKey("s"),
          senders,
          depth,
          ...(chatRules && { chatRules }),
          ...(inherited && { inherited }),
        };
        const settings = agentSettings("/w", { tools });
        const host = hostBackends({ settings, rights: "owner", deniedPaths: [] });
        const scene = { ...host, agent: { ...settings, id: agentId("main") }, acting, isSandboxed };
        const set = toolsFor([...backendTools(noRules), contribution("cron")], scene, unexpected);
        for (const model of [
          { provider: "a", id: "m" },
          { provider: "b", id: "m" },
        ]) {
          const stages = stagesFor(tools, { ...who, model });
          const explained = [...ALL, "cron"].filter((name) => explainTool({ name }, stages).isAllowed);
          expect(set.on(model).map(({ name }) => name)).toEqual(explained);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("a name in any deny list of the run is gone", () => {
    fc.assert(
      fc.property(rules, rules, subject, (global, agent, who) => {
        const settings = {
          global: { key: "tools", ...global, deny: ["exec"] },
          agent: { key: "a", ...agent },
          workspaceOnly: true,
        };
        expect(isToolAllowed({ name: "exec" }, stagesFor(settings, who))).toBe(false);
      }),
    );
  });
});

it("every built-in tool has a schema", () => {
  for (const tool of createTools({
    settings: agentSettings("/w"),
    rules: noRules,
    rights: "owner",
    deniedPaths: [],
  })) {
    expect(toolSchema(tool)).toMatchObject({ type: "object" });
    expect(tool.description.length).toBeGreaterThan(20);
  }
});
