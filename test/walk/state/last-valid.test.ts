import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { test } from "../../kit/gateway/world.ts";

test("a broken config names the one that started well, which starts on request until the file is mended", async ({
  world,
}) => {
  world.model.answer(() => ({ text: "yes, the same" }));
  const home = await world.home();
  const early = await home.run(["gateway", "run", "--last-valid-config"]);
  expect(early.code).toBe(78);
  expect(early.stderr).toMatch(/CONFIG_UNREADABLE[^]*No config is kept/);

  const first = await home.start();
  expect(await first.kill()).toBe(0);
  const kept = join(home.stateDir, "state", "last-valid-config.json");
  expect(statSync(kept).mode & 0o777).toBe(0o600);
  const good = readFileSync(home.configPath, "utf8");

  writeFileSync(home.configPath, good.replace('"telegram"', '"telegram" oops'));
  const refused = await home.run(["gateway", "run"]);
  expect(refused.code).toBe(78);
  expect(refused.stderr).toContain("openclaw gateway run --last-valid-config");
  const { stdout } = await home.run(["doctor", "--only", "app.config", "--json"]);
  expect(JSON.parse(stdout).checks[0].results[0].fix).toMatch(/--last-valid-config$/);
  // Each sentence of a fix begins after a blank.
  expect(stdout).not.toMatch(/undefined|[a-z.](?:The|Mend|Put|Run) /);

  const held = await home.start({ args: ["--last-valid-config"] });
  world.telegram.say("are you there?");
  await world.told("yes, the same");
  const ready: unknown = await (await fetch(`http://127.0.0.1:${held.port}/readyz`)).json();
  expect(JSON.stringify(ready)).toContain("is not used: the gateway runs with the config of an earlier start");
  // The broken file is neither applied nor kept.
  expect(JSON.parse(readFileSync(kept, "utf8"))).toMatchObject({ main: good });

  writeFileSync(home.configPath, good.replace("100000", "90000"));
  await held.logged("config applied");
  const mended: unknown = await (await fetch(`http://127.0.0.1:${held.port}/readyz`)).json();
  expect(JSON.stringify(mended)).not.toContain("is not used");
  expect(await held.kill()).toBe(0);
  expect(await (await home.start()).kill()).toBe(0);
  expect(JSON.parse(readFileSync(kept, "utf8"))).toMatchObject({ main: good.replace("100000", "90000") });
});

test("where no config is kept, the remedy of a broken one is whole and nothing more", async ({ world }) => {
  const home = await world.home();
  writeFileSync(home.configPath, "{ broken");
  const { stdout } = await home.run(["doctor", "--only", "app.config", "--json"]);
  expect(JSON.parse(stdout).checks[0].results[0].fix).toMatch(/^Mend line 1 of .*config validate$/);
});

test("undoing the mistake is a mend too", async ({ world }) => {
  const home = await world.home();
  expect(await (await home.start()).kill()).toBe(0);
  const good = readFileSync(home.configPath, "utf8");
  writeFileSync(home.configPath, `${good} oops`);
  const held = await home.start({ args: ["--last-valid-config"] });
  writeFileSync(home.configPath, good);
  await held.logged("config applied");
  const mended: unknown = await (await fetch(`http://127.0.0.1:${held.port}/readyz`)).json();
  expect(JSON.stringify(mended)).not.toContain("is not used");
});

test("a valid file is set aside too, with the files that the kept one included", async ({ world }) => {
  world.model.answer(() => ({ text: "yes, the same" }));
  const { agents, ...rest } = world.config();
  const home = await world.home({ ...rest, agents: { $include: "./agents.json" } });
  const part = join(home.stateDir, "agents.json");
  writeFileSync(part, JSON.stringify(agents), { mode: 0o600 });
  expect(await (await home.start()).kill()).toBe(0);

  writeFileSync(part, "{}");
  const text = readFileSync(home.configPath, "utf8");
  writeFileSync(home.configPath, text.replace('"enabled": true', '"enabled": false'));
  const held = await home.start({ args: ["--last-valid-config"] });
  world.telegram.say("still the same?");
  await world.told("yes, the same");
  expect(held.lines.some(({ msg }) => msg === "config applied")).toBe(false);
});
