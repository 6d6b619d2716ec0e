import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelCall } from "../../fakes/model.ts";
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
