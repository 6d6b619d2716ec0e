import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { libraryUrl, type LibraryStore } from "../../src/app/compose/libraries.ts";
import { Registry, type Published } from "../fakes/npm-registry.ts";

let home: string;
let registry: Registry;
let store: LibraryStore;
let told: string[];

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "libraries-"));
  registry = new Registry(join(home, "registry"));
  await registry.start();
  told = [];
  store = {
    folder: join(home, "state/libraries"),
    locks: join(home, "locks"),
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      npm_config_registry: registry.url,
      npm_config_cache: join(home, "cache"),
      npm_config_fetch_retries: "0",
      // What a user may have set for everything else.
      npm_config_ignore_scripts: "false",
      LOOT: "secret",
    },
    npm: ["npm"],
    log: { info: (line) => told.push(line) },
  };
});

afterEach(async () => {
  await registry.stop();
  await rm(home, { recursive: true, force: true });
});

const SCRIPTS = {
  preinstall: "touch ran-preinstall",
  install: "touch ran-install",
  postinstall: "touch ran-postinstall",
};

async function publish(version = "1.0.0"): Promise<Published> {
  const dependencies = { helper: "1.0.0" };
  const manifest = { name: "toy-sdk", version, type: "module", main: "index.js", scripts: SCRIPTS, dependencies };
  return registry.publish(manifest, {
    "index.js": `export { help } from "helper"; export const version = "${version}";`,
  });
}

const publishHelper = (): Promise<Published> =>
  registry.publish(
    Object.assign({ name: "helper", version: "1.0.0" }, { type: "module", main: "index.js", scripts: SCRIPTS }),
    { "index.js": "export const help = () => 'helped';" },
  );

async function lock(packages: readonly Published[]): Promise<void> {
  const root = { name: "openclaw-toy", dependencies: { "toy-sdk": packages[0]?.version } };
  const entries = packages.map(({ name, version, integrity }) => {
    const dependencies = name === "toy-sdk" ? { dependencies: { helper: "1.0.0" } } : {};
    return [`node_modules/${name}`, { version, integrity, hasInstallScript: true, ...dependencies }];
  });
  await mkdir(store.locks, { recursive: true });
  const contents = { lockfileVersion: 3, requires: true, packages: { "": root, ...Object.fromEntries(entries) } };
  await writeFile(join(store.locks, "toy.package-lock.json"), JSON.stringify(contents));
}

const waits: string[] = [];
const fetching = (words: string): void => void waits.push(words);
const wish = (signal = new AbortController().signal) => ({ channel: "toy", name: "toy-sdk", signal, fetching });

test("a library is fetched once, by the lock, and none of its scripts runs", async () => {
  await lock([await publish(), await publishHelper()]);
  const url = await libraryUrl(store, wish());
  expect(await import(url)).toMatchObject({ version: "1.0.0" });
  const files = await readdir(store.folder, { recursive: true });
  expect(files.filter((name) => name.includes("ran-"))).toEqual([]);
  expect(told).toEqual(["fetching toy-sdk for the channel toy from the npm registry"]);
  expect(waits.splice(0)).toEqual(["fetching the library toy-sdk from the npm registry"]);

  const asked = registry.requests.length;
  expect(await libraryUrl(store, wish())).toBe(url);
  expect(registry.requests).toHaveLength(asked);
  expect(told).toHaveLength(1);
  expect(waits).toEqual([]);
});

test("what the registry answers has to have the hash of the lock", async () => {
  const [sdk, helper] = [await publish(), await publishHelper()];
  await lock([sdk, helper]);
  await registry.publish({ name: "helper", version: "1.0.0" }, { "index.js": "export const help = () => 'changed';" });
  await expect(libraryUrl(store, wish())).rejects.toMatchObject({
    code: "CHANNEL_LIBRARY",
    message: expect.stringContaining("EINTEGRITY"),
  });
  expect(await readdir(store.folder)).toEqual([]);
});

test("another version takes the place of the one before", async () => {
  const helper = await publishHelper();
  await lock([await publish("1.0.0"), helper]);
  await libraryUrl(store, wish());
  await lock([await publish("1.1.0"), helper]);
  expect(await import(await libraryUrl(store, wish()))).toMatchObject({ version: "1.1.0" });
  expect(await readdir(store.folder)).toHaveLength(1);
});

test("two accounts may ask at once", async () => {
  await lock([await publish(), await publishHelper()]);
  const [one, two] = await Promise.all([libraryUrl(store, wish()), libraryUrl(store, wish())]);
  expect(one).toBe(two);
  expect(await readdir(store.folder)).toHaveLength(1);
});

test("missing npm, an unreachable registry, an abort and a channel without a lock are reported, and leave no files", async () => {
  await lock([await publish(), await publishHelper()]);
  await expect(libraryUrl(store, wish(AbortSignal.abort()))).rejects.toMatchObject({ code: "CHANNEL_LIBRARY" });
  await expect(libraryUrl({ ...store, npm: ["no-such-npm"] }, wish())).rejects.toMatchObject({
    code: "CHANNEL_CONFIG",
  });
  await registry.stop();
  await expect(libraryUrl(store, wish())).rejects.toMatchObject({
    code: "CHANNEL_LIBRARY",
    message: expect.stringContaining("ECONNREFUSED"),
  });
  expect(await readdir(store.folder)).toEqual([]);
  await expect(libraryUrl(store, { ...wish(), channel: "other" })).rejects.toMatchObject({ code: "CHANNEL_CONFIG" });
});

test("npm is given the operator's settings for it, and no key of the gateway", async () => {
  await lock([await publish(), await publishHelper()]);
  const host = new URL(registry.url).host;
  await writeFile(join(home, ".npmrc"), `//${host}/:_authToken=\${NPM_TOKEN}-\${LOOT}\n`);
  await libraryUrl({ ...store, env: { ...store.env, NPM_TOKEN: "token" } }, wish());
  expect(new Set(registry.authorizations)).toEqual(new Set(["Bearer token-${LOOT}"]));
});
