import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { archiveOf, asEntries, packageOf, pluginFiles } from "../../kit/plugins/sources.ts";
import { test } from "../../plugins/install/npm-fixture.ts";

test("scripts run when the operator asks for it", async ({ npm }) => {
  await npm.publishHelper();
  await npm.publish();
  expect(await npm.plugins("install", "toy", "--yes", "--allow-scripts")).toMatchObject({ code: 0 });
  expect(npm.ranScripts).toContain("toy/node_modules/helper/ran");
  expect(npm.ranScripts).toContain("toy/ran");
  expect((await npm.plugins("doctor")).out).toBe("No problems with 1 plugin.\n");
});

test("the gateway itself is never fetched, whatever asks for it, and a scoped package keeps its id", async ({
  npm,
}) => {
  await npm.publishHelper();
  const peers = { peerDependencies: { openclaw: ">=2026.5.28", helper: "1" } };
  const own = { name: "@ann/toy", dependencies: { openclaw: "*" }, devDependencies: { missing: "1" }, ...peers };
  await npm.publish({ package: own });
  const { code, err } = await npm.plugins("install", "npm:@ann/toy@1.0.0", "--force");
  expect([code, err]).toEqual([0, expect.stringContaining("@ann/toy@1.0.0")]);
  expect(npm.registry.requests).not.toContain("openclaw");
  expect(npm.registry.requests).not.toContain("missing");
  expect(readdirSync(npm.plugin("node_modules")).toSorted()).toEqual(["helper", "openclaw"]);
});

test("a packed archive is installed with its dependencies", async ({ npm }) => {
  await npm.publishHelper();
  const tgz = join(npm.dir, "toy.tgz");
  writeFileSync(tgz, archiveOf(asEntries(pluginFiles({ package: { dependencies: { helper: "1.0.0" } } }))));
  expect((await npm.plugins("install", `npm-pack:${tgz}`, "--yes")).code).toBe(0);
  expect(existsSync(npm.plugin("node_modules/helper/index.js"))).toBe(true);
  expect(npm.records["toy"]).toMatchObject({ source: "archive", spec: `npm-pack:${tgz}` });
});

test("settings of the plugin's author do not reach npm", async ({ npm }) => {
  await npm.publishHelper();
  await npm.publish({ files: { ".npmrc": "registry=http://127.0.0.1:1/\nignore-scripts=false\n" } });
  expect((await npm.plugins("install", "toy", "--yes")).code).toBe(0);
  expect(npm.ranScripts).toEqual([]);
});

test("an update takes the new version, and is current afterwards", async ({ npm }) => {
  await npm.publishHelper();
  await npm.publish();
  await npm.plugins("install", "toy", "--yes");
  expect((await npm.plugins("update", "toy", "--yes")).out).toBe("toy is up to date (1.0.0)\n");
  const { integrity } = await npm.publish({ version: "1.1.0", manifest: { contracts: { tools: ["look"] } } });
  expect((await npm.plugins("update", "--all", "--dry-run")).out).toBe("toy can be updated (1.0.0 -> 1.1.0)\n");
  const { code, out, err } = await npm.plugins("update", "toy", "--yes");
  expect([code, out]).toEqual([0, "Updated plugin: toy (1.0.0 -> 1.1.0)\n"]);
  expect(err).toMatch(/version +1\.1\.0, in place of 1\.0\.0/);
  expect(err).toContain("New in this version: tools: look\n");
  expect(npm.records["toy"]).toMatchObject({ spec: "toy", version: "1.1.0", integrity });
  expect(readFileSync(npm.plugin("dist/index.js"), "utf8")).toContain("1.1.0");
  expect(npm.installed).toEqual(["toy"]);
});

test("--pin keeps the version", async ({ npm }) => {
  await npm.publishHelper();
  await npm.publish();
  await npm.plugins("install", "toy", "--yes", "--pin");
  expect(npm.records["toy"]).toMatchObject({ spec: "toy@1.0.0" });
  await npm.publish({ version: "1.1.0" });
  expect((await npm.plugins("update", "toy", "--yes")).out).toBe("toy is up to date (1.0.0)\n");
});

test("an update that fails, is unsafe, or is refused by nobody's consent leaves the old version", async ({ npm }) => {
  await npm.publishHelper();
  await npm.publish();
  await npm.plugins("install", "toy", "--yes");
  const before = JSON.stringify(npm.records);
  const own = { ...packageOf({ version: "1.1.0" }), name: "toy" };
  const hostile = [...asEntries(pluginFiles({ version: "1.1.0" })), { path: "../loot", text: "x" }];
  const attempts: readonly (readonly [() => unknown, string, string[]])[] = [
    [() => npm.publish({ version: "1.1.0", package: { dependencies: { missing: "1" } } }), "PLUGIN_FETCH", ["--yes"]],
    [() => npm.registry.publishArchive(own, archiveOf(hostile)), "PLUGIN_UNSAFE", ["--yes"]],
    [() => npm.publish({ version: "1.1.0", manifest: { id: "other" } }), "PLUGIN_UNSAFE", ["--yes"]],
    [() => npm.publish({ version: "1.1.0", manifest: { configSchema: 7 } }), "PLUGIN_INVALID", ["--yes"]],
    [() => npm.publish({ version: "1.1.0" }), "USAGE", []],
  ];
  for (const [prepare, code, flags] of attempts) {
    await prepare();
    expect((await npm.plugins("update", "toy", ...flags)).err).toContain(`error ${code}:`);
    expect(readFileSync(npm.plugin("dist/index.js"), "utf8")).toContain("1.0.0");
    expect(JSON.stringify(npm.records)).toBe(before);
    expect(npm.installed).toEqual(["toy"]);
  }
});

test("other content under the installed version is refused", async ({ npm }) => {
  await npm.publishHelper();
  await npm.publish();
  await npm.plugins("install", "toy", "--yes", "--pin");
  await npm.publish({ files: { "dist/index.js": "export default {};" } });
  const { code, err } = await npm.plugins("update", "toy", "--yes");
  expect([code, err]).toEqual([1, expect.stringContaining("error PLUGIN_UNSAFE: The registry has other content")]);
});

test("one plugin's failed update does not stop those of the others", async ({ npm }) => {
  await npm.publishHelper();
  await npm.publish();
  await npm.publish({ id: "two", package: { name: "two" } });
  await npm.plugins("install", "toy", "--yes");
  await npm.plugins("install", "two", "--yes");
  await npm.publish({ version: "2.0.0", package: { dependencies: { missing: "1" } } });
  await npm.publish({ id: "two", version: "2.0.0", package: { name: "two", version: "2.0.0" } });
  const { code, out } = await npm.plugins("update", "--all", "--yes", "--json");
  expect(code).toBe(1);
  expect(JSON.parse(out)).toEqual({
    plugins: [
      { id: "toy", outcome: "failed", before: "1.0.0" },
      { id: "two", outcome: "updated", before: "1.0.0", after: "2.0.0" },
    ],
  });
});
