import { execFile } from "node:child_process";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe } from "vitest";
import type { Home } from "../../kit/gateway/process.ts";
import { ask } from "../../kit/gateway/rpc.ts";
import { examplePlatform } from "../../contracts/example/platform.ts";
import { until } from "../../kit/until.ts";
import { test, type World } from "../../kit/gateway/world.ts";

const run = promisify(execFile);
const packageRoot = join(import.meta.dirname, "../../..");
const NO_CHANNELS = { channels: { telegram: { enabled: false } } };

/** A home with a new plugin of this kind, as `openclaw plugins init` writes it. */
async function newPlugin(world: World, kind: string): Promise<{ home: Home; id: string; root: string }> {
  const home = await world.home(world.config(NO_CHANNELS));
  const id = `my-${kind}`;
  const root = join(home.dir, id);
  const { code, stderr } = await home.run(["plugins", "init", kind, root]);
  if (code !== 0) throw new Error(stderr);
  return { home, id, root };
}

/** Runs the command of the plugin's README that puts the gateway beside it. */
async function linkGateway(root: string): Promise<void> {
  const [command = ""] = /^npm install --no-save .*$/m.exec(await readFile(join(root, "README.md"), "utf8")) ?? [];
  await run("/bin/sh", ["-c", command], { cwd: root, env: { ...process.env, npm_config_offline: "true" } });
}

/** Packs the plugin, unpacks the archive elsewhere, and starts the gateway with that folder. */
async function startPacked(world: World, kind: string, config: object) {
  const { home, root } = await newPlugin(world, kind);
  const { stdout } = await run("npm", ["pack", "--silent", "--pack-destination", home.dir], { cwd: root });
  const unpacked = join(home.dir, "unpacked");
  await mkdir(unpacked);
  await run("tar", ["-xzf", join(home.dir, stdout.trim()), "-C", unpacked]);
  const plugins = { load: { paths: [join(unpacked, "package")] }, ...config };
  await home.writeConfig(world.config({ ...NO_CHANNELS, plugins }));
  return { home, gateway: await home.start() };
}

describe.concurrent("a plugin of `openclaw plugins init`", () => {
  test.for(["context-engine", "tool", "hook", "channel"])(
    "of the kind %s is the one that its page shows, and passes its tests",
    async (kind, { world, expect }) => {
      const { root } = await newPlugin(world, kind);
      const page = await readFile(join(packageRoot, "docs/plugins", `${kind}.md`), "utf8");
      for (const file of ["index.js", "test/contract.test.js"])
        expect(page).toContain(`\`\`\`js\n// ${file}\n${await readFile(join(root, file), "utf8")}\`\`\``);
      expect(page).toContain(`\`\`\`json\n${await readFile(join(root, "openclaw.plugin.json"), "utf8")}\`\`\``);
      await mkdir(join(root, "node_modules"));
      await symlink(join(packageRoot, "node_modules/vitest"), join(root, "node_modules/vitest"));
      await linkGateway(root);
      const vitest = join(root, "node_modules/vitest/vitest.mjs");
      // Its own limit, 5 s, is for a machine that does nothing else.
      const { stdout } = await run(process.execPath, [vitest, "run", "--testTimeout=90000"], {
        cwd: root,
        env: { ...process.env, VITEST: "" },
      });
      expect(stdout).toMatch(/Tests .*passed/);
    },
  );

  test("decides as a context engine what the model sees", async ({ world, expect }) => {
    const { home } = await startPacked(world, "context-engine", {
      slots: { contextEngine: "my-context-engine" },
      entries: { "my-context-engine": { config: { turns: 2 } } },
    });
    for (const text of ["first words", "second words", "third words"]) await ask(home, text);
    const { system, messages } = world.model.calls.at(-1)!;
    expect(JSON.stringify(messages)).toContain("second words");
    expect(JSON.stringify(messages)).not.toContain("first words");
    expect(system).toContain("2 earlier messages are not shown.");
  });

  test("gives the model its tool", async ({ world, expect }) => {
    const { home } = await startPacked(world, "tool", {});
    world.model.answer((call) =>
      call.isAfterTool ? { text: `it has ${call.toolText}` } : { tool: "my_tool", args: { text: "one two three" } },
    );
    expect(await ask(home, "how long is it?")).toContain("it has 3 words");
  });

  test("carries messages and answers as a channel, after its installation from an archive", async ({
    world,
    expect,
  }) => {
    const { home, root } = await newPlugin(world, "channel");
    const { stdout } = await run("npm", ["pack", "--silent", "--pack-destination", home.dir], { cwd: root });
    expect((await home.run(["plugins", "install", join(home.dir, stdout.trim()), "--yes"])).code).toBe(0);
    const service = await examplePlatform();
    try {
      const section = { ...service.config, dmPolicy: "open", allowFrom: ["*"] };
      expect((await home.run(["config", "set", "channels.my-channel", JSON.stringify(section)])).code).toBe(0);
      const gateway = await home.start();
      await gateway.logged((line) => line["msg"] === "channel connected" && line["channel"] === "my-channel");
      service.say(service.direct, "hello channel");
      await until(() => service.shown(service.direct).length === 1);
      expect(service.shown(service.direct)).toEqual([expect.stringContaining("hello channel")]);
      await until(() => service.unacknowledged?.() === 0);
    } finally {
      await service.close();
    }
  });

  test("adds to the prompt with its hook, and logs the run", async ({ world, expect }) => {
    const { home, gateway } = await startPacked(world, "hook", {
      entries: { "my-hook": { hooks: { allowConversationAccess: true } } },
    });
    await ask(home, "hello");
    expect(world.model.calls[0]!.system).toContain("Answer in one sentence.");
    await gateway.logged((line) => /^the run of main ended after \d+ ms$/.test(String(line["msg"])));
  });
});
