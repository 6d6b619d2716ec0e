import { join } from "node:path";
import { writePlugin } from "../../kit/gateway/plugins.ts";
import { test } from "../../kit/gateway/world.ts";

test("/restart loads plugins again, with their present code, and the gateway stays the same process", async ({
  world,
  expect,
}) => {
  const config = world.config({
    channels: { telegram: { enabled: false } },
    plugins: { entries: { toy: { enabled: true } } },
  });
  const home = await world.home(config);
  const write = (word: string) =>
    writePlugin(join(home.stateDir, "extensions"), {
      id: "toy",
      code: `export default (api) => api.registerCommand({ name: "toy", description: "Plays.", handler: () => ({ text: "${word}" }) });`,
    });
  write("the old toy");
  const gateway = await home.start();
  const say = async (message: string) => (await home.run(["agent", "--message", message])).stdout;
  expect(await say("/toy")).toContain("the old toy");
  write("the new toy");
  expect(await say("/restart")).toContain("The gateway restarts.");
  await expect.poll(() => gateway.lines.filter(({ msg }) => msg === "listening").length, { timeout: 20_000 }).toBe(2);
  expect(await say("/toy")).toContain("the new toy");
  expect(await gateway.kill()).toBe(0);
});
