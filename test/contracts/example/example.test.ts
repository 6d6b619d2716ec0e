import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Contributions } from "../../../src/plugins/contributions.ts";
import { channelContract } from "../channel.ts";
import { exampleConfig } from "./config.ts";
import { example } from "./index.ts";
import { examplePlatform } from "./platform.ts";
import { contributor } from "./plugin.ts";

channelContract("the example of the guide", examplePlatform);

test("the example registers its channel", async () => {
  const channel = new Contributions([contributor]).channel("example");
  expect(await channel?.adapter()).toBe(example);
});

test("the flags of its setup fill every key that its config requires", () => {
  const { setup } = new Contributions([contributor]).channel("example") ?? {};
  const values: Record<string, string> = { token: "token-of-the-bot", apiUrl: "http://127.0.0.1:1" };
  const account = Object.fromEntries(setup?.flags.map(({ key }) => [key, values[key]]) ?? []);
  expect(exampleConfig.safeParse(account).success).toBe(true);
});

test.each(["config.ts", "index.ts", "plugin.ts"])("the guide shows %s as it is", (name) => {
  const guide = readFileSync(join(import.meta.dirname, "../../../docs/contributing/adapters.md"), "utf8");
  const code = readFileSync(join(import.meta.dirname, name), "utf8");
  expect(guide).toContain(`\`\`\`ts\n// ${name}\n${code}\`\`\``);
});
