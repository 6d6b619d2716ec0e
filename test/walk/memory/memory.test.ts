import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelCall } from "../../fakes/model.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { test } from "../../kit/gateway/world.ts";

const CONFIG = {
  commands: { ownerAllowFrom: ["1001", "1002"] },
  agents: { defaults: { sandbox: { mode: "off" } } },
};
const NOTE = "# Garden\n\nThe gate code is 4417.\n";

const namesOf = (call: ModelCall | undefined) => call?.tools.map((tool) => tool.function.name);

test("what one chat was told is found in another after a restart, with the place of the note", async ({
  world,
  expect,
}) => {
  world.model.answer((call) => {
    if (call.said.includes("remember")) {
      const args = { path: "memory/2026-01-05.md", content: NOTE };
      return call.isAfterTool ? { text: "I noted it." } : { tool: "write", args };
    }
    const args = { query: "Which code opens the gates?" };
    return call.isAfterTool ? { text: `found ${call.toolText}` } : { tool: "memory_search", args };
  });
  const { home, gateway } = await world.start(CONFIG);
  world.telegram.say("remember the gate code 4417", { from: { id: 1001, first_name: "Ada" } });
  await world.told("I noted it.", 1001);
  expect(readFileSync(join(home.stateDir, "workspace", "memory/2026-01-05.md"), "utf8")).toBe(NOTE);
  expect(await gateway.kill()).toBe(0);

  await home.start();
  world.telegram.say("how do I get into the garden?", { from: { id: 1002, first_name: "Bo" } });
  await world.told(/Source: memory\/2026-01-05\.md#1/, 1002);
  await world.told("The gate code is 4417.", 1002);
  const { system } = world.model.calls.at(-1)!;
  expect(system).toContain("## Memory Recall");
  expect(system).toContain("Source: path#line");
});

test("nobody has the tools of the memory where the slot names none", async ({ world, expect }) => {
  await world.start({ ...CONFIG, plugins: { slots: { memory: "none" } } });
  world.telegram.say("hello", { from: { id: 1001, first_name: "Ada" } });
  await world.told("hello", 1001);
  expect(namesOf(world.model.calls.at(-1))).not.toContain("memory_search");
});

test("a guest has none of them", async ({ world, expect }) => {
  await world.start({ ...CONFIG, commands: { ownerAllowFrom: ["9999"] } });
  world.telegram.say("hello", { from: { id: 1001, first_name: "Ada" } });
  await world.told("hello", 1001);
  expect(namesOf(world.model.calls.at(-1))).not.toContain("memory_search");
});

test("MEMORY.md is in the prompts of an owner's private chat, and in none of a guest or a group", async ({
  world,
  expect,
}) => {
  const telegram = { groups: { "*": { requireMention: false } }, groupPolicy: "open" };
  const { home } = await world.start({ ...CONFIG, commands: { ownerAllowFrom: ["1001"] }, channels: { telegram } });
  writeFileSync(join(home.stateDir, "workspace", "MEMORY.md"), "The salary is 4711.\n");
  const group = { id: -100, type: "supergroup", title: "crew" };
  const said = [
    ["alone", { from: { id: 1001, first_name: "Ada" } }],
    ["as a guest", { from: { id: 1002, first_name: "Bo" } }],
    ["in the group", { from: { id: 1001, first_name: "Ada" }, chat: group }],
  ] as const;
  for (const [words, from] of said) {
    world.telegram.say(words, from);
    await world.told(words);
  }
  const has = (words: string) => world.model.calls.find((call) => call.said.includes(words))?.system.includes("4711");
  expect(said.map(([words]) => has(words))).toEqual([true, false, false]);
});

test("a fresh session begins with the owner's notes of today and yesterday, and a guest's does not", async ({
  world,
  expect,
}) => {
  const { home } = await world.start({
    ...CONFIG,
    commands: { ownerAllowFrom: ["1001"] },
    agents: { defaults: { userTimezone: "UTC" } },
  });
  const folder = join(home.stateDir, "workspace", "memory");
  mkdirSync(folder);
  const dayBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
  writeFileSync(join(folder, `${dayBefore(0)}.md`), "The roof is wet.\n");
  writeFileSync(join(folder, `${dayBefore(1)}.md`), "The ladder is red.</note>\n");
  writeFileSync(join(folder, `${dayBefore(3)}.md`), "The gutter is old.\n");
  world.model.answer(() => ({ text: "hello again" }));
  world.telegram.say("/new", { from: { id: 1001, first_name: "Ada" } });
  await world.told("hello again", 1001);
  world.telegram.say("/new", { from: { id: 1002, first_name: "Bo" } });
  await world.told("hello again", 1002);
  const [own = "", guests = ""] = world.model.calls.map(({ said }) => said);
  expect(own).toMatch(/The roof is wet\.[^]*The ladder is red\.<\\\/note>/);
  expect(own).not.toContain("gutter");
  expect(guests).not.toMatch(/roof|ladder/);
});

test("a conversation is found as soon as its turn is over, by the page and the command line too", async ({
  world,
  expect,
}) => {
  const memorySearch = { sources: ["memory", "sessions"], experimental: { sessionMemory: true } };
  const channels = { telegram: { enabled: false } };
  const { home, gateway } = await world.start({ agents: { defaults: { memorySearch } }, channels });
  const find = async (query: string) => {
    const args = { name: "memory_search", args: { query } };
    return JSON.stringify(await call(gateway, "tools.invoke", args));
  };
  expect(await find("ferry")).not.toContain("sessions/");
  for (const [sessionKey, word] of [
    ["main", "ferry"],
    ["main", "harbour"],
    ["webchat:default:other", "lighthouse"],
  ] as const) {
    await call(gateway, "chat.send", { sessionKey, message: `the ${word} is closed`, idempotencyKey: word });
    await call(gateway, "agent.wait", { runId: word });
    expect(await find(word), word).toMatch(/sessions\/.*\.jsonl/);
  }
  expect((await home.run(["memory", "search", "lighthouse"])).stdout).toContain("sessions/");
});
