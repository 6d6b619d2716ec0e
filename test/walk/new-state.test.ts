import { cp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { startFakeModel } from "../fakes/model.ts";
import { killedDiscord } from "../faults/platforms/discord.ts";
import type { KilledPlatform } from "../faults/platforms/platform.ts";
import { killedSlack } from "../faults/platforms/slack.ts";
import { isUp, makeHome, PATIENCE, type GatewayUnderTest, type Home } from "../kit/gateway/process.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function open(platform: KilledPlatform): Promise<Home> {
  const model = await startFakeModel();
  const provider = {
    baseUrl: model.url,
    apiKey: "x",
    api: "openai-completions",
    models: [{ id: "fake-1", contextWindow: 100_000, maxTokens: 4096 }],
  };
  const home = await makeHome({
    models: { providers: { fake: provider } },
    agents: { defaults: { model: { primary: "fake/fake-1" } } },
    messages: { queue: { debounceMs: 0 } },
    channels: { [platform.id]: { enabled: true, dmPolicy: "open", allowFrom: ["*"], ...platform.channel } },
  });
  closing.push(
    () => platform.close(),
    () => model.close(),
    () => home.remove(),
  );
  model.answer(({ said }) => ({ text: `answer to ${/K[a-z]+$/.exec(said)?.[0]}` }));
  return home;
}

async function start(home: Home, platform: KilledPlatform): Promise<GatewayUnderTest> {
  const gateway = await home.start();
  await gateway.logged(isUp(platform.id));
  await expect.poll(() => platform.isListening(), PATIENCE).toBe(true);
  return gateway;
}

async function say(platform: KilledPlatform, word: string): Promise<void> {
  platform.say(0, word);
  await expect
    .poll(async () => (await platform.shown(0)).filter((text) => text.endsWith(word)), PATIENCE)
    .toHaveLength(1);
}

/** Everything of the state but the config. */
async function wipe(home: Home): Promise<void> {
  for (const name of await readdir(home.stateDir))
    if (name !== "openclaw.json") await rm(join(home.stateDir, name), { recursive: true });
}

test.each([
  ["discord", killedDiscord],
  ["slack", killedSlack],
] as const)("%s shows each answer of a restored and of a new state directory", async (_name, openPlatform) => {
  const platform = await openPlatform();
  const home = await open(platform);
  let gateway = await start(home, platform);
  await say(platform, "Kone");
  expect(await gateway.kill("SIGTERM")).toBe(0);
  const backup = join(home.dir, "backup");
  await cp(home.stateDir, backup, { recursive: true });
  gateway = await start(home, platform);
  await say(platform, "Ktwo");
  await gateway.kill("SIGTERM");
  await wipe(home);
  await cp(backup, home.stateDir, { recursive: true });
  gateway = await start(home, platform);
  // Its row has the number that the one before had.
  await say(platform, "Kthree");
  await gateway.kill("SIGTERM");
  await wipe(home);
  gateway = await start(home, platform);
  await say(platform, "Kfour");
  await gateway.kill("SIGTERM");
  const shown = (await platform.shown(0)).map((text) => text.replace(/.*answer to /s, ""));
  // A restored directory does not know that Ktwo was answered: it fetches it, and where the platform cannot tell a repeat, it is shown twice.
  expect([...new Set(shown)]).toEqual(["Kone", "Ktwo", "Kthree", "Kfour"]);
});
