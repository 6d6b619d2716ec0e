import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/app/config/load.ts";
import { loadConfigText } from "../kit/config-text.ts";
import { makeStateDirs, resolvePaths } from "../../src/app/config/paths.ts";
import { ConfigError } from "../../src/app/config/schema/problem.ts";
import { schemaKeys } from "../../src/app/config/keys/schema-keys.ts";
import { writeConfigValue } from "../../src/app/config/edit/write.ts";
import { bundledContributions, contributedSchemas } from "../../src/app/contributions/extensions.ts";
import { type Gateway, startGateway } from "../../src/app/gateway/gateway.ts";
import { Live } from "../../src/app/live.ts";
import { openLog } from "../../src/app/log/log.ts";
import { until } from "../kit/until.ts";

/** Names that every object answers to, though nobody gave it them. */
const INHERITED = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf", "isPrototypeOf"];

let dir = "";
let gateway: Gateway | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "config-fuzz-"));
});
afterEach(async () => {
  await gateway?.close(0);
  gateway = undefined;
  rmSync(dir, { recursive: true, force: true });
});

const GOOD = {
  gateway: { port: 0, reload: { debounceMs: 5 } },
  models: { mode: "replace", providers: { fake: { baseUrl: "http://127.0.0.1:1/v1", models: [{ id: "fake-1" }] } } },
  logging: { level: "info", consoleLevel: "silent" },
};

/** One key of the schema set to something, as an object of its own. */
const nest = (path: readonly string[], value: unknown): unknown =>
  path.reduceRight<unknown>((inner, name) => (name === "[]" ? [inner] : Object.fromEntries([[name, inner]])), value);

/** Configs with a reference to nothing at a key: of a plugin or channel that is not there, and of what is switched off. */
function unread(path: readonly string[]): readonly unknown[] {
  const holders = path.flatMap((_, at) => (at > 1 && path[at] !== "[]" ? [at] : []));
  const off = holders.map((at) =>
    nest(path.slice(0, at), { enabled: false, ...Object(nest(path.slice(at), "${NOT_SET}")) }),
  );
  return path[0] === "channels" || path[0] === "plugins" ? [nest(path, "${NOT_SET}"), ...off] : off.slice(-1);
}

const deep = (depth: number, wrap: (inner: unknown) => unknown): unknown =>
  Array.from({ length: depth }).reduce<unknown>((inner) => wrap(inner), 1);

const name = fc.oneof(fc.constantFrom(...INHERITED), fc.string({ maxLength: 8 }));
const oddValue = fc.oneof(
  fc.anything({ key: name, maxDepth: 3, withNullPrototype: false }),
  fc.constantFrom(
    "${constructor}",
    "${NOT_SET}",
    { source: "env", id: "constructor" },
    { source: "file", id: "/nowhere" },
  ),
  fc.integer({ min: 1, max: 3000 }).map((depth) => deep(depth, (inner) => [inner])),
  fc.integer({ min: 1, max: 3000 }).map((depth) => deep(depth, (inner) => ({ x: inner }))),
);
const edit = fc
  .tuple(fc.constantFrom(...schemaKeys().map(({ path }) => path)), fc.array(name, { maxLength: 3 }), oddValue, name)
  .map(([path, below, value, any]) => nest([...path.map((part) => (part === "*" ? any : part)), ...below], value));

describe("whatever is in the config file", () => {
  it("is a config or a reported problem of the file, and never a bug of the gateway", async () => {
    const schemas = await contributedSchemas(bundledContributions());
    await fc.assert(
      fc.asyncProperty(edit, async (config) => {
        const text = JSON.stringify(config) ?? "";
        const options = { path: join(dir, "openclaw.json"), env: {}, ...schemas };
        const told = await loadConfigText(text, options).catch((error: unknown) => error);
        if (told instanceof ConfigError) expect(told.problems.length).toBeGreaterThan(0);
        else expect(told).toHaveProperty("config");
      }),
      { numRuns: 500 },
    );
  });

  it("also where a reference to nothing stands in a section that nobody reads", async () => {
    const schemas = await contributedSchemas(bundledContributions());
    const options = { path: join(dir, "openclaw.json"), env: {}, ...schemas };
    const silent: string[] = [];
    for (const key of schemaKeys()) {
      const path = key.path.map((part) => (part === "*" ? "nobody" : part));
      for (const config of unread(path)) {
        const told = await loadConfigText(JSON.stringify(config), options).catch((error: unknown) => error);
        if (told instanceof ConfigError && told.problems.length === 0) silent.push(JSON.stringify(config));
      }
    }
    expect(silent).toEqual([]);
  });

  it("and a list is shorter by a reference to nothing only where a whole channel, plugin or server is idle", async () => {
    const schemas = await contributedSchemas(bundledContributions());
    const load = (config: unknown) =>
      loadConfigText(JSON.stringify(config), { path: join(dir, "openclaw.json"), env: {}, ...schemas });
    const off = { enabled: false, command: "node", args: ["${NOT_SET}", "a"] };
    const { config, warnings } = await load({ mcp: { servers: { off } } });
    expect(config.mcp.servers["off"]).toMatchObject({ args: ["a"] });
    expect(warnings).toMatchObject([{ key: "mcp.servers.off.args[0]" }]);
    // Elsewhere a list may be what restricts somebody.
    await expect(load({ tools: { agentToAgent: { enabled: false, allow: ["${NOT_SET}"] } } })).rejects.toMatchObject({
      code: "SECRET_MISSING",
      problems: [{ key: "tools.agentToAgent.allow[0]" }],
    });
  });

  it("even lists in lists without end", async () => {
    const text = `{ channels: { x: ${"[".repeat(20_000)}${"]".repeat(20_000)} } }`;
    const loading = loadConfigText(text, { path: join(dir, "openclaw.json"), env: {} });
    await expect(loading).rejects.toBeInstanceOf(ConfigError);
  });
});

