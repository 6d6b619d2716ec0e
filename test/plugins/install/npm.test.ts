import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Registry, type Published } from "../../fakes/npm-registry.ts";
import { run } from "../../kit/gateway/cli.ts";
import { archiveOf, asEntries, folder, packageOf, pluginFiles, type PluginShape } from "../../kit/plugins/sources.ts";

let dir: string;
let state: string;
let registry: Registry;
let env: Record<string, string>;

beforeEach(async () => {
  dir = folder();
  state = join(dir, "state");
  registry = new Registry(join(dir, "registry"));
  await registry.start();
  env = {
    PATH: process.env["PATH"] ?? "",
    HOME: dir,
    OPENCLAW_STATE_DIR: state,
    npm_config_registry: registry.url,
    npm_config_cache: join(dir, "cache"),
    npm_config_fetch_retries: "0",
    // What a user may have set for everything else.
    npm_config_ignore_scripts: "false",
  };
});

afterEach(() => registry.stop());

const SCRIPTS = { preinstall: "touch ran", install: "touch ran", postinstall: "touch ran", prepare: "touch ran" };

const HELPER = { name: "helper", version: "1.0.0", main: "index.js", scripts: SCRIPTS };
const publishHelper = (): Promise<Published> => registry.publish(HELPER, { "index.js": "" });

async function publish(shape: PluginShape = {}): Promise<Published> {
  const { "package.json": _own, ...files } = pluginFiles(shape);
  const manifest = { ...packageOf(shape), scripts: SCRIPTS, dependencies: { helper: "^1.0.0" }, ...shape.package };
  return registry.publish(manifest, { ...files, ...shape.files });
}

const plugins = (...args: string[]) => run(["plugins", ...args], env);
const plugin = (path = "") => join(state, "extensions/toy", path);
const records = () => JSON.parse(readFileSync(join(state, "plugins/installs.json"), "utf8")).installRecords;
const ranScripts = () =>
  readdirSync(join(state, "extensions"), { recursive: true, encoding: "utf8" }).filter((name) =>
    /(?:^|\/)ran$/.test(name),
  );

test("a package is installed with its dependencies, its hash and a lock, and no script runs", async () => {
  await publishHelper();
  const { integrity } = await publish();
  const { code, out, err } = await plugins("install", "toy", "--accept-capabilities");
  expect([code, out]).toEqual([
    0,
    'Exclusive slot "contextEngine" switched from "legacy" to "toy".\nInstalled plugin: toy\n',
  ]);
  expect(err).toContain("Fetching toy with npm.");
  expect(err).toMatch(/publisher +ann/);
  expect(err).toContain(integrity);
  expect(err).toMatch(/install scripts +preinstall, install, postinstall, prepare, helper@1\.0\.0/);
  expect(err).toContain("The install scripts of helper@1.0.0 did not run.");
  expect(records()["toy"]).toMatchObject({ source: "npm", spec: "toy", version: "1.0.0", integrity });
  expect(existsSync(plugin("node_modules/helper/index.js"))).toBe(true);
  const lock = JSON.parse(readFileSync(plugin("package-lock.json"), "utf8"));
  expect(lock.packages["node_modules/helper"]).toMatchObject({ version: "1.0.0", integrity: expect.any(String) });
  expect(ranScripts()).toEqual([]);
  expect(readdirSync(join(state, "extensions"))).toEqual(["toy"]);
  expect((await plugins("doctor")).out).toBe("No problems with 1 plugin.\n");
});

test("scripts run when the operator asks for it", async () => {
  await publishHelper();
  await publish();
  expect(await plugins("install", "toy", "--yes", "--allow-scripts")).toMatchObject({ code: 0 });
  expect(ranScripts()).toContain("toy/node_modules/helper/ran");
  expect(ranScripts()).toContain("toy/ran");
  expect((await plugins("doctor")).out).toBe("No problems with 1 plugin.\n");
});

test("the gateway itself is never fetched, whatever asks for it, and a scoped package keeps its id", async () => {
  await publishHelper();
  const peers = { peerDependencies: { openclaw: ">=2026.5.28", helper: "1" } };
  const own = { name: "@ann/toy", dependencies: { openclaw: "*" }, devDependencies: { missing: "1" }, ...peers };
  await publish({ package: own });
  const { code, err } = await plugins("install", "npm:@ann/toy@1.0.0", "--force");
  expect([code, err]).toEqual([0, expect.stringContaining("@ann/toy@1.0.0")]);
  expect(registry.requests).not.toContain("openclaw");
  expect(registry.requests).not.toContain("missing");
  expect(readdirSync(plugin("node_modules")).toSorted()).toEqual(["helper", "openclaw"]);
});

test("a packed archive is installed with its dependencies", async () => {
  await publishHelper();
  const tgz = join(dir, "toy.tgz");
  writeFileSync(tgz, archiveOf(asEntries(pluginFiles({ package: { dependencies: { helper: "1.0.0" } } }))));
  expect((await plugins("install", `npm-pack:${tgz}`, "--yes")).code).toBe(0);
  expect(existsSync(plugin("node_modules/helper/index.js"))).toBe(true);
  expect(records()["toy"]).toMatchObject({ source: "archive", spec: `npm-pack:${tgz}` });
});

test("settings of the plugin's author do not reach npm", async () => {
  await publishHelper();
  await publish({ files: { ".npmrc": "registry=http://127.0.0.1:1/\nignore-scripts=false\n" } });
  expect((await plugins("install", "toy", "--yes")).code).toBe(0);
  expect(ranScripts()).toEqual([]);
});

