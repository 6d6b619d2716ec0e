import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { testPorts } from "../../testing/plugin-ports.ts";
import { Contributions } from "../../src/plugins/contributions.ts";
import { Plugins } from "../../src/plugins/host/plugins.ts";
import { configSchemaOf } from "../../src/plugins/manifest/config-schema.ts";
import { readPlugin } from "../../src/plugins/manifest/read-plugin.ts";
import { manualClock } from "../kit/clock.ts";
import { writePlugin, type PluginFiles } from "../kit/gateway/plugins.ts";
import { until } from "../kit/until.ts";

const GOOD = `export default (api) => api.registerCommand({ name: "here", description: "Is here.", handler: () => ({ text: "here" }) });`;

/** Loads a strange plugin beside a good one, with a clock that the test moves. */
async function loadBeside({ config = {}, ...strange }: Omit<PluginFiles, "id"> & { config?: object }) {
  const dir = mkdtempSync(join(tmpdir(), "hostile-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const root = writePlugin(dir, { id: "strange", ...strange });
  writePlugin(dir, { id: "good", code: GOOD });
  const read = await Promise.all(["strange", "good"].map((id) => readPlugin(join(dir, id), "config")));
  const contributions = new Contributions([]);
  const clock = manualClock();
  const plugins = new Plugins(contributions, {
    ...testPorts({ id: "strange", folder: dir, config: JSON.parse(JSON.stringify(config)) }),
    clock,
  });
  const found = read.flatMap((one) => (one.kind === "found" ? [one.plugin] : []));
  const broken = read.flatMap((one) => (one.kind === "broken" ? [one.broken] : []));
  const applied = plugins.apply({ plugins: found, broken });
  const strangeRecord = () => plugins.records.find(({ id }) => id === "strange");
  return { root, clock, applied, plugins, contributions, strangeRecord };
}

/** The strange plugin is left out with this reason in one line, and the good one is loaded. */
async function expectLeftOut({ strangeRecord, contributions, applied }: Awaited<ReturnType<typeof loadBeside>>) {
  await applied;
  expect(contributions.commands.map(({ name }) => name)).toEqual(["here"]);
  expect(contributions.namesOf("strange")).toEqual({});
  const why = strangeRecord()?.why ?? "it is not left out";
  expect(why).not.toContain("\n");
  return why;
}

test("a register that waits for ever leaves only its plugin out", async () => {
  const loaded = await loadBeside({
    code: `export default (api) => { api.registerCommand({ name: "half", description: "Half.", handler() {} }); return new Promise(() => {}); };`,
  });
  await until(() => loaded.clock.waits.includes(10_000));
  loaded.clock.pass(10_000);
  expect(await expectLeftOut(loaded)).toBe("its register did not end within 10 s");
});

test("an entry that waits for ever leaves only its plugin out", async () => {
  const loaded = await loadBeside({
    code: `await new Promise((resolve) => setTimeout(resolve, 1e9).unref()); export default () => {};`,
  });
  await until(() => loaded.clock.waits.includes(30_000));
  loaded.clock.pass(30_000);
  expect(await expectLeftOut(loaded)).toBe("its code was not loaded within 30 s");
});

test("a plugin that never comes to its end delays the unload of all by its time limits", async () => {
  const code = `export default (api) => {
    api.lifecycle.onDispose(() => new Promise(() => {}));
    api.on("gateway_stop", () => new Promise(() => {}), { timeoutMs: 1e12 });
    api.registerService({ id: "s", start() {}, stop: () => new Promise(() => {}) });
  };`;
  const { applied, plugins, contributions, clock } = await loadBeside({ code });
  await applied;
  await plugins.start();
  const closed = plugins.close();
  for (const ms of [15_000, 15_000, 5000]) {
    await until(() => clock.waits.includes(ms));
    clock.pass(ms);
  }
  await closed;
  expect(contributions.commands).toEqual([]);
});

test("a CommonJS entry that requires what is missing is named with it", async () => {
  const code = `module.exports = () => {}; require("openclaw/plugin-sdk-of-nobody");`;
  const loaded = await loadBeside({ code, package: { type: "commonjs" } });
  expect(await expectLeftOut(loaded)).toBe(
    'it imports "openclaw/plugin-sdk-of-nobody", which is not installed beside it',
  );
});

/** Each of these leads to the next one twice. */
const DOUBLING = Array.from({ length: 60 }, (_, at) => {
  const next = { $ref: `#/$defs/d${at + 1}` };
  return [`d${at}`, { allOf: [next, next] }] as const;
});
const MANY = Array.from({ length: 20_000 }, (_, at) => [`key${at}`, { type: "string" }] as const);

/** JSON as a file has it: a literal would set the prototype. */
const json = (text: string): Record<string, unknown> => JSON.parse(text);

test.each([
  [
    "properties named as those of objects",
    `{"type":"object","properties":{"__proto__":{"type":"object","properties":{"polluted":{"type":"boolean","default":true}}},"constructor":{"type":"object","default":{"prototype":{"polluted":true}}}}}`,
  ],
  [
    "a default with a prototype",
    `{"type":"object","default":{"__proto__":{"polluted":true}},"properties":{"a":{"default":{"__proto__":{"polluted":true}}}}}`,
  ],
  [
    "definitions with such names",
    `{"$ref":"#/$defs/__proto__","$defs":{"__proto__":{"type":"object"},"constructor":{"type":"object"}}}`,
  ],
  ["a reference to the prototype", `{"type":"object","properties":{"a":{"$ref":"#/__proto__/polluted"}}}`],
  ["a reference to itself", `{"$ref":"#"}`],
  [
    "a reference to itself on a way around",
    `{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"allOf":[{"$ref":"#/properties/a"}]}}}`,
  ],
  ["a reference that is no text of a URL", `{"type":"object","properties":{"a":{"$ref":"#/%zz"}}}`],
  [
    "required names of objects",
    `{"type":"object","required":["toString","constructor"],"additionalProperties":{"type":"string"}}`,
  ],
  [
    "references that multiply",
    JSON.stringify({ $ref: "#/$defs/d0", $defs: { ...Object.fromEntries(DOUBLING), d60: { type: "object" } } }),
  ],
  ["very many keys", JSON.stringify({ type: "object", properties: Object.fromEntries(MANY) })],
  ["a schema as its own prototype", `{"__proto__":{"type":"object","required":["polluted"]},"type":"object"}`],
])("a config schema with %s changes no object of the gateway, and is read in time", async (_what, schema) => {
  const config = json(
    `{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"a":{"__proto__":{"polluted":true}}}`,
  );
  const before = Object.getOwnPropertyNames(Object.prototype);
  for (const given of [config, {}]) {
    const loaded = await loadBeside({
      code: `export default () => {};`,
      manifest: json(`{"configSchema":${schema}}`),
      config: given,
    });
    await loaded.applied;
    expect(loaded.contributions.commands.map(({ name }) => name)).toEqual(["here"]);
    const { state, why = "" } = loaded.strangeRecord() ?? {};
    expect([state, why]).toEqual(
      state === "loaded"
        ? ["loaded", ""]
        : ["failed", expect.stringMatching(/^its settings are wrong: plugins\.entries\.strange\.config[^\n]*$/)],
    );
  }
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
  expect(Reflect.get({}, "polluted")).toBeUndefined();
  expect(Reflect.get(Object, "polluted")).toBeUndefined();
});

const SLOW = "^(a+)+$";
const A_LOT = `${"a".repeat(50)}!`;

test.each([
  ["of a key", { properties: { name: { type: "string", pattern: SLOW } } }, { name: A_LOT }, "name"],
  [
    "in a list of references",
    {
      properties: { names: { type: "array", items: { $ref: "#/$defs/name" } } },
      $defs: { name: { pattern: SLOW, type: "string" } },
    },
    { names: ["b", A_LOT] },
    "names.1",
  ],
  ["of names of keys", { patternProperties: { [SLOW]: { type: "string" } } }, { [A_LOT]: "x" }, A_LOT],
  [
    "of one of several forms",
    { properties: { name: { anyOf: [{ type: "number" }, { type: "string", pattern: SLOW }] } } },
    { name: A_LOT },
    "name",
  ],
])("a pattern %s that takes for ever on a setting leaves only its plugin out", async (_what, schema, config, key) => {
  const loaded = await loadBeside({
    code: `export default () => {};`,
    manifest: { configSchema: { type: "object", ...schema } },
    config,
  });
  expect(await expectLeftOut(loaded)).toBe(
    `its settings are wrong: plugins.entries.strange.config.${key}: takes too long to check with the pattern ${SLOW} of its schema`,
  );
});

// Each takes many seconds when only the check itself is limited.
test.each([
  ["many searches that are almost slow", { type: "string", pattern: SLOW }, `${"a".repeat(20)}!`, 2000],
  [
    "many alternatives without a pattern",
    { anyOf: Array.from({ length: 1000 }, (_, i) => ({ const: i })) },
    "x",
    20_000,
  ],
])("a setting that takes long to check for %s is refused, and delays nothing", (_what, items, value, length) => {
  const checked = configSchemaOf({ configSchema: { type: "object", properties: { all: { type: "array", items } } } });
  const result = checked.safeParse({ all: Array.from({ length }, () => value) });
  // On a busy machine one of the searches alone may take too long.
  expect(result.error?.issues[0]?.message).toMatch(/^takes too long to check with (?:its schema|the pattern )/);
});

test("patterns that end refuse what they should, name the key, and leave defaults", async () => {
  const name = { type: "string", pattern: "^[a-z]+$" };
  const schema = {
    type: "object",
    properties: { name, size: { type: "number", default: 3 } },
    additionalProperties: false,
  };
  const checked = configSchemaOf({ configSchema: schema });
  expect(checked.parse({ name: "abc" })).toEqual({ name: "abc", size: 3 });
  expect(checked.safeParse({ name: "ABC" }).error?.issues).toMatchObject([{ path: ["name"], code: "invalid_format" }]);
  expect(checked.safeParse({ nam: "a" }).error?.issues).toMatchObject([{ code: "unrecognized_keys", keys: ["nam"] }]);
});

test("a command may be named with its slash, also by platform; a name with another slash leaves out the command alone", async () => {
  const { applied, contributions, strangeRecord } = await loadBeside({
    code: `export default (api) => {
      const command = { description: "Tells the weather.", handler: () => ({ text: "rain" }) };
      api.registerCommand({ ...command, name: "/Weather", nativeNames: { telegram: "/forecast", slack: "sky/today" } });
      api.registerCommand({ ...command, name: "docs/review" });
    };`,
  });
  await applied;
  const names = contributions.commands.map(({ name, aliases }) => [name, aliases]);
  expect(names).toContainEqual(["weather", ["forecast"]]);
  expect(names).toContainEqual(["here", []]);
  expect(names).toHaveLength(2);
  expect(strangeRecord()?.state).toBe("loaded");
});
