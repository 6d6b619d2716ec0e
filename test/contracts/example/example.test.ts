import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Contributions } from "../../../src/plugins/contributions.ts";
import { channelContract } from "../channel.ts";
import { example } from "./adapter.ts";
import { examplePlatform } from "./platform.ts";
import { contributor } from "./plugin.ts";

channelContract("the example of the guide", examplePlatform);

test("the example registers its channel", async () => {
  const channel = new Contributions([contributor]).channel("example");
  expect(await channel?.adapter()).toBe(example);
  expect(channel?.setup.flags.map(({ key }) => key)).toEqual(["token"]);
});

test.each(["config.ts", "adapter.ts", "plugin.ts"])("the guide shows %s as it is", (name) => {
  const guide = readFileSync(join(import.meta.dirname, "../../../docs/contributing/adapters.md"), "utf8");
  const code = readFileSync(join(import.meta.dirname, name), "utf8");
  expect(guide).toContain(`\`\`\`ts\n// ${name}\n${code}\`\`\``);
});
