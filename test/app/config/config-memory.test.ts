import { expect, test } from "vitest";
import { loadConfigText } from "../../kit/config-text.ts";
import { resolveAgents } from "../../../src/app/config/settings.ts";

async function memoryOf(memorySearch: unknown, more: Record<string, unknown> = {}, own?: unknown) {
  const list = own === undefined ? [] : [{ id: "main", memorySearch: own }];
  const text = JSON.stringify({ agents: { defaults: { memorySearch }, list }, ...more });
  const { config, warnings } = await loadConfigText(text, {
    path: "/x/openclaw.json",
    env: { KEY: "key-of-the-service" },
  });
  const [agent] = resolveAgents(config, { home: "/", stateDir: "/" });
  return { settings: agent?.memorySearch, warnings };
}

test("without a provider nothing is sent anywhere, and the notes are searched", async () => {
  for (const asked of [{}, { provider: "none" }, { provider: "openai", query: { hybrid: { enabled: false } } }]) {
    expect((await memoryOf(asked)).settings).toEqual({ isOn: true, sources: ["memory"] });
  }
});

test("memorySearch can be off, and says how many results there are", async () => {
  const { settings } = await memoryOf({ enabled: false, query: { maxResults: 3, minScore: 0.5 } });
  expect(settings).toEqual({ isOn: false, sources: ["memory"], maxResults: 3, minScore: 0.5 });
});

test("conversations are a source only where the experiment is allowed too", async () => {
  const sources = ["memory", "sessions"];
  expect((await memoryOf({ sources })).settings?.sources).toEqual(["memory"]);
  expect((await memoryOf({ sources, experimental: { sessionMemory: true } })).settings?.sources).toEqual(sources);
});

test("a provider brings its address and usual model; remote and the weights override them", async () => {
  expect((await memoryOf({ provider: "mistral" })).settings?.vectors).toEqual({
    provider: "mistral",
    model: "mistral-embed",
    url: "https://api.mistral.ai/v1",
    weight: 0.3,
  });
  const { settings } = await memoryOf({
    provider: "openai-compatible",
    model: "m",
    remote: { baseUrl: "http://127.0.0.1:1/v1/", apiKey: "${KEY}", headers: { "x-tenant": "t1" } },
    outputDimensionality: 64,
    inputType: "text",
    queryInputType: "query",
    documentInputType: "document",
    query: { hybrid: { enabled: true, vectorWeight: 0.6, textWeight: 0.2 } },
  });
  const { key, headers, ...rest } = settings?.vectors ?? {};
  expect(rest).toEqual({
    provider: "openai-compatible",
    model: "m",
    url: "http://127.0.0.1:1/v1",
    dimensions: 64,
    queryInputType: "query",
    documentInputType: "document",
    weight: expect.closeTo(0.75) as number,
    // It is a server of this machine.
    price: 0,
  });
  expect(key?.reveal()).toBe("key-of-the-service");
  expect(headers?.["x-tenant"]?.reveal()).toBe("t1");
  const both = await memoryOf({ provider: "voyage", inputType: "text" });
  expect(both.settings?.vectors).toMatchObject({ queryInputType: "text", documentInputType: "text" });
});

test("the key of a configured provider goes to the address of that provider alone", async () => {
  const cost = { input: 2, output: 0, cacheRead: 0, cacheWrite: 0 };
  const mine = { baseUrl: "http://127.0.0.1:2/v1", apiKey: "key-of-mine-alone", models: [{ id: "m", cost }] };
  const models = { providers: { mine } };
  const { settings } = await memoryOf({ provider: "mine", model: "m" }, { models });
  expect([settings?.vectors?.url, settings?.vectors?.key?.reveal()]).toEqual([
    "http://127.0.0.1:2/v1",
    "key-of-mine-alone",
  ]);
  expect(settings?.vectors?.price).toBe(0.000_002);
  const remote = { baseUrl: "http://127.0.0.1:3/v1" };
  const elsewhere = await memoryOf({ provider: "mine", model: "m", remote }, { models });
  expect([elsewhere.settings?.vectors?.url, elsewhere.settings?.vectors?.key]).toEqual([remote.baseUrl, undefined]);
});

test("what is missing is named", async () => {
  const problem = async (asked: unknown) => (await memoryOf(asked)).settings?.vectorsProblem;
  expect(await problem({ provider: "ollama" })).toContain("memorySearch.model");
  expect(await problem({ provider: "nobody", model: "m" })).toContain("memorySearch.remote.baseUrl");
});

test("an agent's own keys override those of agents.defaults, each for itself", async () => {
  const defaults = { provider: "openai", model: "a", remote: { apiKey: "${KEY}" }, query: { maxResults: 4 } };
  const { settings } = await memoryOf(defaults, {}, { model: "b", query: { minScore: 0.1 } });
  expect(settings).toMatchObject({ maxResults: 4, minScore: 0.1, vectors: { provider: "openai", model: "b" } });
  expect(settings?.vectors?.key?.reveal()).toBe("key-of-the-service");
});

test("a key that has no effect here is named in a warning", async () => {
  const { warnings } = await memoryOf({ sync: { watch: true } });
  expect(warnings.map(({ key }) => key)).toEqual(["agents.defaults.memorySearch.sync"]);
});

test("memory.citations says whether results have their places", async () => {
  expect((await memoryOf({}, { memory: { citations: "off" } })).settings).toMatchObject({ citations: "off" });
  expect((await memoryOf({}, { memory: { citations: "on" } })).settings).toMatchObject({ citations: "on" });
  expect((await memoryOf({}, { memory: { citations: "auto" } })).settings).not.toHaveProperty("citations");
  const { warnings } = await memoryOf({}, { memory: { backend: "qmd" } });
  expect(warnings.map(({ key }) => key)).toEqual(["memory.backend"]);
});

test("startupContext says which notes of the last days a fresh session begins with", async () => {
  const startupOf = async (startupContext: unknown) => {
    const text = JSON.stringify({ agents: { defaults: { startupContext } } });
    const { config } = await loadConfigText(text, { path: "/x/openclaw.json", env: {} });
    return resolveAgents(config, { home: "/", stateDir: "/" })[0]?.prompt.startup;
  };
  const usual = { applyOn: ["new", "reset"], days: 2, maxFileBytes: 16_384, maxFileChars: 1200, maxTotalChars: 2800 };
  expect(await startupOf({})).toEqual(usual);
  expect(await startupOf({ enabled: false })).toBeUndefined();
  const own = { applyOn: ["reset"], maxFileBytes: 100, maxFileChars: 50, maxTotalChars: 60 };
  expect(await startupOf({ ...own, dailyMemoryDays: 5 })).toEqual({ ...own, days: 5 });
});

test("memorySearch.extraPaths are those of the agent, else those of all", async () => {
  expect((await memoryOf({ extraPaths: ["~/notes"] })).settings?.extraPaths).toEqual(["~/notes"]);
  expect((await memoryOf({ extraPaths: ["a"] }, {}, { extraPaths: ["b"] })).settings?.extraPaths).toEqual(["b"]);
});
