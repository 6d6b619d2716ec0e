import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, vi } from "vitest";
import { startFakeTelegram } from "../../fakes/telegram.ts";
import { PATIENCE, PATIENCE_MS, type Home } from "../../kit/gateway/process.ts";
import { outcomesOf, sessionsOf } from "../../kit/gateway/state-files.ts";
import { test, type World } from "../../kit/gateway/world.ts";
import { whyNoBwrap } from "../../tools/sandbox/fixture.ts";

const GROUP = { id: -100_700, type: "supergroup", title: "Nest" };

function write(path: string, text: string): void {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
}

/** A workspace with a skill, in which `AGENTS.md` says whose it is. */
function furnish(home: Home, name: string, skill: string): string {
  const workspace = join(home.dir, name);
  write(join(workspace, "AGENTS.md"), `This is the workspace of ${name}.\n`);
  write(join(workspace, "note.txt"), `written by ${name}\n`);
  write(
    join(workspace, "skills", skill, "SKILL.md"),
    `---\nname: ${skill}\ndescription: Says ${skill}.\n---\nSay it.\n`,
  );
  return workspace;
}

const twoAgents = (world: World, night: { url: string; token: string }) =>
  world.config({
    models: {
      providers: {
        nocturnal: {
          baseUrl: world.model.url,
          apiKey: "owl-key",
          api: "openai-completions",
          models: [{ id: "owl-1", contextWindow: 100_000, maxTokens: 4096 }],
        },
      },
    },
    messages: { responsePrefix: "[{identity.name}]" },
    agents: {
      list: [
        { id: "main", default: true, workspace: "~/den", identity: { name: "Bear" }, sandbox: { mode: "off" } },
        {
          id: "owl",
          workspace: "~/nest",
          identity: { name: "Owl", emoji: "🦉" },
          model: "nocturnal/owl-1",
          skills: ["hoot"],
          tools: { deny: ["exec"] },
          sandbox: { mode: "all", workspaceAccess: "rw" },
        },
      ],
    },
    bindings: [
      { agentId: "owl", match: { channel: "telegram", accountId: "night" } },
      { agentId: "owl", match: { channel: "telegram", peer: { kind: "group", id: GROUP.id } } },
    ],
    commands: { ownerAllowFrom: ["1001"] },
    channels: {
      telegram: {
        groups: { "*": { requireMention: false } },
        accounts: { default: {}, night: { apiRoot: night.url, botToken: night.token } },
      },
    },
  });

