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
