import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { watchConfig } from "../../../src/app/config/edit/watch.ts";
import { removeConfigValue, writeConfigValue, writeConfigValues } from "../../../src/app/config/edit/write.ts";
import { loadConfig, type LoadedConfig } from "../../../src/app/config/load.ts";
import { readConfigSource } from "../../../src/app/config/source.ts";
import type { Env } from "../../../src/utils/env.ts";

let dir: string;
let path: string;

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "include-")));
  path = join(dir, "config", "openclaw.json");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Writes files below the folder of the config; a text is written as it is. */
function put(files: Readonly<Record<string, unknown>>): void {
  for (const [name, content] of Object.entries(files)) {
    const file = join(dirname(path), name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  }
}
const read = (name: string): string => readFileSync(join(dirname(path), name), "utf8");
const valueOf = async (env: Env = {}): Promise<unknown> => (await readConfigSource({ path, env })).value;
const load = async (env: Env = {}): Promise<LoadedConfig> => loadConfig({ path, env });

describe("$include", () => {
  it("puts one file in the place of an object", async () => {
    put({
      "openclaw.json": { agents: { $include: "./agents.json5" } },
      "agents.json5": "{ defaults: { workspace: '/w' } } // mine",
    });
    expect(await valueOf()).toEqual({ agents: { defaults: { workspace: "/w" } } });
    expect((await load()).config.agents.defaults.workspace).toBe("/w");
  });

  it("merges a list of files in its order; keys beside it count most, and lists are put after each other", async () => {
    put({
      "openclaw.json": {
        $include: ["./one.json5", "sub/two.json5"],
        gateway: { port: 18_888 },
        tools: { deny: ["c"] },
      },
      "one.json5": { gateway: { port: 1, bind: "lan" }, logging: { level: "debug" }, tools: { deny: ["a"] } },
      "sub/two.json5": { logging: { level: "info" }, tools: { deny: ["b"] }, cron: { $include: "./cron.json5" } },
      "sub/cron.json5": { enabled: false },
    });
    expect(await valueOf()).toEqual({
      gateway: { port: 18_888, bind: "lan" },
      logging: { level: "info" },
      tools: { deny: ["a", "b", "c"] },
      cron: { enabled: false },
    });
  });

  it("may stand in a list, and may name a file with a list", async () => {
    put({
      "openclaw.json": { bindings: [{ $include: "./one.json" }], agents: { list: { $include: "./list.json" } } },
      "one.json": { agentId: "main" },
      "list.json": [{ id: "main" }],
    });
    expect(await valueOf()).toEqual({ bindings: [{ agentId: "main" }], agents: { list: [{ id: "main" }] } });
  });

  it("resolves variables in included files", async () => {
    put({
      "openclaw.json": { gateway: { $include: "./gateway.json" } },
      "gateway.json": { auth: { token: "${MY_TOKEN}" } },
    });
    const { config } = await load({ MY_TOKEN: "a-token-that-is-long" });
    expect(config.gateway.auth.token?.reveal()).toBe("a-token-that-is-long");
  });

  it("names the file and the line of a mistake in an included file", async () => {
    put({
      "openclaw.json": { gateway: { $include: "./gateway.json5" } },
      "gateway.json5": "{\n  // mine\n  prt: 1,\n}\n",
    });
    await expect(load()).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: "gateway.json5:3: gateway.prt: unknown key; did you mean gateway.port?",
    });
  });

  const long = "x".repeat(4100);
  it.each([
    ["a file that is missing", { $include: "./none.json" }, "none.json cannot be read: there is no such file"],
    ["a number", { $include: 5 }, "takes the path of a file"],
    ["a list with a number", { $include: [5] }, "takes the path of a file"],
    ["itself", { $include: "./openclaw.json" }, "includes itself"],
    ["a file that includes it", { $include: "./back.json" }, "includes itself"],
    ["a file outside the folder", { $include: "/etc/hostname" }, "lies outside"],
    ["a way out of the folder", { $include: "../other.json" }, "lies outside"],
    ["a link out of the folder", { $include: "./link.json" }, "lies outside"],
    ["a folder", { $include: "./folder" }, "cannot be read: it is not a regular file"],
    ["a path without end", { $include: long }, "too long"],
    [
      "a file with a list beside other keys",
      { agents: { $include: "./list.json", defaults: {} } },
      "must be an object",
    ],
    ["files that include each other 20 times", { $include: "./deep0.json" }, "more than 10 files"],
    ["a file of 3 MB", { $include: "./big.json" }, "larger than 2048 KB"],
  ])("refuses %s", async (_what, config, reason) => {
    const deep = Object.fromEntries(
      Array.from({ length: 20 }, (_, at) => [`deep${at}.json`, { cron: { $include: `./deep${at + 1}.json` } }]),
    );
    put({ "openclaw.json": config, "back.json": { $include: "./openclaw.json" }, "list.json": [1], ...deep });
    put({ "../other.json": {}, "folder/x.json": {}, "big.json": `{ /* ${"x".repeat(3 * 1024 * 1024)} */ }` });
    symlinkSync(join(dir, "other.json"), join(dirname(path), "link.json"));
    await expect(load()).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    await expect(load()).rejects.toThrow(reason);
  });

  it("gives no object another prototype", async () => {
    put({
      "openclaw.json": '{ "$include": "./one.json", "__proto__": { "gateway": { "bind": "lan" } } }',
      "one.json": "{}",
    });
    await expect(load()).rejects.toThrow(/__proto__.*unknown key/s);
  });

  it("puts at most a thousand files together, whatever each of them names", async () => {
    const ten = (name: string) =>
      Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`k${at}`, { $include: name }]));
    put({
      "openclaw.json": ten("./a.json"),
      "a.json": ten("./b.json"),
      "b.json": ten("./c.json"),
      "c.json": ten("./d.json"),
      "d.json": {},
    });
    await expect(load()).rejects.toThrow("more than 1000 files are included");
  });

  it("may name files of the folders in OPENCLAW_INCLUDE_ROOTS", async () => {
    put({ "openclaw.json": { cron: { $include: "../shared/cron.json" } }, "../shared/cron.json": { enabled: false } });
    await expect(load()).rejects.toThrow("lies outside");
    expect((await load({ OPENCLAW_INCLUDE_ROOTS: `/nowhere:${join(dir, "shared")}` })).config.cron.enabled).toBe(false);
  });

  it("reports a mistake in the syntax of an included file with its line", async () => {
    put({ "openclaw.json": { cron: { $include: "./cron.json" } }, "cron.json": "{\n  enabled: \n}" });
    await expect(load()).rejects.toThrow(/cron\.json:3:1: not valid JSON5/);
  });
});