describe("a name that every object answers to", () => {
  it.each(INHERITED)("%s, given to a channel, is a channel that is not installed", async (channel) => {
    const text = JSON.stringify({ channels: Object.fromEntries([[channel, { enabled: true }]]) });
    const options = {
      path: join(dir, "openclaw.json"),
      env: {},
      ...(await contributedSchemas(bundledContributions())),
    };
    const { warnings } = await loadConfigText(text, options);
    expect(warnings.map(({ text: warning }) => warning)).toEqual([
      expect.stringContaining("no channel of this name is installed"),
    ]);
  });

  it("cannot be written where objects do not hold it as others", async () => {
    const path = join(dir, "openclaw.json");
    writeFileSync(path, JSON.stringify(GOOD));
    const proto = Object.fromEntries([["__proto__", { baseUrl: "http://127.0.0.1:1" }]]);
    const options = { path, env: {} };
    await expect(writeConfigValue(options, ["models", "providers"], proto)).rejects.toMatchObject({ code: "USAGE" });
    await expect(writeConfigValue(options, ["channels", "__proto__"], {})).rejects.toMatchObject({ code: "USAGE" });
    expect(readFileSync(path, "utf8")).toBe(JSON.stringify(GOOD));
  });
});

async function start() {
  const path = join(dir, "openclaw.json");
  const write = (config: unknown) => writeFileSync(path, JSON.stringify(config));
  write(GOOD);
  const paths = resolvePaths({ OPENCLAW_STATE_DIR: dir });
  await makeStateDirs(paths);
  const schemas = await contributedSchemas(bundledContributions());
  const load = () => loadConfig({ path, env: {}, ...schemas });
  const live = new Live(paths, dir, await load());
  const log = openLog({ file: join(dir, "test.log"), level: "debug", consoleLevel: "silent", consoleStyle: "json" });
  gateway = await startGateway(live, { log, load });
  return { live, write, log: () => (log.flush(), readFileSync(join(dir, "test.log"), "utf8")) };
}

describe("a gateway whose config is edited", () => {
  it("applies the next good edit, whatever the one before was", async () => {
    const { live, write, log } = await start();
    let round = 0;
    await fc.assert(
      fc.asyncProperty(edit, async (bad) => {
        write({ ...(typeof bad === "object" ? bad : {}), $schema: `bad-${round}` });
        const cap = (round += 1);
        write({ ...GOOD, messages: { queue: { cap } } });
        await until(() => live.config.messages.queue.cap === cap);
      }),
      { numRuns: 20 },
    );
    expect(log()).not.toContain("not watched any more");
  });

  it.each(INHERITED)("does so after a channel named %s", async (channel) => {
    const { live, write } = await start();
    write({ ...GOOD, channels: Object.fromEntries([[channel, { enabled: true }]]) });
    await until(() => live.loaded.warnings.some((note) => note.message.includes("no channel of this name")));
    write({ ...GOOD, tools: { exec: { security: "deny" } } });
    await until(() => live.config.tools.exec.security === "deny");
    expect(live.problems).toEqual([]);
  });
});

describe.runIf(process.platform === "linux")("what is no file of a usual size in the place of the config", () => {
  it.each<[string, (path: string) => unknown]>([
    ["a named pipe", (path) => execFileSync("mkfifo", [path])],
    ["a device without an end", (path) => symlinkSync("/dev/zero", path)],
    ["a directory", (path) => mkdirSync(path)],
    ["two megabytes", (path) => writeFileSync(path, `{"x": "${"a".repeat(2_000_000)}"}`)],
    ["a hundred thousand keys", (path) => writeFileSync(path, `{${'"a_long_key": 1,'.repeat(100_000)}}`)],
  ])("is refused without waiting for it: %s", async (_what, make) => {
    const path = join(dir, "openclaw.json");
    make(path);
    await expect(loadConfig({ path, env: {} })).rejects.toMatchObject({ code: "CONFIG_UNREADABLE" });
  });
});