describe.concurrent("a gateway with two agents", () => {
  const each = "gives each its own workspace, session, model, key, skills, tools, sandbox and name";
  test.skipIf(whyNoBwrap !== undefined)(`${each} (${whyNoBwrap ?? "bubblewrap works"})`, async ({ world, expect }) => {
    const night = await startFakeTelegram();
    const home = await world.home(twoAgents(world, night));
    furnish(home, "den", "growl");
    furnish(home, "nest", "hoot");
    write(join(home.dir, "nest", "skills", "peck", "SKILL.md"), "---\nname: peck\ndescription: Pecks.\n---\nPeck.\n");
    await home.start();
    world.model.answer((asked) => {
      if (asked.isAfterTool) return { text: `read: ${asked.toolText}` };
      return asked.said.includes("note") ? { tool: "read", args: { path: "note.txt" } } : { text: "yes" };
    });

    world.telegram.say("the note, please");
    await world.told(/^\[Bear\] read: written by den/);
    night.say("the note, please");
    await night.waitFor(({ text }) => text.startsWith("[Owl] read: written by nest"), PATIENCE_MS);
    world.telegram.say("who is here?", { chat: GROUP });
    await world.told(/^\[Owl\] yes/, GROUP.id);

    const [bear, , owl, , group] = world.model.calls;
    expect(bear).toMatchObject({ model: "fake-1", key: "x" });
    expect(owl).toMatchObject({ model: "owl-1", key: "owl-key" });
    expect(group).toMatchObject({ model: "owl-1", key: "owl-key" });
    expect(bear?.system).toContain("This is the workspace of den.");
    expect(owl?.system).toContain("This is the workspace of nest.");
    expect(owl?.system).not.toContain("workspace of den");
    expect(bear?.system).toContain("<name>growl</name>");
    expect(owl?.system).toContain("<name>hoot</name>");
    expect(owl?.system).not.toMatch(/<name>(growl|peck)<\/name>/);
    expect(bear?.system).not.toContain("# Sandbox");
    expect(owl?.system).toContain("# Sandbox");
    const toolsOf = (asked: typeof bear) => asked?.tools.map((tool) => tool.function.name);
    expect(toolsOf(bear)).toContain("exec");
    expect(toolsOf(owl)).not.toContain("exec");
    await outcomesOf(home, 3);
    expect(Object.keys(sessionsOf(home)).toSorted()).toEqual([
      `agent:owl:telegram:default:group:${GROUP.id}`,
      "agent:owl:telegram:night:1001",
      "telegram:default:1001",
    ]);
    const jsonOf = async (...args: readonly string[]) => {
      const done = await home.run([...args, "--json"]);
      expect(done.code, done.stderr).toBe(0);
      return JSON.parse(done.stdout) as { runs?: unknown[]; rows?: unknown[]; totals?: { calls: number } };
    };
    const ofOwl = ["--agent", "owl"];
    expect((await jsonOf("runs", "list", ...ofOwl)).runs).toHaveLength(2);
    expect((await jsonOf("runs", "list", "--agent", "main")).runs).toHaveLength(1);
    expect((await jsonOf("inbox", "list", "--all", ...ofOwl)).rows).toHaveLength(2);
    expect((await jsonOf("usage", ...ofOwl)).totals?.calls).toBe(3);
    expect((await home.run(["usage", "--by", "model", ...ofOwl])).code).toBe(2);
    await night.close();
  });

  test("asks with the keys that only one agent has before those of all agents, and shows them to no agent", async ({
    world,
    expect,
  }) => {
    const provider = { baseUrl: world.model.url, api: "openai-completions", models: [{ id: "acme-1" }] };
    const home = await world.home(
      world.config({
        models: { providers: { acme: provider } },
        agents: {
          defaults: { model: { primary: "acme/acme-1" }, sandbox: { mode: "off" } },
          list: [{ id: "main" }, { id: "owl", agentDir: "~/owl-keys" }],
        },
        bindings: [{ agentId: "owl", match: { channel: "telegram", peer: { kind: "group", id: GROUP.id } } }],
        tools: { fs: { workspaceOnly: false } },
        commands: { ownerAllowFrom: ["1001"] },
        channels: { telegram: { groups: { "*": { requireMention: false } } } },
      }),
    );
    const profile = (key: string) => ({ type: "api_key", provider: "acme", key });
    const keys = (id: string, key: string) => JSON.stringify({ version: 1, profiles: { [id]: profile(key) } });
    write(join(home.stateDir, "credentials", "auth-profiles.json"), keys("acme:all", "key-of-all"));
    write(join(home.dir, "owl-keys", "auth-profiles.json"), keys("acme:owl", "key-of-owl"));
    // Keys alone are no sign that another program keeps this directory.
    write(join(home.stateDir, "agents", "main", "agent", "auth-profiles.json"), keys("acme:main", "key-of-main"));
    await home.start();
    world.model.answer((asked) => {
      if (asked.isAfterTool) return { text: `got: ${asked.toolText}` };
      const path = join(home.dir, "owl-keys", "auth-profiles.json");
      return asked.said.includes("keys") ? { tool: "read", args: { path } } : { text: "yes" };
    });
    world.telegram.say("hello");
    await world.told("yes");
    world.telegram.say("hello", { chat: GROUP });
    await world.told("yes", GROUP.id);
    expect(world.model.calls.map(({ key }) => key)).toEqual(["key-of-main", "key-of-owl"]);
    world.telegram.say("show me the keys");
    expect((await world.told("got: ")).text).not.toContain("key-of-owl");

    // A key that is refused is not asked again for a while; the agent goes on with that of all agents.
    world.model.answer(({ key }) =>
      key === "key-of-owl" ? { status: 401, message: "no such key" } : { text: "still" },
    );
    world.telegram.say("and now?", { chat: GROUP });
    await world.told("still", GROUP.id);
    expect(world.model.calls.at(-1)?.key).toBe("key-of-all");
    const status = await home.run(["models", "status", "--agent", "owl", "--json"]);
    expect(status.code, status.stderr).toBe(0);
    expect(status.stdout).toContain("acme:owl");
    expect((await home.run(["models", "auth", "list"])).stdout).not.toContain("acme:owl");
  });

  test("has the agent that a command adds and binds answer at once, and the default one when it is removed", async ({
    world,
    expect,
  }) => {
    // So long that a message sent in the meantime would be answered by another agent.
    const gateway = { reload: { debounceMs: 2000 } };
    const { home } = await world.start({ gateway, messages: { responsePrefix: "[{identity.name}]" } });
    world.telegram.say("first");
    await world.told("echo: ");
    const added = await home.run(["agents", "add", "Night Owl", "--bind", "telegram", "--json"]);
    expect(added.code, added.stderr).toBe(0);
    expect(added.stderr).toBe("");
    const answers = async () => {
      world.telegram.say("who are you?");
      await vi.waitUntil(() => world.model.open === 0, PATIENCE);
    };
    await answers();
    await world.told(/^\[Night Owl\]/);
    expect(existsSync(join(home.stateDir, "workspace-night-owl", "AGENTS.md"))).toBe(true);
    expect(readFileSync(home.configPath, "utf8")).toContain("night-owl");

    // Also one that a person writes into the file gets a workspace.
    const file = JSON.parse(readFileSync(home.configPath, "utf8")) as { agents: { list: object[] } };
    await home.writeConfig({ ...file, agents: { ...file.agents, list: [...file.agents.list, { id: "wren" }] } });
    await vi.waitUntil(() => existsSync(join(home.stateDir, "workspace-wren", "AGENTS.md")), PATIENCE);

    const removed = await home.run(["agents", "delete", "night-owl", "--force"]);
    expect(removed.code, removed.stderr).toBe(0);
    world.telegram.say("and now?");
    await vi.waitUntil(() => world.model.calls.some(({ said }) => said.includes("and now?")), PATIENCE);
    await vi.waitUntil(() => sessionsOf(home)["telegram:default:1001"] !== undefined, PATIENCE);
    expect(world.model.calls.at(-1)?.system).not.toContain("workspace-night-owl");
  });
});
