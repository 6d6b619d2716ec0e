import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildSingleProviderApiKeyCatalog } from "../../src/api/parts/provider-catalog-shared.ts";
import { defineSingleProviderPluginEntry } from "../../src/api/provider-entry.ts";
import { testPorts } from "../../testing/plugin-ports.ts";
import { Contributions } from "../../src/plugins/contributions.ts";
import { Plugins } from "../../src/plugins/host/plugins.ts";
import { readPlugin } from "../../src/plugins/manifest/read-plugin.ts";
import { Credentials } from "../../src/providers/auth/credentials.ts";
import { callModel, type CallFacts } from "../../src/providers/call.ts";
import { createModels, type ModelOptions, type Models } from "../../src/providers/catalog.ts";
import { classifyFailure } from "../../src/providers/failure.ts";
import type { AssistantMessage } from "../../src/types/run/model.ts";
import type { CallCost, ModelMeter } from "../../src/types/run/model-meter.ts";
import { Secret } from "../../src/types/secret.ts";
import { startFakeModel, type FakeModel } from "../fakes/model.ts";
import { writePlugin } from "../kit/gateway/plugins.ts";
import { folder } from "../kit/plugins/sources.ts";

const KEY = "acme-secret-key-0123456789";

let server: FakeModel;
let plugins: Plugins | undefined;
beforeEach(async () => {
  server = await startFakeModel();
});
afterEach(async () => {
  await plugins?.close();
  plugins = undefined;
  await server.close();
});

/** Loads a plugin whose `register` has these lines, and gives the models of a gateway with it. `URL` is the fake's address. */
async function modelsWith(lines: string, options: Partial<ModelOptions> = {}): Promise<Models> {
  const dir = folder();
  const code = `const URL = ${JSON.stringify(server.url)};\nexport default (api) => {${lines}};`;
  const found = await readPlugin(writePlugin(dir, { id: "acme", code, manifest: { providers: ["acme"] } }), "config");
  if (found.kind !== "found") throw new Error(found.kind);
  const contributions = new Contributions([]);
  plugins = new Plugins(contributions, testPorts({ id: "acme", folder: dir, config: {} }));
  await plugins.apply({ plugins: [found.plugin], broken: [] });
  expect(plugins.records.map(({ state, why }) => why ?? state)).toEqual(["loaded"]);
  const base = { providers: {}, env: { ACME_API_KEY: KEY }, probeLocal: false, ...options };
  return createModels(base, { contributed: contributions.modelProviders });
}

const CATALOG = `catalog: { run: async (ctx) => {
  const { apiKey } = ctx.resolveProviderApiKey("acme");
  return apiKey ? { provider: { baseUrl: URL, apiKey, api: "openai-completions", models: [
    { id: "large", name: "Acme Large", contextWindow: 50000, maxTokens: 2048, cost: { input: 1, output: 2 }, input: ["text", "video"] },
    { id: "other", name: "Other wire", api: "acme-wire", contextWindow: 50000, maxTokens: 2048 }] } } : null;
} }`;
const provider = (more = "") =>
  `api.registerProvider({ id: "acme", label: "Acme", aliases: ["ac"], envVars: ["ACME_API_KEY"], auth: [], ${CATALOG}, ${more} });`;

interface Called {
  readonly message: AssistantMessage;
  /** As it was streamed. */
  readonly text: string;
  readonly facts: CallFacts | undefined;
  readonly cost: CallCost | undefined;
}

async function call(models: Models, name: string): Promise<Called> {
  const [provider = "", id = ""] = name.split("/");
  const handle = await models.find({ provider, id });
  if ("missing" in handle) throw new Error(handle.missing);
  let facts: CallFacts | undefined;
  let cost: CallCost | undefined;
  const context = { systemPrompt: "Be brief.", messages: [{ role: "user" as const, content: "hello", timestamp: 1 }] };
  const stream = callModel(handle, context, {
    origin: { cause: "message" },
    temperature: 0.5,
    onFacts: (seen) => (facts = seen),
    onSettled: (settled) => (cost = settled),
  });
  let text = "";
  for await (const event of stream) if (event.type === "text_delta") text += event.delta;
  return { message: await stream.result(), text, facts, cost };
}

