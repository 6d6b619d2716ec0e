import { join } from "node:path";
import { writePlugin } from "../../kit/gateway/plugins.ts";
import { test } from "../../kit/gateway/world.ts";

test("a plugin that blocks the gateway from its own timer is named, and ends with its plugin", async ({
  world,
  expect,
}) => {
  const plugins = { entries: { busy: { enabled: true } } };
  const home = await world.home(world.config({ channels: { telegram: { enabled: false } }, plugins }));
  writePlugin(join(home.stateDir, "extensions"), {
    id: "busy",
    code: `export default (api) => {
      setInterval(() => { const end = performance.now() + 150; while (performance.now() < end); }, 1000);
      setTimeout(() => { throw new Error("thrown in a timer"); }, 10);
    };`,
  });
  const gateway = await home.start();
  expect(await gateway.logged("a plugin blocked the gateway")).toMatchObject({ plugin: "busy", call: "interval" });
  expect(await gateway.logged("plugin failed")).toMatchObject({ plugin: "busy", call: "timeout" });
  expect((await home.run(["status"])).stdout).toMatch(
    /1 loaded; busy blocked the gateway .*, up to \d+ ms \(interval\)/,
  );
  expect((await home.run(["plugins", "inspect", "busy", "--runtime"])).stdout).toMatch(
    /longest call +interval, \d+ ms/,
  );
  await home.run(["plugins", "disable", "busy"]);
  expect(await gateway.logged("intervals that a plugin left are ended")).toMatchObject({
    plugin: "busy",
    intervals: 1,
  });
  expect((await home.run(["agent", "--message", "hello"])).stdout).toContain("echo: hello");
});

test("a plugin that imports what is missing only in a turn is named at its load", async ({ world, expect }) => {
  const plugins = { entries: { later: { enabled: true } } };
  const home = await world.home(world.config({ channels: { telegram: { enabled: false } }, plugins }));
  writePlugin(join(home.stateDir, "extensions"), {
    id: "later",
    code: `export default (api) => api.registerCommand({ name: "warp", description: "Warps.", handler: async () => {
      const { warp } = await import("openclaw/plugin-sdk/time-travel");
      return { text: warp() };
    } });`,
  });
  const gateway = await home.start();
  const missing = "openclaw/plugin-sdk/time-travel (index.js)";
  const told = await gateway.logged("plugin uses parts of the SDK that this gateway does not have");
  expect(told).toMatchObject({
    plugin: "later",
    missing: [missing],
    fix: expect.stringContaining("plugins update later"),
  });
  for (const command of [["inspect", "later"], ["inspect", "later", "--runtime"], ["doctor"]])
    expect((await home.run(["plugins", ...command])).stdout).toContain(missing);
  await home.run(["agent", "--message", "/warp"]);
  const failed = gateway.lines.find((line) =>
    JSON.stringify(line).includes("this gateway has no openclaw/plugin-sdk/time-travel, which file:"),
  );
  expect(failed).toBeDefined();
});
