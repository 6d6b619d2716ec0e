import { describe, expect, it } from "vitest";
import { loadConfigText } from "../../kit/config-text.ts";
import { resolveAgents } from "../../../src/app/config/settings.ts";
import { mayUse } from "../../../src/dispatch/candidates.ts";

const load = (config: unknown, env = {}) => loadConfigText(JSON.stringify(config), { path: "/x/openclaw.json", env });

describe("a key that descriptions of the field name", () => {
  it.each<[string, unknown]>([
    ["agents.defaults.agentId", { agents: { defaults: { agentId: "a" }, list: [{ id: "a" }] } }],
    ["agents.defaults.compaction.enabled", { agents: { defaults: { compaction: { enabled: true } } } }],
    ["compaction", { compaction: { enabled: true, reserveTokens: 16_384, keepRecentTokens: 20_000 } }],
    ["session.dmHistoryLimit", { session: { dmHistoryLimit: 3 } }],
    ["session.mainKey", { session: { mainKey: "main" } }],
    ["channels.*.dms.*.historyLimit", { channels: { telegram: { dms: { "1": { historyLimit: 2 } } } } }],
    ["agents.defaults.models", { agents: { defaults: { models: { "a/b": { alias: "x" } } } } }],
    ["agents.defaults.params", { agents: { defaults: { params: { temperature: 1 } } } }],
    ["skills.allowBundled", { skills: { allowBundled: ["x"] } }],
    [
      "plugins.slots.contextEngine",
      { plugins: { slots: { contextEngine: "legacy" }, entries: { x: { enabled: true } } } },
    ],
  ])("%s loads", async (_key, config) => {
    await expect(load(config)).resolves.toHaveProperty("config");
  });

  it("is named in a warning where it has no effect", async () => {
    const { warnings } = await load({ compaction: { enabled: true }, session: { mainKey: "main" } });
    expect(warnings.map(({ key }) => key)).toEqual(["session.mainKey", "compaction"]);
  });
});

const agentsOf = async (agents: unknown) =>
  resolveAgents((await load({ agents })).config, { home: "/", stateDir: "/" });

describe("agents", () => {
  it("have the default one named by agents.defaults.agentId, unless one is marked", async () => {
    const list = [{ id: "a" }, { id: "b" }, { id: "c" }];
    expect((await agentsOf({ defaults: { agentId: "b" }, list })).map(({ id }) => id)).toEqual(["b", "a", "c"]);
    const marked = [...list, { id: "d", default: true }];
    expect((await agentsOf({ defaults: { agentId: "b" }, list: marked }))[0]?.id).toBe("d");
    expect((await agentsOf({ defaults: { agentId: "ops" } })).map(({ id }) => id)).toEqual(["ops"]);
  });

  it("may be given only the models that the config names, and their own", async () => {
    const models = { "x/one": {}, "y/*": {} };
    const [agent] = await agentsOf({ defaults: { models, model: { primary: "z/main", fallbacks: ["z/next"] } } });
    const may = (provider: string, id: string) => agent && mayUse(agent, { provider, id });
    expect([may("x", "one"), may("y", "any"), may("z", "main"), may("z", "next")]).toEqual([true, true, true, true]);
    expect([may("x", "two"), may("q", "one")]).toEqual([false, false]);
    const [free] = await agentsOf({ defaults: { models: {} } });
    expect(free && mayUse(free, { provider: "q", id: "one" })).toBe(true);
  });
});

describe("a model policy", () => {
  const may = async (agents: object, ...names: string[]) => {
    const [agent] = await agentsOf(agents);
    return names.map((name) => {
      const [provider = "", id = ""] = name.split("/");
      return agent !== undefined && mayUse(agent, { provider, id });
    });
  };

  it("says which models may be chosen, by short names too, whatever is described", async () => {
    const defaults = {
      modelPolicy: { allow: ["x/*", "fast"] },
      models: { "y/quick": { alias: "fast" }, "y/slow": {} },
    };
    expect(await may({ defaults }, "x/any", "y/quick", "y/slow")).toEqual([true, true, false]);
    expect(await may({ defaults: { ...defaults, modelPolicy: { allow: [] } } }, "q/any")).toEqual([true]);
    expect(await may({ defaults: { ...defaults, modelPolicy: {} } }, "y/slow", "x/any")).toEqual([true, false]);
  });

  it("of an agent replaces that of all agents", async () => {
    const defaults = { modelPolicy: { allow: ["x/*"] } };
    const list = [{ id: "a", modelPolicy: { allow: ["y/one"] } }];
    expect(await may({ defaults, list }, "x/any", "y/one")).toEqual([false, true]);
  });
});

describe("the scope of sessions of groups", () => {
  it("is one session for each group; another wish is named", async () => {
    const warned = async (groupScope: string) =>
      (await load({ session: { groupScope } })).warnings.map(({ text }) => text);
    expect(await warned("per-group")).toEqual([]);
    expect(await warned("main")).toEqual([
      'openclaw.json:1: session.groupScope: "main" has no effect here: each group has its own session',
    ]);
  });
});

describe("imageMaxDimensionPx", () => {
  it("is warned of where the library that obeys it is missing, when somebody set it", async () => {
    const set = await load({ agents: { defaults: { imageMaxDimensionPx: 800 } } });
    const isThere = await import("sharp" as string).then(
      () => true,
      () => false,
    );
    expect(set.warnings.some(({ message }) => message.includes("sharp"))).toBe(!isThere);
    expect((await load({ agents: {} })).warnings).toEqual([]);
  });
});
