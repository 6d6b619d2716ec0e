import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import JSON5 from "json5";
import { beforeEach, describe, expect, test } from "vitest";
import { packageRoot } from "../../../src/app/package-root.ts";
import { folder, makePlugin, pluginFiles, write } from "../../kit/plugins/sources.ts";
import { ended, outputMatching, run, start } from "../../kit/gateway/cli.ts";
import { fakeGateway, Refusal } from "./fake-gateway.ts";

let dir: string;
let state: string;
let source: string;
let env: Record<string, string>;

beforeEach(() => {
  dir = folder();
  state = join(dir, "state");
  source = makePlugin(join(dir, "source"));
  env = { PATH: process.env["PATH"] ?? "", HOME: dir, OPENCLAW_STATE_DIR: state };
});

const plugins = (...args: string[]) => run(["plugins", ...args], env);
const extensions = (path = "") => join(state, "extensions", path);
const config = () => JSON5.parse(readFileSync(join(state, "openclaw.json"), "utf8"));
const records = () => JSON.parse(readFileSync(join(state, "plugins/installs.json"), "utf8")).installRecords;
const listed = async () => JSON.parse((await plugins("list", "--json")).out).plugins;

function writeConfig(text: string): void {
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, "openclaw.json"), text);
}

describe("install", () => {
  test("a folder is copied, linked with the gateway, recorded, enabled, and selected", async () => {
    writeConfig("{\n  // mine\n  gateway: { port: 4711 },\n}\n");
    const { code, out } = await plugins("install", source, "--force");
    expect([code, out]).toEqual([
      0,
      'Set plugins.entries.toy.enabled to true.\nExclusive slot "contextEngine" switched from "legacy" to "toy".\nInstalled plugin: toy\n',
    ]);
    expect(readFileSync(join(state, "openclaw.json"), "utf8")).toContain("// mine");
    expect(config().plugins).toEqual({ entries: { toy: { enabled: true } }, slots: { contextEngine: "toy" } });
    expect(readFileSync(extensions("toy/node_modules/openclaw/package.json"), "utf8")).toBe(
      readFileSync(join(packageRoot, "package.json"), "utf8"),
    );
    expect(records()["toy"]).toEqual({
      source: "path",
      spec: source,
      version: "1.0.0",
      installedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      files: expect.stringMatching(/^sha256-/),
    });
    expect(statSync(join(state, "plugins/installs.json")).mode & 0o777).toBe(0o600);
    expect(existsSync(join(source, "node_modules"))).toBe(false);
    expect(await listed()).toEqual([
      {
        id: "toy",
        version: "1.0.0",
        origin: "global",
        state: "enabled",
        root: extensions("toy"),
        source: `path: ${source}`,
      },
    ]);
  });

  test("without a terminal it needs a flag, and says which", async () => {
    const { code, out, err } = await plugins("install", source);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(
      /^plugin +toy\nversion +1\.0\.0\nfrom +the folder .*\nlicense +MIT\nsize +\d+ bytes in 3 files\nkind +context-engine\n/,
    );
    expect(err).toContain("repeat the command with --yes.");
    expect(readdirSync(extensions())).toEqual([]);
    expect(existsSync(join(state, "openclaw.json"))).toBe(false);
    for (const flag of ["--accept-capabilities", "--yes"]) {
      expect((await plugins("install", source, flag)).code).toBe(0);
      await plugins("uninstall", "toy", "--force");
    }
  });

  test("a linked folder is named in the config and not copied", async () => {
    const { out } = await plugins("install", "-l", source, "--yes");
    expect(out).toContain(`Added ${source} to plugins.load.paths.\nInstalled plugin: toy\n`);
    expect(config().plugins.load.paths).toEqual([source]);
    expect([readdirSync(dir).toSorted(), readdirSync(source).toSorted()]).toEqual([
      ["source", "state"],
      ["dist", "openclaw.plugin.json", "package.json"],
    ]);
    expect(await listed()).toMatchObject([
      { id: "toy", origin: "config", state: "enabled", source: `link: ${source}` },
    ]);
    await plugins("install", "--link", source, "--force");
    expect(config().plugins.load.paths).toEqual([source]);
    expect((await plugins("install", source, "--force")).err).toContain("Run `openclaw plugins uninstall toy` first.");
    expect((await plugins("update", "toy")).out).toContain("toy is a linked folder");
    await plugins("uninstall", "toy", "--force");
    expect(config().plugins).toEqual({ entries: { toy: { enabled: false } }, slots: {}, load: { paths: [] } });
    expect(existsSync(join(source, "dist/index.js"))).toBe(true);
  });

  test("an archive is unpacked", async () => {
    execFileSync("tar", ["-czf", join(dir, "toy.tgz"), "-C", dir, "source"]);
    const { code, err } = await plugins("install", join(dir, "toy.tgz"), "--yes");
    expect([code, err]).toEqual([0, expect.stringMatching(/integrity +sha512-/)]);
    expect(records()["toy"]).toMatchObject({ source: "archive", integrity: expect.stringMatching(/^sha512-/) });
  });

  test("an archive without its dependencies is reported, with the installation that brings them", async () => {
    makePlugin(source, { package: { dependencies: { helper: "1.0.0" } } });
    const archive = join(dir, "toy.tgz");
    execFileSync("tar", ["-czf", archive, "-C", dir, "source"]);
    await plugins("install", archive, "--yes");
    const { out } = await plugins("doctor");
    expect(out).toContain("lacks dependencies of its package.json: helper");
    expect(out).toContain(`openclaw plugins install npm-pack:${archive} --force`);
  });

  test("a memory plugin gets its slot, and another kind none", async () => {
    makePlugin(join(dir, "mem"), { id: "mem", manifest: { kind: "memory" } });
    makePlugin(join(dir, "tool"), { id: "tool", manifest: { kind: undefined } });
    expect((await plugins("install", join(dir, "mem"), "--yes")).out).toContain(
      'Exclusive slot "memory" switched from "memory-core" to "mem".\n',
    );
    expect((await plugins("install", join(dir, "tool"), "--yes")).out).toBe(
      "Set plugins.entries.tool.enabled to true.\nInstalled plugin: tool\n",
    );
    expect(config().plugins.slots).toEqual({ memory: "mem" });
  });

  test("an installed plugin is replaced only with --force, and a bundled extension never", async () => {
    await plugins("install", source, "--yes");
    const again = await plugins("install", source, "--yes");
    expect([again.code, again.err]).toEqual([2, expect.stringContaining("toy is installed already")]);
    makePlugin(source, { version: "2.0.0" });
    expect((await plugins("install", source, "--force")).code).toBe(0);
    expect(records()["toy"]).toMatchObject({ version: "2.0.0" });
    makePlugin(join(dir, "other"), { id: "telegram" });
    expect((await plugins("install", join(dir, "other"), "--force")).err).toContain(
      "error PLUGIN_INVALID: telegram is",
    );
    expect(readdirSync(extensions())).toEqual(["toy"]);
  });

  test("lists of the config are respected", async () => {
    writeConfig(`{ plugins: { allow: ["other"], deny: ["toy"] } }`);
    const { out, err } = await plugins("install", source, "--yes");
    expect(out).toContain('Added "toy" to plugins.allow.\n');
    expect(err).toContain("plugins.deny names toy, so it is not loaded.");
    expect(config().plugins.allow).toEqual(["other", "toy"]);
    expect(await listed()).toMatchObject([{ state: "disabled", reason: "plugins.deny names it" }]);
  });

  test("flags of other versions are accepted, or refused by name", async () => {
    const unsafe = "--dangerously-force-unsafe-install";
    const flags = [unsafe, "--acknowledge-install-policy-warning"];
    const { code, err } = await plugins("install", source, "--yes", "--pin", ...flags);
    expect([code, err]).toEqual([0, expect.stringContaining(`${unsafe} has no effect here`)]);
    const market = await plugins("install", "toy", "--marketplace", "x");
    expect([market.code, market.err]).toEqual([2, expect.stringContaining("uses no plugin marketplace")]);
  });

  test("a script gets one object", async () => {
    const { code, out } = await plugins("install", source, "--yes", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      id: "toy",
      version: "1.0.0",
      record: { source: "path", spec: source },
      changes: [
        "Set plugins.entries.toy.enabled to true.",
        'Exclusive slot "contextEngine" switched from "legacy" to "toy".',
      ],
      needsRestart: false,
    });
  });

  test("a config with a problem is reported before anything is fetched", async () => {
    writeConfig("{ gateway: { prt: 1 } }");
    expect((await plugins("install", source, "--yes")).code).toBe(78);
    expect(existsSync(extensions())).toBe(false);
  });
});

