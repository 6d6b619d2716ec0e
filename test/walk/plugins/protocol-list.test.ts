import { join } from "node:path";
import { z } from "zod";
import { writePlugin } from "../../kit/gateway/plugins.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { test } from "../../kit/gateway/world.ts";
import { until } from "../../kit/until.ts";
import { expectShape } from "../../server/shapes.ts";

const listed = z.looseObject({ plugins: z.array(z.looseObject({ id: z.string(), state: z.string() })) });

test("plugins are shown in the protocol's words, inspected and switched on", async ({ world, expect }) => {
  const home = await world.home(world.config({ channels: { telegram: { enabled: false } } }));
  const extensions = join(home.stateDir, "extensions");
  writePlugin(extensions, {
    id: "tea-timer",
    code: "export default { register() {} };",
    manifest: { name: "Tea timer", description: "Times tea.", contracts: { tools: ["tea_timer"] } },
  });
  writePlugin(extensions, { id: "tea-pot", code: "export default { register() { throw new Error('it leaks') } };" });
  const gateway = await home.start();
  const rowOf = async (id: string) => {
    const answer = await call(gateway, "plugins.list");
    expectShape("PluginsListResult", answer);
    return listed.parse(answer).plugins.find((plugin) => plugin.id === id);
  };
  const facts = { name: "Tea timer", description: "Times tea.", version: "1.2.3", installed: true };
  expect(await rowOf("tea-timer")).toMatchObject({ ...facts, enabled: false, state: "disabled", removable: true });
  const inspected = await call(gateway, "plugins.inspect", { pluginId: "tea-timer" });
  expectShape("PluginsInspectResult", inspected);
  expect(inspected).toMatchObject({ plugin: facts, declared: { tools: ["tea_timer"], channels: [] } });
  const changed = await call(gateway, "plugins.setEnabled", { pluginId: "tea-timer", enabled: true });
  expectShape("PluginsSetEnabledResult", changed);
  expect(changed).toMatchObject({ plugin: { enabled: true, state: "enabled" }, restartRequired: false });
  await until(async () => (await rowOf("tea-timer"))?.state === "enabled");
  await call(gateway, "plugins.setEnabled", { pluginId: "tea-pot", enabled: true });
  await until(async () => (await rowOf("tea-pot"))?.state === "error");
  expect(await rowOf("tea-pot")).toMatchObject({ enabled: true, error: expect.stringContaining("it leaks") });
  await call(gateway, "plugins.setEnabled", { pluginId: "tea-timer", enabled: false });
  await until(async () => (await rowOf("tea-timer"))?.state === "disabled");
  await expect(call(gateway, "plugins.inspect", { pluginId: "none" })).rejects.toThrow("none");
});
