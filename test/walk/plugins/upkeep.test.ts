import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writePlugin } from "../../kit/gateway/plugins.ts";
import { test, type World } from "../../kit/gateway/world.ts";
import { until } from "../../kit/until.ts";

const quiet = (world: World, ...ids: string[]) =>
  world.config({
    channels: { telegram: { enabled: false } },
    plugins: { entries: Object.fromEntries(ids.map((id) => [id, { enabled: true }])) },
  });

test("a plugin that lacks a dependency is named by health and doctor with what to do, and enable loads it once it is there", async ({
  world,
  expect,
}) => {
  const home = await world.home(quiet(world, "lacks"));
  const root = writePlugin(join(home.stateDir, "extensions"), {
    id: "lacks",
    code: `import word from "word-of-nobody";
      export default (api) => api.registerCommand({ name: "word", description: "Says it.", handler: () => ({ text: word }) });`,
  });
  await home.start();
  const why = 'it imports "word-of-nobody", which is not installed beside it';
  expect((await home.run(["health"])).stdout).toContain(`0 loaded; lacks is left out: ${why}`);
  expect((await home.run(["plugins", "doctor"])).stdout).toMatch(
    new RegExp(`fail: lacks: It is not loaded: ${why}.\\n +fix: .*install npm-pack:`),
  );
  expect((await home.run(["plugins", "enable", "lacks"])).stdout).toContain(
    `The running gateway has not loaded lacks: ${why}. Install it with its dependencies: `,
  );
  const dependency = join(root, "node_modules", "word-of-nobody");
  mkdirSync(dependency, { recursive: true });
  writeFileSync(join(dependency, "package.json"), `{ "name": "word-of-nobody", "type": "module", "main": "index.js" }`);
  writeFileSync(join(dependency, "index.js"), `export default "it is here";`);
  expect((await home.run(["plugins", "enable", "lacks"])).stdout).toContain("The running gateway has loaded lacks.");
  expect((await home.run(["agent", "--message", "/word"])).stdout).toContain("it is here");
  expect((await home.run(["health"])).stdout).toMatch(/Plugins +1 loaded\n/);
});

test("an installation of the code that the gateway runs asks for no restart, one of other code does", async ({
  world,
  expect,
}) => {
  const home = await world.home(quiet(world));
  const gateway = await home.start();
  const codeOf = (word: string) =>
    writePlugin(join(home.stateDir, "..", "source"), {
      id: "toy",
      code: `export default (api) => api.registerCommand({ name: "toy", description: "Plays.", handler: () => ({ text: "${word}" }) });`,
    });
  const install = async (word: string) =>
    (await home.run(["plugins", "install", codeOf(word), "--force", "--yes"])).stdout;
  expect(await install("one")).toContain("The running gateway has loaded toy.");
  await gateway.logged("plugin loaded");
  expect(await install("one")).toContain("The running gateway has this code already.");
  expect(await install("two")).toContain("Restart the gateway");
  // It is installed, but the gateway still runs the code before it.
  expect(await install("two")).toContain("Restart the gateway");
});

test("a command without a text sends nothing, and an endless one is cut; the log says so", async ({
  world,
  expect,
}) => {
  const home = await world.home(world.config({ plugins: { entries: { texts: { enabled: true } } } }));
  writePlugin(join(home.stateDir, "extensions"), {
    id: "texts",
    code: `export default (api) => {
      api.registerCommand({ name: "still", description: "x", handler: () => ({ details: 1 }) });
      api.registerCommand({ name: "endless", description: "x", handler: () => ({ text: "so ".repeat(100_000) }) });
    };`,
  });
  const gateway = await home.start();
  world.telegram.say("/still");
  expect(await gateway.logged("a command of a plugin gave no text, so nothing is sent")).toMatchObject({
    plugin: "texts",
    command: "still",
  });
  await until(async () => (await home.run(["inbox", "list", "--all"])).stdout.includes("command"));
  expect(world.telegram.sent.filter(({ method }) => method === "sendMessage")).toEqual([]);
  const { stdout } = await home.run(["agent", "--message", "/endless"]);
  expect(stdout.length).toBeLessThan(110_000);
  expect(stdout).toContain("[A plugin made this text longer; the rest is left out.]");
  expect(await gateway.logged("the text of a plugin's command is cut")).toMatchObject({ chars: 300_000 });
});

test("speech is refused by name, and doctor names the plugin that asked for it", async ({ world, expect }) => {
  const home = await world.home(quiet(world, "talks"));
  writePlugin(join(home.stateDir, "extensions"), {
    id: "talks",
    code: `export default (api) => api.registerCommand({ name: "talk", description: "Talks.", handler: async () => {
      try { return await api.runtime.tts.textToSpeech({ text: "hello" }); } catch (error) { return { text: error.message }; }
    } });`,
  });
  await home.start();
  expect((await home.run(["agent", "--message", "/talk"])).stdout).toContain(
    "this gateway does not have api.runtime.tts.textToSpeech: only its own tool and command speak (messages.tts)",
  );
  const doctor = await home.run(["plugins", "doctor"]);
  expect([doctor.code, doctor.stdout]).toEqual([
    0,
    expect.stringContaining(
      "warn: talks: It called parts of the plugin API that this gateway does not have: api.runtime.tts.textToSpeech.",
    ),
  ]);
});
