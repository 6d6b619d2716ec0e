import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Home } from "../../kit/gateway/process.ts";
import { writePlugin } from "../../kit/gateway/plugins.ts";
import { ask, call } from "../../kit/gateway/rpc.ts";
import { test, type World } from "../../kit/gateway/world.ts";
import { engineNamed } from "../../kit/plugins/engines.ts";
import { until } from "../../kit/until.ts";

const pluginsIn = ({ configPath }: Home) =>
  JSON.parse(readFileSync(configPath, "utf8")).plugins as { slots?: { contextEngine?: string } };

/** Every answer names the engine that assembled the question. */
function tellEngine(world: World): void {
  world.model.answer(({ said, system }) => ({ text: `${said} by ${/Engine (\S+)\./.exec(system)?.[1] ?? "legacy"}` }));
}

/** Somebody who writes without a pause, each message when the one before is answered. */
class Writer {
  readonly #world: World;
  /** The engine of each answer. */
  readonly engines: string[] = [];
  /** Answers that are none. */
  readonly wrong: string[] = [];
  #isOver = false;
  readonly #work: Promise<void>;

  constructor(world: World) {
    this.#world = world;
    this.#work = this.#write();
  }

  async #write(): Promise<void> {
    const { telegram } = this.#world;
    for (let number = 1; !this.#isOver; number++) {
      telegram.say(`m${number}`, { from: { id: 1001, first_name: "Ada" } });
      await telegram.waitFor(() => telegram.shown(1001).length >= number);
      const answer = telegram.shown(1001).at(-1) ?? "";
      const engine = new RegExp(`m${number} by (\\S+)$`).exec(answer)?.[1];
      if (engine === undefined) this.wrong.push(answer);
      else this.engines.push(engine);
    }
  }

  /** Resolves when the engine answers. */
  async answeredBy(engine: string): Promise<void> {
    const before = this.engines.length;
    await until(() => this.engines.slice(before).includes(engine) || this.wrong.length > 0);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }
}

test("messages are answered by the old engine or the new one while engines are installed, selected, changed and removed", async ({
  world,
  expect,
}) => {
  tellEngine(world);
  const { home } = await world.start();
  const [quick, slow] = [
    writePlugin(join(home.dir, "mine"), engineNamed({ id: "quick" })),
    // It takes as long in its trial.
    writePlugin(join(home.dir, "mine"), engineNamed({ id: "slow", slowMs: 2500 })),
  ];
  const writer = new Writer(world);
  await writer.answeredBy("legacy");
  const steps: readonly (readonly [string, ...string[]])[] = [
    ["quick", "plugins", "install", quick, "--yes"],
    ["quick", "config", "set", "plugins.entries.quick.config.word", "hello"],
    ["slow", "plugins", "install", "-l", slow, "--yes"],
    ["legacy", "config", "set", "plugins.slots.contextEngine", "legacy"],
    ["quick", "config", "set", "plugins.slots.contextEngine", "quick"],
    ["slow", "plugins", "enable", "slow"],
    ["quick", "plugins", "enable", "quick"],
    ["quick", "plugins", "update", "quick", "--yes"],
    ["legacy", "plugins", "disable", "quick"],
    ["quick", "plugins", "enable", "quick"],
    ["legacy", "plugins", "uninstall", "quick", "--force"],
    ["legacy", "plugins", "uninstall", "slow", "--force"],
  ];
  const seen: string[] = [];
  for (const [engine, ...args] of steps) {
    if (args[1] === "update") writeFileSync(join(quick, "more.js"), "export {};\n");
    const before = writer.engines.length;
    const done = await home.run(args);
    expect([args.join(" "), done.code, done.stderr]).toEqual([args.join(" "), 0, expect.any(String)]);
    await writer.answeredBy(engine);
    seen.push(...new Set(writer.engines.slice(before)));
  }
  await writer.end();
  expect(writer.wrong).toEqual([]);
  expect(world.telegram.shown(1001)).toHaveLength(writer.engines.length);
  // Nobody answers but the one before and the one after each step.
  expect(seen.filter((engine, at) => engine !== seen[at - 1])).toEqual([
    "legacy",
    "quick",
    "slow",
    "legacy",
    "quick",
    "slow",
    "quick",
    "legacy",
    "quick",
    "legacy",
  ]);
});