describe("enable and disable", () => {
  test("change the entry and the slot, and say so", async () => {
    await plugins("install", source, "--yes");
    const off = await plugins("disable", "toy");
    expect([off.code, off.out]).toEqual([
      0,
      'Set plugins.entries.toy.enabled to false.\nExclusive slot "contextEngine" switched from "toy" to "legacy".\nDisabled plugin: toy\n',
    ]);
    expect(config().plugins).toEqual({ entries: { toy: { enabled: false } }, slots: {} });
    expect(await listed()).toMatchObject([{ state: "disabled", reason: "plugins.entries.toy.enabled is false" }]);
    expect(JSON.parse((await plugins("enable", "toy", "--json")).out)).toMatchObject({ id: "toy", enabled: true });
    expect(config().plugins).toEqual({ entries: { toy: { enabled: true } }, slots: { contextEngine: "toy" } });
  });

  test("a plugin that nobody knows, and one that cannot run, are reported", async () => {
    await plugins("install", source, "--yes");
    const near = await plugins("enable", "tay");
    expect([near.code, near.err]).toEqual([1, expect.stringContaining("Did you mean toy?")]);
    expect((await plugins("disable", "nobody")).err).toContain("error NOT_FOUND: There is no plugin nobody.");
    writeFileSync(extensions("toy/openclaw.plugin.json"), "{");
    expect((await plugins("enable", "toy")).err).toContain("error PLUGIN_INVALID: toy cannot be used");
    expect((await plugins("disable", "toy")).code).toBe(0);
  });
});

