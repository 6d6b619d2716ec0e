import { join } from "node:path";
import type { Home } from "../../kit/gateway/process.ts";
import { writePlugin, type PluginFiles } from "../../kit/gateway/plugins.ts";
import { ask } from "../../kit/gateway/rpc.ts";
import { test } from "../../kit/gateway/world.ts";

/** A memory as those of the field are: its tools have the names of the built-in memory's. */
const RECALL: PluginFiles = {
  id: "recall",
  manifest: { kind: "memory", contracts: { tools: ["memory_search", "memory_get", "recall_add"] } },
  code: `
const tool = (name, text) => ({
  name,
  description: "Recalls.",
  parameters: { type: "object", properties: { query: { type: "string" } } },
  execute: async (id, { query }) => ({ content: [{ type: "text", text: text + " " + query }] }),
});
export default (api) => {
  api.registerMemoryCapability({ promptBuilder: () => ["Recall remembers."] });
  for (const name of ["memory_search", "memory_get", "recall_add"]) api.registerTool(tool(name, "recalled by " + name), { name });
};`,
};

const select = (home: Home, memory: string) => home.run(["config", "set", "plugins.slots.memory", memory]);

test("the memory in the slot has memory_search, at once and in both directions", async ({ world, expect }) => {
  const { home, gateway } = await world.start({ channels: { telegram: { enabled: false } } });
  world.model.answer(({ isAfterTool, toolText }) =>
    isAfterTool ? { text: `found: ${toolText}` } : { tool: "memory_search", args: { query: "tea" } },
  );
  const toolsOf = () => world.model.calls.at(-1)?.tools.map((tool) => tool.function.name) ?? [];
  const root = writePlugin(join(home.dir, "mine"), RECALL);
  expect(await ask(home, "tea?")).toContain('"mode"');
  expect(await home.run(["plugins", "install", root, "--yes"])).toMatchObject({ code: 0 });
  expect(await ask(home, "tea?")).toBe("found: recalled by memory_search tea");
  expect(toolsOf()).toEqual(expect.arrayContaining(["memory_search", "memory_get", "recall_add"]));
  expect(world.model.calls.at(-1)?.system).toContain("Recall remembers.");
  expect(world.model.calls.at(-1)?.system).not.toContain("Notes that memory_search finds");
  expect(gateway.output).not.toContain("a part of a plugin is not taken");
  expect((await home.run(["plugins", "doctor"])).stdout).toBe("No problems with 1 plugin.\n");
  expect((await home.run(["doctor", "--only", "app.memory"])).stdout).toContain("The memory is recall.");
  expect((await home.run(["memory", "status"])).stderr).toContain("plugins.slots.memory is recall");

  expect(await select(home, "memory-core")).toMatchObject({ code: 0 });
  await gateway.logged("plugin unloaded");
  expect(await ask(home, "tea?")).toContain('"mode"');
  expect(toolsOf()).not.toContain("recall_add");

  expect(await select(home, "none")).toMatchObject({ code: 0 });
  await gateway.logged((line) => line["msg"] === "config applied" && line["keys"] === "plugins.slots.memory");
  expect((await select(home, "nobody")).stderr).toContain('There is no memory "nobody".');
  expect(await select(home, "recall")).toMatchObject({ code: 0 });
});

test("a memory that registers nothing, or cannot be loaded, is not selected, and everything says so", async ({
  world,
  expect,
}) => {
  const { home } = await world.start({ channels: { telegram: { enabled: false } } });
  for (const [id, code, why] of [
    ["empty", "export default () => {};", "registers no memory, no tool and no hook"],
    ["torn", `export default () => { throw new Error("no vault"); };`, "its register failed: no vault"],
  ] as const) {
    const root = writePlugin(join(home.dir, "mine"), { id, code, manifest: { kind: "memory" } });
    const installed = await home.run(["plugins", "install", "-l", root, "--yes"]);
    expect(installed).toMatchObject({ code: 1, stderr: expect.stringContaining(why) });
    expect(await select(home, id)).toMatchObject({ code: 1, stderr: expect.stringContaining(why) });
    const before = home.latest?.lines.length ?? 0;
    await home.writeConfig(
      world.config({
        channels: { telegram: { enabled: false } },
        plugins: { load: { paths: [root] }, entries: { [id]: { enabled: true } }, slots: { memory: id } },
      }),
    );
    await home.latest?.logged(
      (line) =>
        (home.latest?.lines.indexOf(line) ?? 0) >= before &&
        line["msg"] === "config applied" &&
        String(line["keys"]).includes("slots.memory"),
    );
    for (const args of [
      ["plugins", "doctor"],
      ["plugins", "list"],
      ["doctor", "--only", "plugins"],
    ])
      expect([args, (await home.run(args)).stdout]).toEqual([args, expect.stringContaining(why)]);
  }
});
