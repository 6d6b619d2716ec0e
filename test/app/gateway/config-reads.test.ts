import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { schemaKeys } from "../../../src/app/config/keys/schema-keys.ts";
import { loadConfig, type LoadedConfig } from "../../../src/app/config/load.ts";
import { makeStateDirs, resolvePaths } from "../../../src/app/config/paths.ts";
import { Live } from "../../../src/app/live.ts";
import { startGateway } from "../../../src/app/gateway/gateway.ts";
import { openLog } from "../../../src/app/log/log.ts";
import { startFakeModel } from "../../fakes/model.ts";
import { run } from "../../kit/gateway/cli.ts";
import { until } from "../../kit/until.ts";

const TOKEN = "token-of-the-config";

const SECTIONS = schemaKeys().flatMap(({ path: [name = "", ...below] }) => (below.length === 0 ? [name] : []));
const AT_START = schemaKeys().flatMap(({ path, node }) => (node["applies"] === "at start" ? [path.join(".")] : []));
/** Sections of which one message and the commands below need nothing, and those that are read at the start. */
const OTHER_OCCASIONS = [
  "$schema",
  "approvals",
  "audio",
  "backup",
  "bindings",
  "broadcast",
  "budgets",
  "channels",
  "retention",
];
const UNREAD = [...OTHER_OCCASIONS, "gateway", "logging", "journal", "env", "security"];

/**
 * A comparison of two configs and a list of all that is in one read every key, and put none into force. Conditions of skills ask for variables
 * that a command of its own has not set yet.
 */
const WALKS = /\bdifferences |config\/shown\.ts|compose\/skill-sources\.ts/;

/** The same config, which notes each key that is read of it. */
function noting<T extends object>(config: T, read: Set<string>): T {
  const known = new WeakMap<object, object>();
  const around = (value: unknown, path: readonly string[]): unknown => {
    if (typeof value !== "object" || value === null || path.length > 3) return value;
    if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return value;
    const made =
      known.get(value) ??
      new Proxy(value, {
        get(target, name, receiver) {
          const found: unknown = Reflect.get(target, name, receiver);
          if (typeof name === "symbol" || !Object.hasOwn(target, name)) return found;
          const below = [...path, name];
          if (!WALKS.test(new Error("here").stack ?? "")) read.add(below.join("."));
          return around(found, below);
        },
      });
    known.set(value, made);
    return made;
  };
  return around(config, []) as T;
}

test("a gateway reads every section of a changed config, and none of the keys of which it says that they wait for a restart", async () => {
  const dir = mkdtempSync(join(tmpdir(), "config-reads-"));
  const model = await startFakeModel();
  const config = {
    gateway: { port: 0, auth: { token: TOKEN }, reload: { debounceMs: 10 } },
    models: {
      providers: { fake: { baseUrl: model.url, apiKey: "x", api: "openai-completions", models: [{ id: "fake-1" }] } },
    },
    agents: { defaults: { model: { primary: "fake/fake-1" } } },
    logging: { level: "silent", consoleLevel: "silent" },
  };
  const write = (value: object) => writeFileSync(join(dir, "openclaw.json"), JSON.stringify(value));
  write(config);
  const paths = resolvePaths({ OPENCLAW_STATE_DIR: dir });
  await makeStateDirs(paths);
  const read = new Set<string>();
  const load = () => loadConfig({ path: paths.configPath, env: {} });
  const reload = async (): Promise<LoadedConfig> => {
    const loaded = await load();
    return { ...loaded, config: noting(loaded.config, read) };
  };
  const live = new Live(paths, dir, await load());
  const log = openLog({ file: join(dir, "test.log"), level: "silent", consoleLevel: "silent", consoleStyle: "json" });
  const gateway = await startGateway(live, { log, load: reload });
  onTestFinished(async () => {
    await gateway.close(0);
    await model.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const started = live.config;
  write({ ...config, messages: { responsePrefix: "[x]" } });
  await until(() => live.config !== started);
  const url = `ws://127.0.0.1:${gateway.port}`;
  const cli = (...args: readonly string[]) =>
    run(args, { OPENCLAW_STATE_DIR: dir, OPENCLAW_GATEWAY_TOKEN: TOKEN, OPENCLAW_GATEWAY_URL: url });
  for (const args of [["agent", "-m", "hello"], ["cron", "status"], ["status"]])
    expect(await cli(...args)).toMatchObject({ code: 0 });
  expect([...read].filter((key) => AT_START.some((one) => key === one || key.startsWith(`${one}.`)))).toEqual([]);
  const isRead = (section: string) => [...read].some((key) => key.startsWith(`${section}.`));
  expect(SECTIONS.filter((section) => !isRead(section)).toSorted()).toEqual([...UNREAD].toSorted());
});