describe("uninstall", () => {
  test("removes folder, record and settings, resets the slot, and leaves a disabled entry", async () => {
    await plugins("install", source, "--yes");
    const dry = await plugins("uninstall", "toy", "--dry-run");
    expect(dry.out).toContain('Not done: Set plugins.entries.toy to {"enabled": false}.\n');
    expect(dry.out).toContain(`Would remove ${extensions("toy")}\nWould uninstall plugin: toy\n`);
    expect(existsSync(extensions("toy"))).toBe(true);
    const asked = await plugins("uninstall", "toy");
    expect([asked.code, asked.err]).toEqual([2, expect.stringContaining("Add --yes.")]);
    const { code, out } = await plugins("uninstall", "toy", "--force");
    expect([code, out]).toEqual([
      0,
      `Set plugins.entries.toy to {"enabled": false}.\nExclusive slot "contextEngine" switched from "toy" to "legacy".\nRemoved ${extensions("toy")}\nUninstalled plugin: toy\n`,
    ]);
    expect([readdirSync(extensions()), records()]).toEqual([[], {}]);
    expect(config().plugins).toEqual({ entries: { toy: { enabled: false } }, slots: {} });
    expect((await plugins("list")).out).toBe("No plugins. Install one: openclaw plugins install <source>\n");
    expect((await plugins("uninstall", "nobody", "--force")).code).toBe(1);
    expect((await plugins("uninstall", "../source", "--force")).code).toBe(1);
    expect(existsSync(source)).toBe(true);
  });

  test("says that the running gateway did not tell the context engines, and removes the plugin", async () => {
    makePlugin(extensions("toy"));
    writeConfig('{ plugins: { entries: { toy: { enabled: true } }, slots: { contextEngine: "notebook" } } }');
    const gateway = await fakeGateway({
      "plugins.loaded": () => {
        throw new Refusal("UNAVAILABLE", "the journal is closed");
      },
    });
    const { code, err } = await run(["plugins", "uninstall", "toy", "--force"], { ...env, ...gateway.env });
    expect(code).toBe(0);
    expect(err).toContain(
      "The running gateway did not say which context engines toy has: plugins.loaded: the journal is closed.",
    );
    expect(err).toContain("run: openclaw config unset plugins.slots.contextEngine\n");
    expect(existsSync(extensions("toy"))).toBe(false);
  });

  test("--keep-files and --keep-config keep each their part", async () => {
    await plugins("install", source, "--yes");
    await plugins("uninstall", "toy", "--force", "--keep-config");
    expect([existsSync(extensions("toy")), config().plugins.slots]).toEqual([false, { contextEngine: "toy" }]);
    await plugins("install", source, "--yes");
    await plugins("uninstall", "toy", "--force", "--keep-files");
    expect([existsSync(extensions("toy")), records()]).toEqual([true, {}]);
  });

  test("the only allowed plugin stays named, since an empty list would allow all", async () => {
    writeConfig(`{ plugins: { allow: ["toy"] } }`);
    await plugins("install", source, "--yes");
    await plugins("uninstall", "toy", "--force");
    expect(config().plugins.allow).toEqual(["toy"]);
  });

  test("a broken config does not keep a plugin installed", async () => {
    await plugins("install", source, "--yes");
    writeConfig(`{ gateway: { prt: 1 }, plugins: { entries: { toy: { enabled: true } } } }`);
    expect((await plugins("uninstall", "toy", "--force")).code).toBe(0);
    expect(existsSync(extensions("toy"))).toBe(false);
  });
});