describe("a change of a config with $include", () => {
  const options = () => ({ path, env: {} });
  beforeEach(() =>
    put({
      "openclaw.json":
        '{\n  // main\n  gateway: { port: 1 },\n  agents: { $include: "./agents.json5" },\n  tools: { $include: ["./a.json", "./b.json"] },\n}\n',
      "agents.json5": '{\n  // agents\n  defaults: { workspace: "/w" },\n}\n',
      "a.json": { deny: ["a"] },
      "b.json": { deny: ["b"] },
    }),
  );

  it("is written into the file that has the value, with its comments, and the other files stay as they are", async () => {
    const main = read("openclaw.json");
    await writeConfigValue(options(), ["agents", "defaults", "workspace"], "/x");
    expect(read("agents.json5")).toBe('{\n  // agents\n  defaults: { workspace: "/x" },\n}\n');
    expect(read("agents.json5.bak")).toContain('"/w"');
    expect(read("openclaw.json")).toBe(main);
    await writeConfigValue(options(), ["gateway", "port"], 2);
    await writeConfigValue(options(), ["cron", "enabled"], false);
    expect(read("openclaw.json")).toContain('agents: { $include: "./agents.json5" }');
    expect(await valueOf()).toMatchObject({ gateway: { port: 2 }, cron: { enabled: false } });
  });

  it("takes a new key of the included object into its file, and removes one from there", async () => {
    await writeConfigValue(options(), ["agents", "list"], [{ id: "main" }]);
    expect(read("agents.json5")).toContain('"main"');
    expect(await removeConfigValue(options(), ["agents", "defaults", "workspace"])).toMatch(/agents\.json5$/);
    expect(read("agents.json5")).not.toContain("workspace");
    expect(await removeConfigValue(options(), ["agents", "defaults", "workspace"])).toBeUndefined();
  });

  it.each([
    [
      "of an object that several files make",
      [{ path: ["tools", "deny"], value: ["c"] }],
      "tools.deny may come from a.json, b.json and from keys beside $include in openclaw.json",
    ],
    ["that would copy included values", [{ path: [], value: {} }], "has values of"],
    [
      "of two files at once",
      [
        { path: ["gateway", "port"], value: 2 },
        { path: ["agents", "defaults", "workspace"], value: "/x" },
      ],
      "the change is about openclaw.json, agents.json5",
    ],
  ])("is refused %s, and nothing is written", async (_what, edits, reason) => {
    const before = ["openclaw.json", "agents.json5", "a.json", "b.json"].map(read);
    await expect(writeConfigValues(options(), edits)).rejects.toThrow(reason);
    expect(["openclaw.json", "agents.json5", "a.json", "b.json"].map(read)).toEqual(before);
  });

  it("is refused where lists or removed keys would be put together with those of another file", async () => {
    put({
      "openclaw.json": { tools: { $include: "./a.json", deny: ["b"] }, agents: { $include: "./agents.json5" } },
      "a.json": { deny: ["a"] },
    });
    await expect(writeConfigValue(options(), ["tools", "deny"], ["c"])).rejects.toThrow("made of several files");
    await expect(removeConfigValue(options(), ["tools", "deny"])).rejects.toThrow("made of several files");
    expect(await removeConfigValue(options(), ["agents"])).toBe(path);
    expect(read("openclaw.json")).not.toContain("agents");
    expect(read("agents.json5")).toContain("/w");
  });

  it("is refused for a file that stands in two places", async () => {
    put({
      "openclaw.json": { cron: { $include: "./b.json" }, hooks: { $include: "./b.json" } },
      "b.json": { enabled: false },
    });
    await expect(writeConfigValue(options(), ["cron", "enabled"], true)).rejects.toThrow("stands in 2 places");
  });

  it("does not undo what a person saved meanwhile", async () => {
    const slow = {
      ...options(),
      discover: async () => {
        put({ "agents.json5": '{ defaults: { workspace: "/by-hand" } }' });
        return { plugins: [], broken: [] };
      },
    };
    await expect(writeConfigValue(slow, ["agents", "defaults", "workspace"], "/x")).rejects.toThrow("was changed");
    expect(read("agents.json5")).toContain("/by-hand");
  });

  it("is refused when the included file would have a mistake in it", async () => {
    await expect(writeConfigValue(options(), ["agents", "defaults", "workspce"], "/x")).rejects.toThrow("unknown key");
    expect(read("agents.json5")).not.toContain("workspce");
  });

  it("is seen while the gateway runs, also in a file of another folder that a change has named", async () => {
    const stop = new AbortController();
    const changes = watchConfig({ current: await load(), load, debounceMs: 5, signal: stop.signal });
    const next = async () => {
      const { value } = await changes.next();
      return value?.kind === "valid" ? value.changed : value;
    };
    const first = next();
    put({ "agents.json5": { defaults: { workspace: "/x" } } });
    expect(await first).toEqual(["agents.defaults.workspace"]);
    const second = next();
    put({ "sub/cron.json": { enabled: true } });
    put({
      "openclaw.json": {
        agents: { $include: "./agents.json5" },
        cron: { $include: "./sub/cron.json" },
        gateway: { port: 1 },
      },
    });
    expect(await second).toEqual(["tools.deny"]);
    const third = next();
    put({ "sub/cron.json": { enabled: false } });
    expect(await third).toEqual(["cron.enabled"]);
    const fourth = next();
    put({ "sub/cron.json": "{" });
    expect(await fourth).toMatchObject({ kind: "invalid" });
    const fifth = next();
    put({ "sub/cron.json": { enabled: true } });
    expect(await fifth).toEqual(["cron.enabled"]);
    stop.abort();
    expect((await changes.next()).done).toBe(true);
  });
});