describe("a provider of models that a plugin registers", () => {
  test("is asked for its models with its key, and its models answer", async () => {
    const models = await modelsWith(provider());
    server.answer((asked) => ({ text: `${asked.model} read ${asked.said}` }));
    expect((await call(models, "acme/large")).text).toBe("large read hello");
    expect((await call(models, "ac/large")).text).toBe("large read hello");
    const listed = (await models.list()).filter((model) => model.provider === "acme");
    expect(listed).toMatchObject([
      { id: "large", name: "Acme Large", contextWindow: 50_000, maxTokens: 2048, input: ["text"], available: true },
      { id: "other" },
    ]);
    expect(await models.choose()).toEqual({ provider: "acme", id: "large" });
    expect((await models.profiles({ provider: "acme", id: "large" })).map((found) => found.profile.id)).toEqual([
      "acme:env",
    ]);
    expect(Secret.mask(`the key is ${KEY}`)).not.toContain(KEY);
  });

  test("goes through the meter", async () => {
    const refused: ModelMeter = { reserve: async () => ({ kind: "refused", reason: "The budget is used up." }) };
    const models = await modelsWith(provider(), { meter: refused });
    const { message, facts } = await call(models, "acme/large");
    expect(message.errorMessage).toContain("The budget is used up.");
    expect(facts?.kind).toBe("budget");
    expect(server.calls).toEqual([]);
    const counted = await call(await modelsWith(provider()), "acme/large");
    expect(counted.cost?.usage.input).toBeGreaterThan(0);
  });

  test("has no models without a key, and the missing key is explained", async () => {
    const models = await modelsWith(provider(), { env: {}, mode: "replace" });
    expect((await models.list()).map((model) => model.provider)).toEqual(["demo"]);
    const own = await modelsWith(
      provider(`buildMissingAuthMessage: () => "Ask Acme for a key.", staticCatalog: { run: async () => ({
      provider: { baseUrl: "https://acme.example", api: "openai-completions", models: [{ id: "large" }] } }) },`),
      { env: {}, mode: "replace" },
    );
    expect(await own.find({ provider: "acme", id: "large" })).toEqual({ missing: "Ask Acme for a key." });
    expect((await own.list()).map((model) => model.provider)).toEqual(["demo"]);
    expect((await own.list("all")).map((model) => model.provider)).toContain("acme");
  });

  test("is asked again for its models as soon as its key changes, and not before", async () => {
    const credentials = new Credentials(folder());
    const catalog = `catalog: { run: async (ctx) => {
      const { apiKey } = ctx.resolveProviderApiKey("acme");
      asked += 1;
      const models = [{ id: apiKey + " asked " + asked }];
      return apiKey ? { provider: { baseUrl: URL, apiKey, api: "openai-completions", models } } : null;
    } }`;
    const code = `let asked = 0; api.registerProvider({ id: "acme", label: "Acme", envVars: [], auth: [], ${catalog} });`;
    const models = await modelsWith(code, { env: {}, mode: "replace", credentials });
    const listed = async () => (await models.list()).flatMap(({ provider: of, id }) => (of === "acme" ? [id] : []));
    const keyed = (key: string) => ({ type: "api_key" as const, provider: "acme", key: new Secret(key) });
    expect(await listed()).toEqual([]);
    await credentials.put("acme:a", keyed("one"));
    expect(await listed()).toEqual(["one asked 2"]);
    await credentials.put("acme:a", keyed("two"));
    expect(await listed()).toEqual(["two asked 3"]);
    await credentials.put("acme:b", keyed("three"));
    expect(await listed()).toEqual(["two asked 3"]);
    await credentials.remove("acme:a");
    expect(await listed()).toEqual(["three asked 4"]);
    await credentials.remove("acme:b");
    expect(await listed()).toEqual([]);
  });

  test("is overridden by the config, key by key and model by model", async () => {
    const providers = {
      acme: { headers: { "x-mine": "yes" }, models: [{ id: "large", contextWindow: 9000 }, { id: "mine" }] },
    };
    const models = await modelsWith(provider(), { providers });
    const found = await models.find({ provider: "acme", id: "large" });
    expect(found).toMatchObject({
      info: { name: "Acme Large", contextWindow: 9000 },
      pi: { headers: { "x-mine": "yes" } },
    });
    expect((await models.list()).filter((model) => model.provider === "acme").map(({ id }) => id)).toEqual([
      "large",
      "mine",
      "other",
    ]);
  });

  test("may name, find, change and answer models, and exchange the key", async () => {
    const models = await modelsWith(
      provider(`
        normalizeModelId: ({ modelId }) => modelId === "best" ? "large" : modelId,
        prepareDynamicModel: async ({ modelId }) => { globalThis.acmePrepared = modelId; },
        resolveDynamicModel: ({ modelId, provider }) => modelId !== globalThis.acmePrepared || !modelId.startsWith("dyn") ? null :
          { id: modelId, name: "Found", provider, api: "openai-completions", baseUrl: URL, contextWindow: 40000, maxTokens: 1000 },
        normalizeResolvedModel: ({ model }) => model.id === "dyn-2" ? { ...model, id: "dyn-2-on-the-wire" } : undefined,
        prepareExtraParams: ({ extraParams }) => ({ ...extraParams, temperature: extraParams.temperature / 2, extra_body: { acme_mode: "fast" } }),
        prepareRuntimeAuth: async ({ apiKey, profileId }) => profileId === "acme:env" && { apiKey: "exchanged-" + apiKey.slice(0, 4) },
        wrapStreamFn: ({ streamFn, thinkingLevel }) => (model, context, options) =>
          streamFn(model, { ...context, systemPrompt: "Thinking " + thinkingLevel + ". " + context.systemPrompt }, options),
        createStreamFn: ({ model }) => model.api !== "acme-wire" ? undefined : async function* (asked, context, options) {
          const usage = { input: 3, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 5, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
          const content = [{ type: "text", text: context.systemPrompt + " with " + options.apiKey }];
          const message = { role: "assistant", content, api: asked.api, provider: asked.provider, model: asked.id, usage, stopReason: "stop", timestamp: 1 };
          yield { type: "start", partial: { ...message, content: [] } };
          yield { type: "done", reason: "stop", message };
        },`),
    );
    server.answer((asked) => ({ text: `${asked.model}: ${asked.system}` }));
    expect((await call(models, "acme/best")).text).toBe("large: Thinking off. Be brief.");
    expect(server.calls[0]?.body).toMatchObject({ temperature: 0.25, acme_mode: "fast" });
    expect((await call(models, "acme/dyn-1")).text).toContain("dyn-1:");
    expect(await models.find({ provider: "acme", id: "dyn-1" })).toMatchObject({ info: { contextWindow: 40_000 } });
    expect((await call(models, "acme/dyn-2")).text).toContain("dyn-2-on-the-wire:");
    expect((await call(models, "acme/other")).text).toBe("Thinking off. Be brief. with exchanged-acme");
  });

  test.each([
    { what: "throws", code: `() => () => { throw new Error("the plugin broke"); }`, told: "the plugin broke" },
    { what: "gives no stream", code: `() => () => 7`, told: "gave no stream" },
    { what: "gives no events", code: `() => async function* () { yield 7; }`, told: "no event of a stream" },
    { what: "just ends", code: `() => async function* () {}`, told: "ended before its last event" },
    { what: "is no function", code: `() => 7`, told: "takes a function" },
  ])("fails the call when its stream $what", async ({ code, told }) => {
    const { message } = await call(await modelsWith(provider(`wrapStreamFn: ${code},`)), "acme/large");
    expect(message.stopReason).toBe("error");
    expect(message.errorMessage).toContain(told);
  });

  test("says what its failures mean", async () => {
    const models = await modelsWith(
      provider(`
        matchesContextOverflowError: ({ errorMessage }) => errorMessage.includes("the barrel is full"),
        classifyFailoverReason: ({ errorMessage, status }) => status === 400 && errorMessage.includes("moon") ? "billing" : undefined,`),
    );
    const kindOf = async (message: string, status = 400) => {
      server.answer(() => ({ status, message }));
      const { message: failed, facts } = await call(models, "acme/large");
      return classifyFailure(failed.errorMessage ?? "", facts).kind;
    };
    expect(await kindOf("quota of the moon")).toBe("billing");
    expect(await kindOf("the barrel is full")).toBe("context_overflow");
    expect(await kindOf("slow down", 429)).toBe("rate_limit");
  });

  test("is used without what fails in it, and its unused parts are noted", async () => {
    const models = await modelsWith(`
      api.registerModelCatalogProvider({});
      api.registerProvider({ id: "acme", auth: [{ id: "web", kind: "oauth" }, { id: "key", kind: "api_key" }],
        isCacheTtlEligible: () => true, wizard: {},
        normalizeModelId: () => { throw new Error("no"); },
        catalog: { run: async () => { throw new Error("offline"); } },
        staticCatalog: { run: async () => ({ provider: { baseUrl: URL, api: "openai-completions", apiKey: "brought-key-0123", models: [{ id: "large" }] } }) } });`);
    server.answer(() => ({ text: "still here" }));
    expect((await call(models, "acme/large")).text).toBe("still here");
    expect((await models.profiles({ provider: "acme", id: "large" })).map((found) => found.profile.id)).toEqual([
      "acme:plugin",
    ]);
    expect(plugins?.records[0]).toMatchObject({
      neverCalled: ["registerModelCatalogProvider", "registerProvider.isCacheTtlEligible"],
      notServed: ["registerProvider.auth (web: oauth)"],
      added: { providers: ["acme"] },
    });
  });
});