describe("list and inspect", () => {
  test("show versions, origins and reasons", async () => {
    await plugins("install", source, "--yes");
    makePlugin(extensions("by-hand"), { id: "by-hand", manifest: { name: "Tool\u001b[2J" } });
    write(extensions("wrong"), { "openclaw.plugin.json": "{}" });
    makePlugin(join(state, "workspace/.openclaw/extensions/local"), { id: "local" });
    const { code, out } = await plugins("list");
    expect(code).toBe(0);
    expect(out.split("\n").map((line) => line.replaceAll(/ {2,}/g, " | "))).toEqual([
      "ID | VERSION | ORIGIN | STATE | REASON",
      "by-hand | 1.0.0 | global | disabled | it is not enabled; run: openclaw plugins enable by-hand",
      "local | 1.0.0 | workspace | disabled | it is not enabled; run: openclaw plugins enable local",
      "toy | 1.0.0 | global | enabled",
      expect.stringMatching(/^wrong \| - \| global \| broken \| its openclaw\.plugin\.json is wrong: id/),
      "",
    ]);
    expect((await plugins("list", "--enabled")).out).not.toContain("by-hand");
    expect((await plugins("list", "--verbose")).out).toContain(`path: ${source}`);
  });

  test("show the plugins in the workspaces of all agents, in either form of the list", async () => {
    writeConfig(`{ agents: { list: [{ id: "one", workspace: "w1" }], entries: { two: { workspace: "w2" } } } }`);
    makePlugin(join(state, "w1/.openclaw/extensions/first"), { id: "first" });
    makePlugin(join(state, "w2/.openclaw/extensions/second"), { id: "second" });
    expect((await plugins("list")).out).toMatch(/^first .*workspace[^]*^second .*workspace/m);
  });

  test("inspect shows manifest, record and what the config grants", async () => {
    await plugins("install", source, "--yes");
    await run(["config", "set", "plugins.entries.toy.hooks.allowConversationAccess", "true"], env);
    const text = (await plugins("info", "toy")).out;
    for (const line of [
      /^version +1\.0\.0$/m,
      /^kinds +context-engine$/m,
      /^granted +conversationAccess, promptInjection$/m,
    ])
      expect(text).toMatch(line);
    expect(JSON.parse((await plugins("inspect", "toy", "--json")).out)).toMatchObject({
      id: "toy",
      state: "enabled",
      entry: "dist/index.js",
      contributes: { kinds: ["context-engine"] },
      grants: { conversationAccess: true, modelOverride: false },
      record: { source: "path" },
    });
    expect(JSON.parse((await plugins("inspect", "--all", "--json")).out).plugins).toHaveLength(1);
    expect((await plugins("inspect")).code).toBe(2);
    expect((await plugins("inspect", "nobody")).code).toBe(1);
  });

  test("records of older versions in the config count", async () => {
    const old = { source: "npm", spec: "toy@latest", version: "0.9.0" };
    writeConfig(JSON.stringify({ plugins: { installs: { toy: old }, entries: { toy: { enabled: true } } } }));
    makePlugin(extensions("toy"));
    expect(await listed()).toMatchObject([{ id: "toy", source: "npm: toy@latest" }]);
    expect((await plugins("doctor")).out).toContain("warn: toy: Its record has no integrity hash.");
    await plugins("uninstall", "toy", "--force");
    expect(config().plugins).toEqual({ installs: {}, entries: { toy: { enabled: false } } });
  });
});

