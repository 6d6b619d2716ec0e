import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";
import { writePlugin, type PluginFiles } from "../../kit/gateway/plugins.ts";
import { test } from "../../kit/gateway/world.ts";

const GOOD: PluginFiles = {
  id: "good",
  code: `export default (api) => api.registerCommand({ name: "mode", description: "Says the mode.", handler: () => ({ text: "mode " + api.registrationMode }) });`,
};

/** Plugins that stop whoever runs them, and why each is left out. */
const HOSTILE: readonly (PluginFiles & { readonly why: string; readonly errorCode: string })[] = [
  {
    id: "loops",
    code: "export default () => { for (;;); };",
    errorCode: "PLUGIN_HANGS",
    why: "its code does not end: it kept a process busy for 10 s",
  },
  {
    id: "loops-at-import",
    code: "for (;;); export default () => {};",
    errorCode: "PLUGIN_HANGS",
    why: "its code does not end: it kept a process busy for 10 s",
  },
  {
    id: "loops-in-timer",
    code: "export default () => { setTimeout(() => { for (;;); }, 0); };",
    errorCode: "PLUGIN_HANGS",
    why: "its code does not end: it kept a process busy for 10 s",
  },
  {
    id: "exits",
    code: "export default () => process.exit(7);",
    errorCode: "PLUGIN_CRASHES",
    why: "its code ended the process in which it was tried: exit code 7",
  },
  {
    id: "aborts",
    code: "export default () => process.abort();",
    errorCode: "PLUGIN_CRASHES",
    why: "its code ended the process in which it was tried: SIGABRT",
  },
];

const NO_CHANNELS = { channels: { telegram: { enabled: false } } };
const entriesOf = (plugins: readonly PluginFiles[]) =>
  Object.fromEntries(plugins.map(({ id }) => [id, { enabled: true }]));

