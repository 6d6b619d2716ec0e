import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../../src/app/config/load.ts";
import { resolveAgents } from "../../../src/app/config/settings.ts";
import { broadcastTo } from "../../../src/channels/routing/broadcast.ts";
import { accountId, channelId } from "../../../src/types/ids.ts";

function load(config: object) {
  const path = join(mkdtempSync(join(tmpdir(), "openclaw-agents-")), "openclaw.json");
  writeFileSync(path, JSON.stringify(config));
  return loadConfig({ path, env: {} });
}

const agentsOf = async (agents: object) =>
  resolveAgents((await load({ agents })).config, { home: "/home/x", stateDir: "/state" });

test("agents of agents.entries follow those of agents.list, and have the same keys", async () => {
  const agents = await agentsOf({
    list: [{ id: "one" }],
    entries: { two: { model: "a/b", default: true, tools: { deny: ["exec"] } }, three: {} },
  });
  expect(agents.map(({ id }) => id)).toEqual(["two", "one", "three"]);
  expect(agents[0]?.model.primary).toEqual({ provider: "a", id: "b" });
  expect(agents[0]?.tools.agent).toMatchObject({ key: "agents.entries.two.tools", deny: ["exec"] });
});

test("a mistake in agents.entries is named by its own key", async () => {
  await expect(load({ agents: { entries: { two: { model: "nonsense" } } } })).rejects.toThrow(
    /agents\.entries\.two\.model/,
  );
  await expect(load({ agents: { entries: { two: { modle: "a/b" } } } })).rejects.toThrow(/agents\.entries\.two\.modle/);
  await expect(load({ agents: { entries: { "a b": {} } } })).rejects.toThrow(/agents\.entries/);
  const { warnings } = await load({ agents: { entries: { two: { tts: {} } } } });
  expect(warnings.map(({ key }) => key)).toEqual(["agents.entries.two.tts"]);
});

test("a narrowing key that is not obeyed stops the agent of agents.entries that has it, or those without a value of their own", async () => {
  const onNode = { tools: { exec: { host: "node" } } };
  const own = await load({ agents: { entries: { two: onNode, three: {} } } });
  expect(own.stops.map(({ key, stops }) => [key, stops])).toEqual([
    ["agents.entries.two.tools.exec.host", { kind: "agents", agent: "two" }],
  ]);
  const entries = { two: { tools: { exec: { host: "gateway" } } }, three: {} };
  const all = await load({ ...onNode, agents: { list: [{ id: "one" }], entries } });
  expect(all.stops.map(({ stops }) => stops)).toEqual([
    { kind: "agents", agent: "one" },
    { kind: "agents", agent: "three" },
  ]);
});

test("two agents of one id, or with one directory of keys, are refused", async () => {
  await expect(agentsOf({ list: [{ id: "a" }], entries: { a: {} } })).rejects.toThrow(
    /agents\.entries\.a: is the id of another agent too/,
  );
  const shared = [
    { id: "a", agentDir: "~/keys" },
    { id: "b", agentDir: "/home/x/keys" },
  ];
  await expect(agentsOf({ list: shared })).rejects.toThrow(/agentDir \/home\/x\/keys/);
  const [main, other] = await agentsOf({ list: [{ id: "main" }, { id: "b", agentDir: "own" }] });
  expect(main?.agentDir).toBe("/state/agents/main/agent");
  expect(other?.agentDir).toBe("/state/own");
});

test("agents with one workspace, or with one bot, are refused by name", async () => {
  const agents = { list: [{ id: "a", workspace: "~/w" }], entries: { b: { workspace: "~/w" } } };
  await expect(load({ agents })).rejects.toThrow(
    /agents\.entries\.b\.workspace: is the workspace of agents\.list\[0\] too/,
  );
  const bindings = [{ agentId: "owl", match: { channel: "telegram", accountId: "work" } }];
  const telegram = (accounts: object) => ({ channels: { telegram: { enabled: true, botToken: "1:a", accounts } } });
  const twice = telegram({ work: { botToken: "1:a" } });
  await expect(load({ ...twice, bindings })).rejects.toThrow(
    /accounts\.work\.botToken: is the bot of channels\.telegram too/,
  );
  await expect(load(twice)).resolves.toBeDefined();
  const other = { work: { botToken: "1:a", apiRoot: "http://127.0.0.1:1" } };
  for (const accounts of [{ work: { botToken: "1:a", enabled: false } }, { work: { botToken: "2:b" } }, other])
    await expect(load({ ...telegram(accounts), bindings })).resolves.toBeDefined();
});

test("broadcast names the agents of a chat by its id, with or without its channel", async () => {
  const { config } = await load({
    broadcast: { "telegram:-1": ["a", "b", "a"], "-1": ["c"], "42": ["d"], "+431": ["e"], "-2": [] },
  });
  const to = (channel: string, chat: object, sender: object = { id: "9" }) =>
    broadcastTo(config.broadcast, {
      from: { channel: channelId(channel), account: accountId("default"), chat: { kind: "group", id: "", ...chat } },
      sender: { id: "9", ...sender },
    });
  expect(to("telegram", { id: "-1" })).toEqual(["a", "b"]);
  expect(to("discord", { id: "-1" })).toEqual(["c"]);
  expect(to("telegram", { id: "-2" })).toEqual([]);
  expect(to("telegram", { id: "-3" }, { id: "42" })).toEqual([]);
  expect(to("telegram", { kind: "direct", id: "7" }, { id: "42" })).toEqual(["d"]);
  expect(to("signal", { kind: "direct", id: "x" }, { e164: "+431" })).toEqual(["e"]);
  expect(to("telegram", { id: "strategy" })).toEqual([]);
});