test("a dependency that is no package of a registry is refused", async () => {
  for (const range of ["file:../../..", "git+https://example.com/x.git", "ann/x", "http://127.0.0.1/x.tgz", "../x"]) {
    const tgz = join(dir, "toy.tgz");
    writeFileSync(tgz, archiveOf(asEntries(pluginFiles({ package: { dependencies: { helper: range } } }))));
    const { code, err } = await plugins("install", `npm-pack:${tgz}`, "--yes");
    expect([code, err], range).toEqual([1, expect.stringContaining("error PLUGIN_UNSAFE: Its dependency helper")]);
  }
  expect(readdirSync(join(state, "extensions"))).toEqual([]);
});

test("an update takes the new version, and is current afterwards", async () => {
  await publishHelper();
  await publish();
  await plugins("install", "toy", "--yes");
  expect((await plugins("update", "toy", "--yes")).out).toBe("toy is up to date (1.0.0)\n");
  const { integrity } = await publish({ version: "1.1.0", manifest: { contracts: { tools: ["look"] } } });
  expect((await plugins("update", "--all", "--dry-run")).out).toBe("toy can be updated (1.0.0 -> 1.1.0)\n");
  const { code, out, err } = await plugins("update", "toy", "--yes");
  expect([code, out]).toEqual([0, "Updated plugin: toy (1.0.0 -> 1.1.0)\n"]);
  expect(err).toMatch(/version +1\.1\.0, in place of 1\.0\.0/);
  expect(err).toContain("New in this version: tools: look\n");
  expect(records()["toy"]).toMatchObject({ spec: "toy", version: "1.1.0", integrity });
  expect(readFileSync(plugin("dist/index.js"), "utf8")).toContain("1.1.0");
  expect(readdirSync(join(state, "extensions"))).toEqual(["toy"]);
});

test("--pin keeps the version", async () => {
  await publishHelper();
  await publish();
  await plugins("install", "toy", "--yes", "--pin");
  expect(records()["toy"]).toMatchObject({ spec: "toy@1.0.0" });
  await publish({ version: "1.1.0" });
  expect((await plugins("update", "toy", "--yes")).out).toBe("toy is up to date (1.0.0)\n");
});

test("an update that fails, is unsafe, or is refused by nobody's consent leaves the old version", async () => {
  await publishHelper();
  await publish();
  await plugins("install", "toy", "--yes");
  const before = JSON.stringify(records());
  const own = { ...packageOf({ version: "1.1.0" }), name: "toy" };
  const hostile = [...asEntries(pluginFiles({ version: "1.1.0" })), { path: "../loot", text: "x" }];
  const attempts: readonly (readonly [() => unknown, string, string[]])[] = [
    [() => publish({ version: "1.1.0", package: { dependencies: { missing: "1" } } }), "PLUGIN_FETCH", ["--yes"]],
    [() => registry.publishArchive(own, archiveOf(hostile)), "PLUGIN_UNSAFE", ["--yes"]],
    [() => publish({ version: "1.1.0", manifest: { id: "other" } }), "PLUGIN_UNSAFE", ["--yes"]],
    [() => publish({ version: "1.1.0", manifest: { configSchema: 7 } }), "PLUGIN_INVALID", ["--yes"]],
    [() => publish({ version: "1.1.0" }), "USAGE", []],
  ];
  for (const [prepare, code, flags] of attempts) {
    await prepare();
    expect((await plugins("update", "toy", ...flags)).err).toContain(`error ${code}:`);
    expect(readFileSync(plugin("dist/index.js"), "utf8")).toContain("1.0.0");
    expect(JSON.stringify(records())).toBe(before);
    expect(readdirSync(join(state, "extensions"))).toEqual(["toy"]);
  }
});

test("other content under the installed version is refused", async () => {
  await publishHelper();
  await publish();
  await plugins("install", "toy", "--yes", "--pin");
  await publish({ files: { "dist/index.js": "export default {};" } });
  const { code, err } = await plugins("update", "toy", "--yes");
  expect([code, err]).toEqual([1, expect.stringContaining("error PLUGIN_UNSAFE: The registry has other content")]);
});

test("one plugin's failed update does not stop those of the others", async () => {
  await publishHelper();
  await publish();
  await publish({ id: "two", package: { name: "two" } });
  await plugins("install", "toy", "--yes");
  await plugins("install", "two", "--yes");
  await publish({ version: "2.0.0", package: { dependencies: { missing: "1" } } });
  await publish({ id: "two", version: "2.0.0", package: { name: "two", version: "2.0.0" } });
  const { code, out } = await plugins("update", "--all", "--yes", "--json");
  expect(code).toBe(1);
  expect(JSON.parse(out)).toEqual({
    plugins: [
      { id: "toy", outcome: "failed", before: "1.0.0" },
      { id: "two", outcome: "updated", before: "1.0.0", after: "2.0.0" },
    ],
  });
});

test("a package that does not exist and a machine without npm are reported", async () => {
  expect(await plugins("install", "nowhere", "--yes")).toMatchObject({
    code: 75,
    err: expect.stringContaining("error PLUGIN_FETCH: npm could not fetch nowhere"),
  });
  mkdirSync(join(dir, "empty"));
  env["PATH"] = join(dir, "empty");
  expect((await plugins("install", "toy", "--yes")).err).toContain("there is no npm on this machine");
  expect(readdirSync(join(state, "extensions"))).toEqual([]);
});