test("a plugin may be nothing but one provider", async () => {
  const entry = defineSingleProviderPluginEntry({
    id: "acme",
    name: "Acme",
    provider: {
      label: "Acme",
      auth: [{ methodId: "api-key", label: "Key", envVar: "ACME_API_KEY" }],
      catalog: { buildProvider: () => ({ baseUrl: server.url, models: [] }), allowExplicitBaseUrl: true },
      normalizeModelId: () => "large",
    },
  });
  const registered: unknown[] = [];
  entry.register({ registerProvider: (given: unknown) => registered.push(given) });
  expect(registered).toEqual([
    expect.objectContaining({
      id: "acme",
      label: "Acme",
      envVars: ["ACME_API_KEY"],
      auth: [expect.objectContaining({ kind: "api_key" })],
      normalizeModelId: expect.any(Function),
    }),
  ]);
  const ctx = (apiKey: string | undefined) => ({
    config: { models: { providers: { acme: { baseUrl: "http://mine" } } } },
    resolveProviderApiKey: () => ({ apiKey }),
  });
  const options = { providerId: "acme", buildProvider: () => ({ baseUrl: server.url, models: [] }) };
  expect(await buildSingleProviderApiKeyCatalog({ ...options, ctx: ctx(undefined) })).toBeNull();
  expect(await buildSingleProviderApiKeyCatalog({ ...options, ctx: ctx(KEY) })).toEqual({
    provider: { baseUrl: server.url, models: [], apiKey: KEY },
  });
  expect(
    await buildSingleProviderApiKeyCatalog({ ...options, ctx: ctx(KEY), allowExplicitBaseUrl: true }),
  ).toMatchObject({
    provider: { baseUrl: "http://mine" },
  });
});