describe.concurrent("a plugin whose code would stop the gateway", () => {
  test("is left out of its start and named everywhere, and later starts pay nothing", async ({ world, expect }) => {
    const plugins = { entries: entriesOf([...HOSTILE, GOOD]) };
    const home = await world.home(world.config({ ...NO_CHANNELS, plugins }));
    for (const plugin of [...HOSTILE, GOOD]) writePlugin(join(home.stateDir, "extensions"), plugin);
    const gateway = await home.start();
    for (const { id, why, errorCode } of HOSTILE) {
      const told = gateway.lines.filter(({ plugin }) => plugin === id);
      expect(told.map((line) => [line["msg"], line["code"], line["why"]])).toEqual([
        ["plugin is left out", errorCode, why],
      ]);
      expect(told[0]!["fix"]).toContain(`openclaw plugins enable ${id}`);
    }
    expect((await home.run(["agent", "--message", "/mode"])).stdout).toContain("mode full");
    expect((await home.run(["agent", "--message", "hello"])).stdout).toContain("echo: hello");
    expect((await home.run(["plugins", "list"])).stdout).toMatch(
      /loops +1\.2\.3 +global +broken +its code does not end/,
    );
    expect((await home.run(["plugins", "inspect", "loops"])).stdout).toMatch(/fix +Run: openclaw plugins update loops/);
    expect((await home.run(["plugins", "inspect", "loops", "--runtime"])).stdout).toContain("its code does not end");
    for (const command of [["plugins", "doctor"], ["doctor"]]) {
      const { code, stdout } = await home.run(command);
      expect([code, stdout]).toEqual([
        1,
        expect.stringContaining("It is left out (PLUGIN_HANGS): its code does not end"),
      ]);
    }
    await gateway.kill();
    const trials = join(home.stateDir, "plugins/trials.json");
    const known = readFileSync(trials, "utf8");
    const again = await home.start();
    expect(again.lines.filter(({ msg }) => msg === "plugin is left out")).toHaveLength(HOSTILE.length);
    expect(readFileSync(trials, "utf8")).toBe(known);
  });

  test("is left out of a running gateway that takes it up, which goes on answering meanwhile", async ({
    world,
    expect,
  }) => {
    const home = await world.home(world.config(NO_CHANNELS));
    writePlugin(join(home.stateDir, "extensions"), HOSTILE[0]!);
    const gateway = await home.start();
    expect((await home.run(["plugins", "enable", "loops"])).code).toBe(0);
    expect((await home.run(["agent", "--message", "hello"])).stdout).toContain("echo: hello");
    const told = await gateway.logged("plugin is left out");
    expect([told["plugin"], told["code"]]).toEqual(["loops", "PLUGIN_HANGS"]);
    expect((await home.run(["agent", "--message", "hello again"])).stdout).toContain("echo: hello again");
  });

  test("is named when its code ends the running gateway, left out after the third time, and brought back by hand", async ({
    world,
    expect,
  }) => {
    const plugins = { entries: entriesOf([GOOD, { id: "bursts", code: "" }]) };
    const home = await world.home(world.config({ ...NO_CHANNELS, plugins }));
    writePlugin(join(home.stateDir, "extensions"), GOOD);
    writePlugin(join(home.stateDir, "extensions"), {
      id: "bursts",
      code: `import { connect } from "node:net";
        const WAYS = [
          () => { Promise.reject(new Error("stray promise")); queueMicrotask(() => { throw Object.create(null); }); },
          // Its error has no line of this file in its stack.
          () => connect(1, "127.0.0.1"),
          () => process.exit(0),
        ];
        export default (api) => api.registerCommand({ name: "burst", description: "Ends it.", acceptsArgs: true, handler: ({ args }) => {
          setImmediate(() => WAYS[Number(args)]());
          return { text: "soon" };
        } });`,
    });
    /** The errors of each gateway that name the plugin, and its exit code. */
    const ends = [
      [["plugin failed: stray promise", "uncaught exception: [Object: null prototype] {}"], 1],
      [["uncaught exception: connect ECONNREFUSED 127.0.0.1:1"], 1],
      [["a plugin ended the gateway: process.exit(0) was called"], 1],
    ] as const;
    for (const [way, [errors, code]] of ends.entries()) {
      const gateway = await home.start();
      if (way === 1)
        expect((await home.run(["status"])).stdout).toContain("bursts ended the gateway once in the last 24 h");
      void home.run(["agent", "--message", `/burst ${way}`]);
      expect(await gateway.ended).toBe(code);
      const named = () => gateway.lines.filter(({ level, plugin }) => level === "error" && plugin === "bursts");
      await expect
        .poll(() =>
          named()
            .map(({ msg, error }) => `${String(msg)}: ${String(error)}`)
            .toSorted(),
        )
        .toEqual(errors);
      if (way !== 1) continue;
      const told = /bursts.*ended the gateway 2 times in the last 24 hours, at last at .*: connect ECONNREFUSED/;
      expect((await home.run(["plugins", "doctor"])).stdout.replaceAll(/\s+/g, " ")).toMatch(told);
    }
    const gateway = await home.start();
    expect(await gateway.logged("plugin is left out")).toMatchObject({
      plugin: "bursts",
      code: "PLUGIN_CRASHES",
      why: expect.stringMatching(/^its code ended the gateway 3 times within 10 minutes, at last at .*: process.exit/),
      fix: expect.stringContaining("openclaw plugins enable bursts"),
    });
    expect((await home.run(["agent", "--message", "/mode"])).stdout).toContain("mode full");
    expect((await home.run(["plugins", "enable", "bursts"])).stdout).toContain(
      "The running gateway has loaded bursts.",
    );
    await gateway.kill();
    const again = await home.start();
    expect(again.lines.filter(({ plugin }) => plugin === "bursts").map(({ msg }) => msg)).toEqual(["plugin loaded"]);
    expect((await home.run(["plugins", "inspect", "bursts", "--runtime"])).stdout).toContain("loaded in");
  });

  test("is left out of the next start when only the gateway's own run of it ends the process", async ({
    world,
    expect,
  }) => {
    const home = await world.home(
      world.config({ ...NO_CHANNELS, plugins: { entries: entriesOf([GOOD, { id: "late", code: "" }]) } }),
    );
    const late = (body: string) =>
      writePlugin(join(home.stateDir, "extensions"), { id: "late", code: `export default (api) => { ${body} };` });
    writePlugin(join(home.stateDir, "extensions"), GOOD);
    const root = late(`if (api.registrationMode === "full") process.exit(3);`);
    await expect(home.start()).rejects.toThrow("the gateway ended");
    const gateway = await home.start();
    const told = await gateway.logged("plugin is left out");
    expect(told).toMatchObject({
      plugin: "late",
      code: "PLUGIN_CRASHES",
      why: expect.stringContaining("the gateway ended while"),
    });
    expect((await home.run(["agent", "--message", "/mode"])).stdout).toContain("mode full");
    expect((await home.run(["plugins", "list"])).stdout).toMatch(
      /late +1\.2\.3 +global +broken +the gateway ended while/,
    );
    // Its author has mended it.
    writeFileSync(join(root, "index.js"), "export default () => {};");
    expect((await home.run(["plugins", "enable", "late"])).stdout).toContain("The running gateway has loaded late.");
    expect((await home.run(["plugins", "inspect", "late", "--runtime"])).stdout).toContain("loaded in");
  });
});