test("an engine whose id is not that of its plugin works through its whole life", async ({ world, expect }) => {
  tellEngine(world);
  const { home } = await world.start({ channels: { telegram: { enabled: false } } });
  const hook = `api.on("before_prompt_build", () => ({ appendSystemContext: "Seen by its hook." }));`;
  const root = writePlugin(join(home.dir, "mine"), engineNamed({ id: "house", engine: "engine-x", tools: hook }));
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await home.run(args);
    expect([args.join(" "), code, stderr]).toEqual([args.join(" "), 0, expect.any(String)]);
    return stdout;
  };
  const expectSelected = async () => {
    expect(pluginsIn(home).slots?.contextEngine).toBe("engine-x");
    expect(await ask(home, "hello")).toBe("hello by engine-x");
    expect(world.model.calls.at(-1)?.system).toContain("Seen by its hook.");
    expect(await run("doctor", "--only", "context-engine,plugins")).toContain(
      "engine-x 1.2.3 is active in the running gateway, of the plugin house",
    );
    expect(await run("plugins", "doctor")).toBe("No problems with 1 plugin.\n");
  };
  const expectLegacy = async () => {
    expect(pluginsIn(home).slots?.contextEngine).toBeUndefined();
    await until(async () => (await ask(home, "hello")) === "hello by legacy");
  };
  expect(await run("plugins", "install", root, "--yes")).toContain(
    'Exclusive slot "contextEngine" switched from "legacy" to "engine-x".',
  );
  await expectSelected();
  await run("plugins", "enable", "house");
  await expectSelected();
  expect(await run("plugins", "disable", "house")).toContain(
    'Exclusive slot "contextEngine" switched from "engine-x" to "legacy".',
  );
  await expectLegacy();
  await run("plugins", "enable", "house");
  await expectSelected();
  writeFileSync(join(root, "more.js"), "export {};\n");
  await run("plugins", "update", "house", "--yes");
  await expectSelected();
  await run("config", "unset", "plugins.slots.contextEngine");
  await expectLegacy();
  // Its hooks read conversations only while its engine is selected.
  expect(world.model.calls.at(-1)?.system).not.toContain("Seen by its hook.");
  await run("config", "set", "plugins.slots.contextEngine", "engine-x");
  await until(async () => (await ask(home, "hello")) === "hello by engine-x");
  await expectSelected();
  expect((await home.run(["config", "set", "plugins.slots.contextEngine", "house"])).stderr).toContain(
    'it registers the context engine "engine-x" instead',
  );
  expect((await home.run(["config", "set", "plugins.slots.contextEngine", "nobody"])).stderr).toContain(
    'error ENGINE_MISSING: There is no context engine "nobody".',
  );
  await expectSelected();
  await home.latest?.kill();
  expect(await run("doctor", "--only", "context-engine,plugins")).toContain("engine-x 1.2.3 can be opened");
  expect(await run("plugins", "doctor")).toBe("No problems with 1 plugin.\n");
  await home.start();
  await expectSelected();
  await run("plugins", "uninstall", "house", "--force");
  await expectLegacy();
}, 240_000);

test("a run that has begun keeps its engine to its end, although the plugin is removed meanwhile", async ({
  world,
  expect,
}) => {
  const { home, gateway } = await world.start({ channels: { telegram: { enabled: false } } });
  const notes = join(home.dir, "notes");
  const note = (word: string) => `fs.appendFileSync(${JSON.stringify(notes)}, "${word} ")`;
  const plugin = engineNamed({ id: "keeps", tools: `api.lifecycle.onDispose(() => ${note("end")});` });
  const code = plugin.code
    .replace("await new", 'import fs from "node:fs";\nawait new')
    .replace("async compact()", `async afterTurn() { ${note("afterTurn")}; },\n    async compact()`);
  const root = writePlugin(join(home.dir, "mine"), { ...plugin, code });
  expect(await home.run(["plugins", "install", root, "--yes"])).toMatchObject({ code: 0 });
  // What was noted of the trial does not matter.
  writeFileSync(notes, "");
  const { promise, resolve } = Promise.withResolvers<void>();
  world.model.answer(() => ({ text: "the answer", until: promise }));
  const answer = ask(home, "hello");
  await world.model.called(1);
  expect(await home.run(["plugins", "uninstall", "keeps", "--force"])).toMatchObject({ code: 0 });
  // The gateway has followed: it does not want the plugin any more.
  expect(JSON.stringify(await call(gateway, "plugins.loaded"))).not.toContain("loaded");
  expect(readFileSync(notes, "utf8")).toBe("");
  resolve();
  expect(await answer).toBe("the answer");
  await gateway.logged("plugin unloaded");
  expect(readFileSync(notes, "utf8")).toBe("afterTurn end ");
});
