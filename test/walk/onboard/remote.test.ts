import { existsSync, readFileSync } from "node:fs";
import JSON5 from "json5";
import { expect } from "vitest";
import { TOKEN } from "../../kit/gateway/process.ts";
import { test } from "../../kit/gateway/world.ts";
import { ESCAPE, Person } from "./terminal.ts";

test("a person at a terminal names a gateway elsewhere, mends what it refuses, and the commands talk to it", async ({
  world,
}) => {
  const { gateway } = await world.start();
  const here = await world.home(world.config());
  const before = readFileSync(here.configPath, "utf8");
  const person = new Person(here, ["onboard", "--mode", "remote"]);
  await person.reads(/Address of the gateway/);
  person.answer("ws://127.0.0.1:1");
  await person.reads(/How does it let you in\?/);
  await person.pick("OPENCLAW_GATEWAY_TOKEN");
  await person.reads(/No gateway answers at ws:\/\/127\.0\.0\.1:1/);
  expect(readFileSync(here.configPath, "utf8")).toBe(before);
  await person.reads(/Address of the gateway/);
  for (const _ of "ws://127.0.0.1:1") person.press("\u007f");
  const url = `ws://127.0.0.1:${gateway.port}`;
  person.answer(url);
  await person.reads(/How does it let you in\?/);
  await person.pick("With its token");
  await person.reads(/Token/);
  person.answer("a-wrong-token");
  await person.reads(/did not take the token/);
  await person.reads(/Address of the gateway/);
  person.enter();
  await person.reads(/How does it let you in\?/);
  await person.pick("With its token");
  await person.reads(/Token/);
  person.answer(TOKEN);
  await person.reads(/Its page: openclaw dashboard/);
  expect(await person.ended()).toBe(0);
  expect(person.all).not.toContain(TOKEN);
  expect(JSON5.parse(readFileSync(here.configPath, "utf8"))).toMatchObject({
    gateway: { mode: "remote", remote: { url, token: TOKEN } },
  });
  expect((await here.run(["health"])).code).toBe(0);
});

test("a set-up of a gateway elsewhere that is left changes nothing", async ({ world }) => {
  const home = await world.home();
  const before = readFileSync(home.configPath, "utf8");
  const person = new Person(home, ["onboard", "--mode", "remote", "--remote-url", "wss://gateway.example.org"]);
  await person.reads(/wss:\/\/gateway\.example\.org/);
  person.press(ESCAPE);
  await person.reads(/This step was left/);
  await person.pick("Leave the set-up");
  await person.reads(/Nothing was changed/);
  expect(await person.ended()).toBe(0);
  expect([existsSync(home.configPath), readFileSync(home.configPath, "utf8")]).toEqual([true, before]);
});