describe("doctor", () => {
  test("finds nothing wrong with a fresh installation", async () => {
    await plugins("install", source, "--yes");
    const { code, out } = await plugins("doctor");
    expect([code, out]).toEqual([0, "No problems with 1 plugin.\n"]);
  });

  test("reports what is broken, missing or changed, each with a fix", async () => {
    await plugins("install", source, "--yes");
    makePlugin(join(dir, "gone"), { id: "gone", manifest: { kind: undefined } });
    await plugins("install", join(dir, "gone"), "--yes");
    rmSync(extensions("gone"), { recursive: true });
    makePlugin(extensions("by-hand"), { id: "by-hand", package: { dependencies: { helper: "1", zod: "1" } } });
    write(extensions("by-hand/node_modules/zod"), { "package.json": "{}" });
    write(extensions("wrong"), { "openclaw.plugin.json": "{}" });
    makePlugin(extensions("late"), {
      id: "late",
      package: { openclaw: { extensions: ["./dist/index.js"], compat: { pluginApi: ">=2099.1.1" } } },
    });
    await run(["config", "set", "plugins.entries.late.enabled", "true"], env);
    await run(["config", "set", "plugins.entries.never.enabled", "true"], env);
    // It comes with the gateway; the others come with OpenClaw.
    for (const id of ["llm-task", "anthropic", "phone-control"])
      await run(["config", "set", `plugins.entries.${id}.enabled`, "true"], env);
    write(extensions("toy"), { "dist/index.js": "changed" });
    rmSync(extensions("toy/node_modules"), { recursive: true });
    const { code, out } = await plugins("doctor", "--json");
    expect(code).toBe(1);
    const { problems } = JSON.parse(out);
    expect(
      problems.map(({ severity, id, message }: Record<string, string>) => `${severity} ${id}: ${message}`),
    ).toEqual([
      expect.stringContaining("warn by-hand: Its folder lacks dependencies of its package.json: helper."),
      "warn by-hand: Its folder has no install record: somebody put it there by hand.",
      "fail gone: It has an install record, and its folder is missing.",
      "fail late: It is refused: it needs plugin API 2099.1.1 or later, and this gateway has 2026.7.1.",
      "warn late: Its folder has no install record: somebody put it there by hand.",
      "fail never: The config enables it, and it is not installed.",
      "warn phone-control: It comes with OpenClaw and has no counterpart here; its entry has no effect.",
      "warn toy: Its files were changed after the installation.",
      expect.stringMatching(/^fail toy: It is not loaded: its code cannot be loaded/),
      expect.stringMatching(/^warn wrong: .* cannot be used: its openclaw\.plugin\.json is wrong/),
    ]);
    expect(problems.every(({ fix }: { fix: string }) => fix !== "")).toBe(true);
  });

  test("loads the plugins, and names each thing once that they miss here", async () => {
    const code = `export default (api) => {
      for (const n of [1, 2]) try { api.registerAgentHarness({}); } catch {}
      api.on("no_such_hook", () => {});
      api.on("before_prompt_build", () => {});
    };`;
    makePlugin(join(dir, "asks"), { id: "asks", manifest: { kind: undefined }, files: { "dist/index.js": code } });
    await plugins("install", join(dir, "asks"), "--yes");
    const { code: exit, out } = await plugins("doctor");
    expect([exit, out.split("\n").filter((line) => line.startsWith("warn"))]).toEqual([
      0,
      [
        "warn: asks: It called parts of the plugin API that this gateway does not have: api.registerAgentHarness.",
        "warn: asks: It registers hooks or functions that this gateway never calls: no_such_hook.",
        "warn: asks: Hooks of it that would read conversations are not called: before_prompt_build.",
      ],
    ]);
    expect((await run(["doctor", "--only", "plugins"], env)).out).toContain(
      "warn  Plugins  asks: It called parts of the plugin API that this gateway does not have: api.registerAgentHarness.",
    );
  });

  /** A config that somebody wrote: the linked plugin is in the slot, whatever its code does. */
  const selected = (code: string) => {
    makePlugin(source, { files: { "dist/index.js": code } });
    const paths = JSON.stringify([source]);
    writeConfig(`{ plugins: { load: { paths: ${paths} }, slots: { contextEngine: "toy" } } }`);
  };

  const engine = async (info: string) => {
    selected(`export default (api) => api.registerContextEngine("toy", ({ workspaceDir }) => {
        if (process.env.OPENCLAW_STATE_DIR !== ${JSON.stringify(state)} || !workspaceDir) throw new Error("no place");
        return { info: ${info}, ingest() {}, assemble() {}, compact() {} };
      });`);
    return (await run(["doctor", "--only", "context-engine"], env)).out;
  };

  test("`openclaw doctor` opens the selected engine, and says what its plugin is", async () => {
    expect((await run(["doctor", "--only", "context-engine"], env)).out).toContain(
      "ok    Context engine  legacy: the built-in engine is active.",
    );
    expect(await engine(`{ id: "toy", name: "Toy" }`)).toContain(
      `ok    Context engine  toy 1.0.0 can be opened, of the plugin toy in ${source}.`,
    );
    const doctor = async () => (await run(["doctor", "--only", "context-engine"], env)).out;
    expect(await doctor()).toContain("The engine does not say where its store is.");
    write(join(state, "plugins", "toy"), { "db/store.sqlite": "x".repeat(2048) });
    expect(await doctor()).toContain(`Its store: ${join(state, "plugins", "toy")}, 2.0 kB.`);
    expect(process.env["OPENCLAW_STATE_DIR"]).toBeUndefined();
  });

  test("`openclaw doctor` says why the selected engine cannot be used", async () => {
    expect(await engine(`{ id: "other", name: "Toy" }`)).toContain(
      `FAIL  Context engine  The context engine "toy" cannot be used: its info.id is "other"`,
    );
  });

  test("`openclaw doctor` names a plugin that does not load in both of its lines", async () => {
    selected("export default () => { throw new Error('no licence'); };");
    const { code, out } = await run(["doctor", "--only", "context-engine,plugins"], env);
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/"toy" is not there: its plugin toy is not loaded: its register failed: no licence/),
    ]);
    expect(out).toContain("FAIL  Plugins         toy: It is not loaded: its register failed: no licence.");
  });

  test("repairs what an interrupted installation left", async () => {
    await plugins("install", source, "--yes");
    mkdirSync(extensions(".draft-x/plugin"), { recursive: true });
    const record = { id: "toy", records: { toy: { source: "path", version: "2.0.0" } } };
    writeFileSync(extensions(".draft-x/record.json"), JSON.stringify(record));
    renameSync(extensions("toy"), extensions(".draft-x/old"));
    const { code, out } = await plugins("doctor");
    expect([code, out]).toEqual([
      0,
      "repaired: The installation of toy was interrupted; the version before it is back in place.\nNo problems with 1 plugin.\n",
    ]);
    expect(readdirSync(extensions())).toEqual(["toy"]);
  });
});

