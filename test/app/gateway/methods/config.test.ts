import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { startGatewayFixture, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import type { RawClient } from "../../../kit/server/server.ts";
import { expectShape } from "../../../server/shapes.ts";

const MARK = "__OPENCLAW_REDACTED__";

let fixture: GatewayFixture;
let client: RawClient;
/** The file as the tests find it, with a comment and two secrets. */
let text = "";

beforeAll(async () => {
  fixture = await startGatewayFixture({ enabled: false });
  const found = JSON.parse(fixture.config());
  found.agents = {
    list: [
      { id: "main", default: true },
      { id: "owl", name: "Owl" },
    ],
    ...found.agents,
  };
  text = `// the house\n${JSON.stringify(found, null, 2)}\n`;
  writeFileSync(join(fixture.dir, "openclaw.json"), text);
  await fixture.restart();
  client = await fixture.client();
});
afterAll(async () => {
  await fixture.close();
});
beforeEach(() => writeFileSync(join(fixture.dir, "openclaw.json"), text));

const call = (method: string, params: object = {}) => client.ask(method, params);

const refused = (method: string, params: object) => client.refusal(method, params);

const snapshot = z.looseObject({
  hash: z.string(),
  appliedConfigHash: z.string(),
  raw: z.string().nullable(),
  valid: z.boolean(),
  issues: z.array(z.object({ path: z.string(), message: z.string() })),
  warnings: z.array(z.object({ path: z.string(), message: z.string() })),
  sourceConfig: z.record(z.string(), z.unknown()),
  resolved: z.record(z.string(), z.unknown()),
  config: z.record(z.string(), z.unknown()),
});
const get = async () => snapshot.parse(await call("config.get"));
const sha = (content: string) => createHash("sha256").update(content).digest("hex");
const onDisk = () => fixture.config();

describe("config.get", () => {
  test("has the file, the config in force and no secret", async () => {
    const got = await get();
    expect(got).toMatchObject({
      path: join(fixture.dir, "openclaw.json"),
      exists: true,
      valid: true,
      issues: [],
      legacyIssues: [],
      hash: sha(text),
      configRevisionHash: sha(text),
      includedPaths: [],
      sourceConfig: { channels: { telegram: { botToken: MARK } } },
      parsed: { channels: { telegram: { botToken: MARK } } },
      resolved: { channels: { telegram: { botToken: MARK } } },
      config: { channels: { telegram: { botToken: MARK, dmPolicy: expect.any(String) } } },
    });
    expect(JSON.stringify(got)).not.toContain(fixture.telegram.token);
    expect(got.sourceConfig).not.toHaveProperty("retention");
    expect(got.resolved).not.toHaveProperty("retention");
    expect(got.config).toHaveProperty("retention");
    expect(got.raw).toMatch(/^\/\/ the house\n/);
    expect(got.raw).toContain(`"botToken": "${MARK}"`);
    writeFileSync(join(fixture.dir, "openclaw.json"), `// "botToken": "${fixture.telegram.token}"\n${text}`);
    expect((await get()).raw).toBeNull();
  });

  test("names what is wrong with a file that is not in force", async () => {
    writeFileSync(join(fixture.dir, "openclaw.json"), text.replace('"models"', '"gateway": {"port": "x"}, "models"'));
    const { valid, issues, hash, appliedConfigHash } = await get();
    expect([valid, issues.map(({ path }) => path)]).toEqual([false, ["gateway.port"]]);
    expect(hash).not.toBe(appliedConfigHash);
    writeFileSync(join(fixture.dir, "openclaw.json"), "{");
    expect(await get()).toMatchObject({ valid: false, issues: [{ message: expect.any(String) }] });
  });
});

const shown = z.object({ schema: z.record(z.string(), z.unknown()), uiHints: z.record(z.string(), z.unknown()) });

/** Keywords that OpenClaw's form for the config understands; it shows a key with another one as "Unsupported". */
const KEYWORDS = new Set(
  (
    "$id $schema title description default deprecated examples readOnly writeOnly tags const required minimum maximum " +
    "exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format minItems maxItems uniqueItems type " +
    "properties items additionalProperties propertyNames enum anyOf oneOf allOf not"
  ).split(" "),
);

const parts = z.looseObject({ properties: z.record(z.string(), z.unknown()).catch({}) });

/** Keywords in a schema and below it that the form does not understand, with their place. */
function strangeIn(node: unknown, place: string): readonly string[] {
  const { success, data } = parts.safeParse(node);
  if (!success || Array.isArray(node)) return [];
  const { properties, items, additionalProperties, propertyNames, anyOf = [], oneOf = [], allOf = [] } = data;
  const branches = [items, additionalProperties, propertyNames, anyOf, oneOf, allOf].flat();
  return [
    ...Object.keys(data).flatMap((name) => (KEYWORDS.has(name) ? [] : [`${place}: ${name}`])),
    ...Object.entries(properties).flatMap(([name, child]) => strangeIn(child, `${place}.${name}`)),
    ...branches.flatMap((child) => strangeIn(child, `${place}.*`)),
  ];
}

describe("config.schema", () => {
  test("has keywords only that forms understand", async () => {
    const { schema } = shown.loose().parse(await call("config.schema"));
    expect(strangeIn(schema, "")).toEqual([]);
  });

  test("has the keys of the gateway, of channels and of extensions, with hints", async () => {
    const answer = await call("config.schema");
    expectShape("ConfigSchemaResponse", answer);
    const { schema, uiHints } = shown.loose().parse(answer);
    expect(schema).toMatchObject({
      properties: {
        gateway: { properties: { port: { type: "integer" } } },
        channels: {
          properties: {
            telegram: {
              title: "Telegram",
              properties: {
                botToken: {},
                dmPolicy: {},
                accounts: { additionalProperties: { properties: { botToken: {} } } },
              },
            },
          },
        },
      },
    });
    expect(uiHints).toMatchObject({
      gateway: { label: "Gateway", order: expect.any(Number) },
      "gateway.port": { label: "Port", help: expect.any(String), advanced: false },
      "gateway.auth.token": { sensitive: true },
      "channels.telegram.botToken": { sensitive: true },
      "channels.telegram.accounts.*.botToken": { sensitive: true },
      "agents.list.*.name": {},
    });
    expect(uiHints["gateway.port"]).not.toHaveProperty("sensitive");
    expect(uiHints).not.toHaveProperty("$schema");
  });

  test.each([
    ["gateway.port", { path: "gateway.port", reloadKind: "restart", hintPath: "gateway.port", children: [] }],
    ["messages", { reloadKind: "hot", hint: { label: "Messages" } }],
    ["agents.list[0].name", { path: "agents.list.0.name", hintPath: "agents.list.*.name" }],
    ["channels.telegram.accounts.work.botToken", { hintPath: "channels.telegram.accounts.*.botToken" }],
    [".", { path: "." }],
  ])("looks up %s", async (path, expected) => {
    const found = await call("config.schema.lookup", { path });
    expectShape("ConfigSchemaLookupResult", found);
    expect(found).toMatchObject(expected);
    expect(found["schema"]).not.toHaveProperty("properties");
  });

  test("a section lists its keys, and an unknown path is refused", async () => {
    const { children } = await call("config.schema.lookup", { path: "gateway" });
    expect(children).toContainEqual(
      expect.objectContaining({
        key: "port",
        path: "gateway.port",
        type: "integer",
        hasChildren: false,
        required: false,
      }),
    );
    for (const path of ["nothing.here", "gateway..port", "gateway.port.x"])
      expect(await refused("config.schema.lookup", { path })).toMatchObject({
        code: "INVALID_REQUEST",
        message: "config schema path not found",
      });
  });
});

const OLD = "config changed since last load; re-run config.get and retry";

describe("config.set", () => {
  test("changes the keys of a form, keeps comments and secrets, and applies", async () => {
    const { sourceConfig, hash } = await get();
    const next = { ...sourceConfig, messages: { responsePrefix: "[a]" } };
    const done = await call("config.set", { raw: JSON.stringify(next, null, 2), baseHash: hash });
    expect(done).toMatchObject({ ok: true, hash: sha(onDisk()), config: { messages: { responsePrefix: "[a]" } } });
    expect(JSON.stringify(done)).not.toContain(fixture.telegram.token);
    expect(onDisk()).toContain(fixture.telegram.token);
    expect(onDisk().startsWith("// the house")).toBe(true);
    await expect.poll(async () => (await get()).appliedConfigHash, { timeout: 20_000 }).toBe(sha(onDisk()));
    expect((await get()).config).toMatchObject({ messages: { responsePrefix: "[a]" } });
  });

  test("takes the text of a person as it is, with the kept secrets", async () => {
    const { sourceConfig, hash } = await get();
    const raw = `/* mine */ ${JSON.stringify({ ...sourceConfig, messages: { ackReaction: "x" } })} // end\n`;
    await call("config.set", { raw, baseHash: hash });
    expect(onDisk()).toMatch(/^\/\* mine \*\/ .* \/\/ end\n$/s);
    expect(onDisk()).toContain(fixture.telegram.token);
    expect(onDisk()).not.toContain(MARK);
  });

  test.each([
    ["no hash", () => ({ raw: "{}" }), "config base hash required; re-run config.get and retry"],
    ["an old hash", () => ({ raw: "{}", baseHash: "0".repeat(64) }), OLD],
    ["no JSON5", () => ({ raw: "{", baseHash: sha(text) }), "JSON5"],
    ["agents left out", () => ({ raw: "{}", baseHash: sha(text) }), "would remove the agents main, owl"],
  ])("refuses %s", async (_, params, message) => {
    expect(await refused("config.set", params())).toMatchObject({
      code: "INVALID_REQUEST",
      message: expect.stringContaining(message),
    });
    expect(onDisk()).toBe(text);
  });

  test("names the keys that do not fit, and writes nothing", async () => {
    const { sourceConfig, hash } = await get();
    const raw = JSON.stringify({ ...sourceConfig, messages: { ackReaction: 5 }, cron: { enabled: "x" } });
    const error = await refused("config.set", { raw, baseHash: hash });
    expect(error?.message).toMatch(/^invalid config: /);
    expect(error?.details?.["issues"]).toEqual(
      expect.arrayContaining([
        { path: "messages.ackReaction", message: expect.any(String) },
        { path: "cron.enabled", message: expect.any(String) },
      ]),
    );
    expect(onDisk()).toBe(text);
  });

  test("a placeholder that stands for nothing is refused", async () => {
    const { sourceConfig, hash } = await get();
    const raw = JSON.stringify({ ...sourceConfig, messages: { responsePrefix: MARK } });
    expect((await refused("config.set", { raw, baseHash: hash }))?.message).toContain("messages.responsePrefix");
    expect(onDisk()).toBe(text);
  });
});

describe("config.apply", () => {
  test("may remove agents, and says whether a key waits for a restart", async () => {
    const { sourceConfig, hash } = await get();
    const { agents: _agents, ...rest } = sourceConfig;
    const raw = JSON.stringify({ ...rest, hooks: { enabled: false } });
    const done = await call("config.apply", { raw, baseHash: hash, sessionKey: "agent:main:main", note: "hello" });
    expect(done).toMatchObject({
      ok: true,
      sentinel: { persisted: false, payload: { kind: "config-apply", status: "ok", message: "hello" } },
    });
    expect(JSON.parse(onDisk().replace(/^\/\/.*\n/, ""))).not.toHaveProperty("agents");
  });
});

describe("config.patch", () => {
  test("merges, and tells what it changed", async () => {
    const raw = "{messages: {responsePrefix: '[b]', /* none */ ackReaction: null}}";
    const done = await call("config.patch", { raw, baseHash: sha(text) });
    expect(done).toMatchObject({
      ok: true,
      changedPaths: ["messages"],
      config: { messages: { responsePrefix: "[b]" } },
      sentinel: { payload: { kind: "config-patch", stats: { requiresRestart: false } } },
    });
    expect(await refused("config.patch", { raw, baseHash: sha(text) })).toMatchObject({ message: OLD });
    expect(await call("config.patch", { raw })).toMatchObject({ ok: true, noop: true, changedPaths: [] });
    const waits = await call("config.patch", { raw: '{"gateway": {"bind": "auto"}}' });
    expect(waits).toMatchObject({ sentinel: { payload: { stats: { requiresRestart: true } } } });
  });

  test("merges a list by ids, and keeps a list from losing items by mistake", async () => {
    await call("config.patch", { raw: '{"agents": {"list": [{"id": "owl", "name": "Night Owl"}, {"id": "new"}]}}' });
    const { sourceConfig } = await get();
    expect(sourceConfig).toMatchObject({
      agents: { list: [{ id: "main", default: true }, { id: "owl", name: "Night Owl" }, { id: "new" }] },
    });
    const raw = '{"channels": {"telegram": {"allowFrom": ["77"]}}}';
    await call("config.patch", {
      raw: '{"channels": {"telegram": {"allowFrom": ["1", "2"]}}}',
      replacePaths: ["channels.telegram.allowFrom"],
    });
    expect((await refused("config.patch", { raw }))?.message).toContain("channels.telegram.allowFrom");
    await call("config.patch", { raw, replacePaths: ["channels.telegram.allowFrom"] });
    expect((await get()).sourceConfig).toMatchObject({ channels: { telegram: { allowFrom: ["77"] } } });
  });

  test("two patches without a hash at once are both in the file", async () => {
    await Promise.all([
      call("config.patch", { raw: '{"messages": {"responsePrefix": "[c]"}}' }),
      call("config.patch", { raw: '{"cron": {"enabled": true}}' }),
    ]);
    expect((await get()).sourceConfig).toMatchObject({ messages: { responsePrefix: "[c]" }, cron: { enabled: true } });
  });
});
