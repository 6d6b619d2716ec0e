import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { startFakeModel, type FakeModel, type ModelReply } from "../../../fakes/model.ts";
import { startGatewayFixture, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import type { RawClient } from "../../../kit/server/server.ts";
import { ODD_SERVERS, oddServer } from "../../onboard/odd-servers.ts";
import { expectShape } from "../../../server/shapes.ts";

const KEY = "sk-key-of-the-setup-test-1234567890";
const OTHER_KEY = "sk-another-key-of-the-setup-test-567";

let model: FakeModel;
let fixture: GatewayFixture;
let client: RawClient;
/** A config that knows where OpenAI is, and names no model. */
let text = "";
let keyFile = "";

beforeAll(async () => {
  model = await startFakeModel();
  fixture = await startGatewayFixture({ enabled: false });
  const { agents: _agents, ...found } = z.looseObject({}).parse(JSON.parse(fixture.config()));
  const openai = { baseUrl: model.url, api: "openai-completions" };
  text = `// the house\n${JSON.stringify({ ...found, models: { providers: { openai } } }, null, 2)}\n`;
  keyFile = join(fixture.dir, "credentials", "auth-profiles.json");
  writeFileSync(join(fixture.dir, "openclaw.json"), text);
  await fixture.restart();
  client = await fixture.client();
});
afterAll(async () => {
  await fixture.close();
  await model.close();
});
beforeEach(async () => {
  rmSync(keyFile, { force: true });
  writeFileSync(join(fixture.dir, "openclaw.json"), text);
  await call("secrets.reload");
  model.answer(() => ({ text: "OK" }));
});

const call = (method: string, params: object = {}) => client.ask(method, params);

const refused = (method: string, params: object) => client.refusal(method, params);
const typed = (more: object = {}) => ({ kind: "api-key", authChoice: "openai-api-key", apiKey: KEY, ...more });
const activate = (params: object) => call("openclaw.setup.activate", params);
const onlyKey = (key: string) => (given: string | undefined, good: ModelReply) =>
  given === key ? good : { status: 401, message: "Incorrect API key provided" };

const keysOnDisk = () =>
  z.looseObject({ profiles: z.looseObject({}) }).parse(JSON.parse(readFileSync(keyFile, "utf8")));

function nothingSaved(): void {
  expect(fixture.config()).toBe(text);
  expect(() => readFileSync(keyFile)).toThrow("ENOENT");
}

/** Without a model's name the list is asked first, and a server may have none. */
const unnamed = (sentence: RegExp) => new RegExp(`${sentence.source}|lists no model`);

describe("openclaw.setup.activate", () => {
  test("saves key and model once the model answered, and the next chat uses both", async () => {
    const may = onlyKey(KEY);
    model.answer(({ key }) => may(key, { text: "Good morning." }));
    const result = await activate(typed({ modelRef: "gpt-4.1" }));
    expectShape("SystemAgentSetupActivateResult", result);
    expect(result).toMatchObject({ ok: true, status: "ok", modelRef: "openai/gpt-4.1" });
    expect(keysOnDisk().profiles).toEqual({ "openai:default": { type: "api_key", provider: "openai", key: KEY } });
    expect(fixture.config()).toMatch(/^\/\/ the house\n/);
    expect(fixture.config()).not.toContain(KEY);
    expect(JSON.parse(fixture.config().slice("// the house".length))).toMatchObject({
      agents: { defaults: { model: { primary: "openai/gpt-4.1" } } },
    });
    const sent = await client.request("chat.send", { sessionKey: "main", message: "hello", idempotencyKey: "first" });
    expect(sent).toMatchObject({ ok: true });
    await client.request("agent.wait", { runId: "first", timeoutMs: 60_000 });
    expect(model.calls.at(-1)).toMatchObject({ model: "gpt-4.1", key: KEY });
    expect(await call("status")).toMatchObject({ model: { provider: "openai", id: "gpt-4.1" } });
  });

  test("the key is in no answer and no event", async () => {
    model.answer(({ key }) => ({ status: 401, message: `Incorrect API key provided: ${key ?? ""}` }));
    await activate(typed({ apiKey: OTHER_KEY }));
    model.answer(() => ({ text: "OK" }));
    await activate(typed({ apiKey: OTHER_KEY }));
    await call("config.get");
    await call("models.authStatus");
    const requests = client.frames.filter((frame) => frame["type"] !== "req");
    expect(JSON.stringify(requests)).not.toContain(OTHER_KEY);
    expect(fixture.config()).not.toContain(OTHER_KEY);
  });

  test.each<[string, ModelReply, object]>([
    ["a refused key", { status: 401, message: "Incorrect API key" }, { status: "auth", mend: "key" }],
    ["no credit", { status: 402, message: "Insufficient credits" }, { status: "billing", mend: "account" }],
    ["a limit", { status: 429, message: "Rate limit reached" }, { status: "rate_limit", mend: "nothing" }],
    [
      "an unknown model",
      { status: 404, message: "The model `gpt-9` does not exist" },
      { status: "unavailable", mend: "model", models: ["fake-1"] },
    ],
    ["a lost connection", "reset", { status: "unavailable", mend: "address" }],
  ])("saves nothing after %s, and says in a sentence what is wrong", async (_what, reply, expected) => {
    model.answer(() => reply);
    const result = await activate(typed({ modelRef: "openai/gpt-9" }));
    expect(result).toMatchObject({ ok: false, ...expected });
    expect(result["error"]).toMatch(/^[A-Z\d].*\.$/);
    expect(result["error"]).not.toMatch(/openclaw |HTTP|\b4\d\d\b/);
    nothingSaved();
  });

  test("asks a server that the person names, takes its model, and keeps what the config has", async () => {
    const { host } = new URL(model.url);
    const id = `custom-${host.replace(/[^a-z0-9]+/g, "-")}`;
    const custom = { kind: "api-key", authChoice: "custom-api-key", baseUrl: `${model.url}/`, apiKey: "" };
    expect(await activate(custom)).toMatchObject({ ok: true, modelRef: `${id}/fake-1` });
    expect(JSON.parse(fixture.config().slice("// the house".length))).toMatchObject({
      models: {
        providers: {
          openai: { baseUrl: model.url },
          [id]: { baseUrl: model.url, api: "openai-completions", models: [{ id: "fake-1" }] },
        },
      },
      agents: { defaults: { model: { primary: `${id}/fake-1` } } },
    });
    expect(await activate({ ...custom, modelRef: "fake-2", apiKey: KEY })).toMatchObject({ modelRef: `${id}/fake-2` });
    expect(JSON.parse(fixture.config().slice("// the house".length))).toMatchObject({
      models: { providers: { [id]: { models: [{ id: "fake-1" }, { id: "fake-2" }] } } },
    });
    expect(Object.keys(keysOnDisk().profiles)).toEqual([`${id}:default`]);
  });

  test("says so when a named server is no model server, or none answers there", async () => {
    const custom = { kind: "api-key", authChoice: "custom-api-key", modelRef: "m" };
    model.answer(() => ({ status: 404, message: "no" }));
    model.listStatus = 404;
    expect(await activate({ ...custom, baseUrl: model.url })).toMatchObject({ ok: false, mend: "address" });
    model.listStatus = 200;
    const nobody = await activate({ ...custom, baseUrl: "http://127.0.0.1:1/v1" });
    expect(nobody).toMatchObject({ ok: false, status: "unavailable", mend: "address" });
    expect(nobody["error"]).toContain("127.0.0.1:1 cannot be reached");
    nothingSaved();
  });

  test.each(ODD_SERVERS)("tells %s apart at a named server", async (_what, reply, sentence) => {
    const baseUrl = await oddServer(reply);
    const custom = { kind: "api-key", authChoice: "custom-api-key", baseUrl, apiKey: KEY };
    const result = await activate({ ...custom, modelRef: "m1" });
    expect(result).toMatchObject({ ok: false, error: expect.stringMatching(sentence) });
    if (!sentence.source.includes("m1"))
      expect(await activate(custom)).toMatchObject({ ok: false, error: expect.stringMatching(unnamed(sentence)) });
    nothingSaved();
  });

  test("a new key replaces a refused one, also where another key of the provider is stored", async () => {
    const may = onlyKey(KEY);
    model.answer(({ key }) => may(key, { text: "OK" }));
    const old = { type: "api_key", provider: "openai", key: OTHER_KEY };
    writeFileSync(keyFile, JSON.stringify({ version: 1, profiles: { "openai:work": old } }), { mode: 0o600 });
    expect(await activate(typed())).toMatchObject({ ok: true });
    expect(keysOnDisk()).toMatchObject({ order: { openai: ["openai:default", "openai:work"] } });
    await client.request("chat.send", { sessionKey: "main", message: "hello", idempotencyKey: "again" });
    await client.request("agent.wait", { runId: "again", timeoutMs: 60_000 });
    expect(model.calls.at(-1)).toMatchObject({ key: KEY });
  });

  test("leaves the keys as they were when the config cannot be written", async () => {
    const old = { type: "api_key", provider: "openai", key: OTHER_KEY };
    writeFileSync(keyFile, JSON.stringify({ version: 1, profiles: { "openai:default": old } }), { mode: 0o600 });
    writeFileSync(join(fixture.dir, "openclaw.json"), "{ broken");
    expect(await refused("openclaw.setup.activate", typed())).toMatchObject({ code: "INVALID_REQUEST" });
    expect(keysOnDisk()).toMatchObject({ profiles: { "openai:default": old } });
    rmSync(keyFile);
    expect(await refused("openclaw.setup.activate", typed())).toMatchObject({ code: "INVALID_REQUEST" });
    expect(keysOnDisk().profiles).toEqual({});
    expect(fixture.config()).toBe("{ broken");
  });

  test("adds a named key and a fallback, and leaves the model that is asked first", async () => {
    await activate(typed({ modelRef: "gpt-4.1" }));
    const before = fixture.config();
    expect(await activate(typed({ apiKey: OTHER_KEY, keyName: "work", use: "none" }))).toMatchObject({ ok: true });
    expect(fixture.config()).toBe(before);
    expect(keysOnDisk()).toMatchObject({
      profiles: { "openai:default": { key: KEY }, "openai:work": { key: OTHER_KEY } },
      order: { openai: ["openai:work", "openai:default"] },
    });
    const fallback = { kind: "existing-model", modelRef: "openai/gpt-4.1-mini", use: "fallback" };
    for (const _ of ["added", "there already"]) expect(await activate(fallback)).toMatchObject({ ok: true });
    expect(JSON.parse(fixture.config().slice("// the house".length))).toMatchObject({
      agents: { defaults: { model: { primary: "openai/gpt-4.1", fallbacks: ["openai/gpt-4.1-mini"] } } },
    });
  });

  test("refuses a choice that lacks something, and names the field", async () => {
    const calls = model.calls.length;
    const fields = async (params: object) => (await refused("openclaw.setup.activate", params))?.details?.["field"];
    expect(await fields(typed({ apiKey: " " }))).toBe("apiKey");
    expect(await fields(typed({ apiKey: "two words" }))).toBe("apiKey");
    expect(await fields(typed({ authChoice: "no-such" }))).toBe("authChoice");
    expect(await fields(typed({ authChoice: "custom-api-key", baseUrl: "ftp:x" }))).toBe("baseUrl");
    expect(await fields(typed({ keyName: "env" }))).toBe("keyName");
    expect(await fields(typed({ keyName: "two words" }))).toBe("keyName");
    expect(model.calls).toHaveLength(calls);
    nothingSaved();
  });

  test("uses a key of the environment without storing it", async () => {
    vi.stubEnv("OPENAI_API_KEY", KEY);
    try {
      const found = await call("openclaw.setup.detect");
      expectShape("SystemAgentSetupDetectResult", { ...found, candidates: [], manualProviders: [] });
      expect(found["candidates"]).toContainEqual(
        expect.objectContaining({ kind: "openai-api-key", detail: "key in OPENAI_API_KEY" }),
      );
      expect(JSON.stringify(found)).not.toContain(KEY);
      expect(await activate({ kind: "openai-api-key", modelRef: "openai/gpt-4.1" })).toMatchObject({ ok: true });
    } finally {
      vi.unstubAllEnvs();
    }
    expect(model.calls.at(-1)).toMatchObject({ key: KEY, model: "gpt-4.1" });
    expect(() => readFileSync(keyFile)).toThrow("ENOENT");
  });
});

test("openclaw.setup.verify asks the model of the config", async () => {
  await activate(typed());
  const good = await call("openclaw.setup.verify");
  expectShape("SystemAgentSetupVerifyResult", good);
  expect(good).toMatchObject({ ok: true, modelRef: expect.stringMatching(/^openai\//) });
  model.answer(() => ({ status: 401, message: "Incorrect API key" }));
  const bad = await call("openclaw.setup.verify");
  expectShape("SystemAgentSetupVerifyResult", bad);
  expect(bad).toMatchObject({ ok: false, status: "auth" });
});

describe("models.authStatus", () => {
  const keys = z.looseObject({
    providers: z.array(z.looseObject({ provider: z.string(), status: z.string(), profiles: z.array(z.unknown()) })),
    problems: z.array(z.string()).optional(),
  });
  const read = async () => keys.parse(await call("models.authStatus"));
  const ofOpenai = async () => (await read()).providers.find(({ provider }) => provider === "openai");

  test("says where and until when a key cools down, until a test of it has an answer", async () => {
    await activate(typed({ modelRef: "gpt-4.1" }));
    const good = { profileId: "openai:default", status: "static", source: "stored" };
    expect(await ofOpenai()).toEqual(
      expect.objectContaining({ status: "static", profiles: [{ ...good, type: "api_key" }] }),
    );
    model.answer(() => ({ status: 401, message: "Incorrect API key provided" }));
    await client.request("chat.send", { sessionKey: "main", message: "hello", idempotencyKey: "cools" });
    await client.request("agent.wait", { runId: "cools", timeoutMs: 60_000 });
    const cooldown = { model: "openai/gpt-4.1", because: "auth", until: expect.any(Number) };
    expect(await ofOpenai()).toMatchObject({ profiles: [{ ...good, cooldowns: [cooldown] }] });
    expect(await call("models.probe", { provider: "openai" })).toMatchObject({ status: "auth" });
    expect(await ofOpenai()).toMatchObject({ profiles: [{ ...good, cooldowns: [cooldown] }] });
    model.answer(() => ({ text: "OK" }));
    expect(await call("models.probe", { provider: "openai" })).toMatchObject({ status: "ok" });
    expect(await ofOpenai()).toEqual(expect.objectContaining({ profiles: [{ ...good, type: "api_key" }] }));
  });

  test("names the keys that are not asked, also of a provider that has no other, with the reason", async () => {
    const over = { type: "token", provider: "acme", token: "t-1", expires: 1000 };
    const spare = { type: "api_key", provider: "openai", key: OTHER_KEY };
    const profiles = { "acme:old": over, "openai:spare": spare, "openai:default": { ...spare, key: KEY } };
    writeFileSync(keyFile, JSON.stringify({ version: 1, profiles, order: { openai: ["openai:default"] } }));
    const { providers } = await read();
    expect(providers).toContainEqual(
      expect.objectContaining({
        provider: "acme",
        status: "expired",
        profiles: [expect.objectContaining({ profileId: "acme:old", status: "expired", note: "its time is over" })],
      }),
    );
    expect(providers.find(({ provider }) => provider === "openai")).toMatchObject({
      status: "static",
      profiles: [
        { profileId: "openai:default", status: "static" },
        { profileId: "openai:spare", status: "missing", note: "not in the order" },
      ],
    });
  });

  test("says that the file of keys cannot be read", async () => {
    writeFileSync(keyFile, "{ broken");
    expect((await read()).problems).toEqual([expect.stringContaining("is no JSON")]);
  });
});
