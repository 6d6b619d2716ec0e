import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { archiveOf, asEntries, pluginFiles } from "../../kit/plugins/sources.ts";
import { test } from "./npm-fixture.ts";

// Each install starts npm some times: the other cases are in test/faults/plugins/npm.test.ts.

test("a package is installed with its dependencies, its hash and a lock, and no script runs", async ({ npm }) => {
  await npm.publishHelper();
  const { integrity } = await npm.publish();
  const { code, out, err } = await npm.plugins("install", "toy", "--accept-capabilities");
  expect([code, out]).toEqual([
    0,
    'Set plugins.entries.toy.enabled to true.\nExclusive slot "contextEngine" switched from "legacy" to "toy".\nInstalled plugin: toy\n',
  ]);
  expect(err).toContain("Fetching toy with npm.");
  expect(err).toMatch(/publisher +ann/);
  expect(err).toContain(integrity);
  expect(err).toMatch(/install scripts +preinstall, install, postinstall, prepare, helper@1\.0\.0/);
  expect(err).toContain("The install scripts of helper@1.0.0 did not run.");
  expect(npm.records["toy"]).toMatchObject({ source: "npm", spec: "toy", version: "1.0.0", integrity });
  expect(existsSync(npm.plugin("node_modules/helper/index.js"))).toBe(true);
  const lock = JSON.parse(readFileSync(npm.plugin("package-lock.json"), "utf8"));
  expect(lock.packages["node_modules/helper"]).toMatchObject({ version: "1.0.0", integrity: expect.any(String) });
  expect(npm.ranScripts).toEqual([]);
  expect(npm.installed).toEqual(["toy"]);
  expect((await npm.plugins("doctor")).out).toBe("No problems with 1 plugin.\n");
});

test("a dependency that is no package of a registry is refused", async ({ npm }) => {
  for (const range of ["file:../../..", "git+https://example.com/x.git", "ann/x", "http://127.0.0.1/x.tgz", "../x"]) {
    const tgz = join(npm.dir, "toy.tgz");
    writeFileSync(tgz, archiveOf(asEntries(pluginFiles({ package: { dependencies: { helper: range } } }))));
    const { code, err } = await npm.plugins("install", `npm-pack:${tgz}`, "--yes");
    expect([code, err], range).toEqual([1, expect.stringContaining("error PLUGIN_UNSAFE: Its dependency helper")]);
  }
  expect(npm.installed).toEqual([]);
});

test("a package that does not exist and a machine without npm are reported", async ({ npm }) => {
  expect(await npm.plugins("install", "nowhere", "--yes")).toMatchObject({
    code: 75,
    err: expect.stringContaining("error PLUGIN_FETCH: npm could not fetch nowhere"),
  });
  npm.emptyPath();
  expect((await npm.plugins("install", "toy", "--yes")).err).toContain("there is no npm on this machine");
  expect(npm.installed).toEqual([]);
});