test("the gateway repairs an interrupted installation when it starts", async () => {
  await plugins("install", source, "--yes");
  await plugins("disable", "toy");
  mkdirSync(extensions(".draft-x/plugin"), { recursive: true });
  const record = { id: "toy", records: { toy: { source: "path", version: "2.0.0" } } };
  writeFileSync(extensions(".draft-x/record.json"), JSON.stringify(record));
  renameSync(extensions("toy"), extensions(".draft-x/old"));
  const gateway = start(["gateway", "run", "--port", "0"], env);
  try {
    await outputMatching(gateway, /The installation of toy was interrupted; the version before it is back in place/);
  } finally {
    gateway.kill("SIGTERM");
    await ended(gateway);
  }
  expect(readdirSync(extensions())).toEqual(["toy"]);
});

test("`channels login` for a channel of a plugin says that it needs the running gateway", async () => {
  makePlugin(source, { manifest: { kind: undefined, channels: ["post"] } });
  await plugins("install", source, "--yes");
  const { code, err } = await run(["channels", "login", "--channel", "post"], env);
  expect([code, err]).toEqual([
    75,
    expect.stringContaining("post is a channel of the plugin toy, and only a running gateway can link its accounts."),
  ]);
});

test("updates of a folder take what has changed there", async () => {
  await plugins("install", source, "--yes");
  expect((await plugins("update", "toy", "--yes")).out).toBe("toy is up to date (1.0.0)\n");
  write(source, pluginFiles({ version: "1.0.1" }));
  expect((await plugins("update", "toy", "--yes")).out).toBe("Updated plugin: toy (1.0.0 -> 1.0.1)\n");
  expect((await plugins("update")).code).toBe(2);
  expect((await plugins("update", "nobody")).code).toBe(1);
});
