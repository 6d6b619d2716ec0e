import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { expect as vitestExpect } from "vitest";
import { z } from "zod";
import type { Home } from "../../kit/gateway/process.ts";
import { writePlugin } from "../../kit/gateway/plugins.ts";
import { ask, call } from "../../kit/gateway/rpc.ts";
import { test, type World } from "../../kit/gateway/world.ts";
import { BROKEN_ENGINES } from "../../kit/plugins/engines.ts";
import { until } from "../../kit/until.ts";

const LIMITS = { contextEngineTimeoutSeconds: { bootstrap: 1 } };

const configOf = (world: World, plugins: object = {}) =>
  world.config({ channels: { telegram: { enabled: false } }, plugins: { ...LIMITS, ...plugins } });

/** With the plugin in the slot, as a person writes it. */
const byHand = (world: World, { id, root }: { id: string; root: string }) =>
  configOf(world, { load: { paths: [root] }, entries: { [id]: { enabled: true } }, slots: { contextEngine: id } });

const slotIn = ({ configPath }: Home): unknown =>
  JSON.parse(readFileSync(configPath, "utf8")).plugins.slots?.contextEngine;

interface Said {
  readonly code: number | NodeJS.Signals;
  readonly text: string;
}

async function say(home: Home, ...args: string[]): Promise<Said> {
  const { code, stdout, stderr } = await home.run(args);
  return { code, text: `${stdout}\n${stderr}` };
}

/** The commands that would select the plugin. */
async function select(home: Home, { id, root }: { id: string; root: string }): Promise<Readonly<Record<string, Said>>> {
  return {
    install: await say(home, "plugins", "install", "-l", root, "--yes"),
    enable: await say(home, "plugins", "enable", id, "--json"),
    set: await say(home, "config", "set", "plugins.slots.contextEngine", id),
  };
}

/** The commands that look at a plugin that is selected. The list does not fail: it has other plugins too. */
const look = async (home: Home): Promise<Readonly<Record<string, Said>>> => ({
  doctor: await say(home, "doctor", "--only", "context-engine"),
  "plugins doctor": await say(home, "plugins", "doctor", "--json"),
  list: { ...(await say(home, "plugins", "list")), code: 1 },
});

type Expect = typeof vitestExpect;

/** Each of them says the reason and fails. */
function expectReason(expect: Expect, all: Readonly<Record<string, Said>>, why: string): void {
  for (const [name, { code, text }] of Object.entries(all)) {
    // JSON escapes the quotes of the reason.
    expect([name, text.replaceAll("\\", "")]).toEqual([name, expect.stringContaining(why)]);
    expect([name, code]).toEqual([name, expect.toSatisfy((given) => given !== 0)]);
  }
}

test.for(BROKEN_ENGINES)(
  "a stopped gateway: $id is not selected, and everything says the same of it",
  async (plugin, { world, expect }) => {
    const home = await world.home(configOf(world));
    const { id, why } = plugin;
    const root = writePlugin(join(home.dir, "mine"), plugin);
    expectReason(expect, await select(home, { id, root }), why);
    expect(slotIn(home)).toBeUndefined();
    await home.writeConfig(byHand(world, { id, root }));
    expectReason(expect, await look(home), why);
  },
);

const current = z.looseObject({
  config: z.looseObject({ plugins: z.looseObject({ slots: z.looseObject({ contextEngine: z.string() }) }) }),
});

test("a running gateway: no broken engine is selected, and everything says the same of it as the chat", async ({
  world,
  expect,
}) => {
  const { home, gateway } = await world.start({ channels: { telegram: { enabled: false } }, plugins: LIMITS });
  const selected = async () => current.parse(await call(gateway, "config.get")).config.plugins.slots.contextEngine;
  for (const plugin of BROKEN_ENGINES) {
    const { id, why } = plugin;
    const root = writePlugin(join(home.dir, "mine"), plugin);
    expectReason(expect, await select(home, { id, root }), why);
    expect([id, slotIn(home)]).toEqual([id, undefined]);
    expect([id, await ask(home, "hello")]).toEqual([id, expect.stringMatching(/^echo: /)]);
    await home.writeConfig(byHand(world, { id, root }));
    await until(async () => (await selected()) === id);
    expectReason(expect, { ...(await look(home)), chat: { code: 1, text: await ask(home, "hello") } }, why);
    await home.writeConfig(configOf(world));
    await until(async () => (await selected()) === "legacy");
  }
  // Some seventy programs are started, each of which loads the gateway's code.
}, 400_000);

test("a client of the protocol selects no broken engine either", async ({ world, expect }) => {
  const { home, gateway } = await world.start({ channels: { telegram: { enabled: false } }, plugins: LIMITS });
  const [broken] = BROKEN_ENGINES;
  const root = writePlugin(join(home.dir, "mine"), broken!);
  await home.writeConfig(configOf(world, { load: { paths: [root] } }));
  const listed = z.looseObject({ plugins: z.array(z.looseObject({ state: z.string() })) });
  await until(async () => listed.parse(await call(gateway, "plugins.loaded")).plugins[0]?.state === "loaded");
  const patch = (contextEngine: string) =>
    call(gateway, "config.patch", { patch: { plugins: { slots: { contextEngine } } } });
  await expect(patch(broken!.id)).rejects.toThrow(broken!.why);
  await expect(patch("nobody")).rejects.toThrow('There is no context engine "nobody".');
  expect(await ask(home, "hello")).toBe("echo: hello");
});
