import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createModels, type Models } from "../../src/providers/catalog.ts";
import { isNear } from "../../src/providers/server-limits.ts";
import type { FailureOfKey } from "../../src/types/auth.ts";
import type { ProviderSettings } from "../../src/types/run/model-provider.ts";
import { silentLog, stoppedClock } from "./stage.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

type Pages = Readonly<Record<string, unknown>>;

/** A model server that knows these addresses and no other; what is asked is kept. */
async function serverOf(pages: () => Pages): Promise<{ root: string; asked: string[] }> {
  const asked: string[] = [];
  const server = http.createServer((request, response) => {
    asked.push(request.url ?? "");
    const page = pages()[request.url ?? ""];
    response.writeHead(page === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(page ?? { error: "no such page" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { root: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const REF = { provider: "mine", id: "small-1" };

function modelsAt(root: string, more: Partial<ProviderSettings> = {}) {
  const clock = stoppedClock();
  const { log, lines } = silentLog();
  const mine = { baseUrl: `${root}/v1`, api: "openai-completions", ...more };
  // Only the server of the config is asked: those of this machine are other people's.
  const models = createModels({ providers: { mine }, env: {}, localServers: [], probeMs: 60_000, clock, log });
  return { models, clock, lines };
}

async function handleOf(models: Models) {
  const found = await models.find(REF);
  if ("missing" in found) throw new Error(found.missing);
  return found;
}

async function limitsOf(models: Models) {
  const found = await handleOf(models);
  const { contextWindow, maxTokens } = found.pi;
  expect(found.info).toMatchObject({ contextWindow, maxTokens });
  return { contextWindow, maxTokens };
}

const list = (row: object) => ({ object: "list", data: [{ id: REF.id, object: "model", ...row }] });

describe("the window of a model of one's own server", () => {
  it.each<[string, Pages]>([
    [
      "llama.cpp",
      {
        "/props": { default_generation_settings: { n_ctx: 4096 }, total_slots: 1 },
        "/v1/models": list({ meta: { n_ctx_train: 131_072 } }),
      },
    ],
    ["llama.cpp's list", { "/v1/models": list({ meta: { n_ctx: 4096, n_ctx_train: 131_072 } }) }],
    ["vLLM", { "/v1/models": list({ max_model_len: 4096 }) }],
    [
      "LM Studio",
      { "/v1/models": list({}), "/api/v0/models": list({ loaded_context_length: 4096, max_context_length: 131_072 }) },
    ],
    ["LM Studio, not loaded", { "/v1/models": list({}), "/api/v0/models": list({ max_context_length: 4096 }) }],
    ["Ollama", { "/v1/models": list({}), "/api/ps": { models: [{ name: REF.id, context_length: 4096 }] } }],
    [
      "Ollama, not loaded",
      {
        "/api/ps": { models: [] },
        "/api/show": { parameters: 'stop "x"\nnum_ctx   4096', model_info: { "llama.context_length": 131_072 } },
      },
    ],
    [
      "Ollama without num_ctx",
      { "/api/ps": { models: [] }, "/api/show": { model_info: { "llama.context_length": 4096 } } },
    ],
  ])("is read from %s", async (_name, pages) => {
    const { root } = await serverOf(() => pages);
    const { models, lines } = modelsAt(root);
    expect(await limitsOf(models)).toEqual({ contextWindow: 4096, maxTokens: 1024 });
    expect(await limitsOf(models)).toEqual({ contextWindow: 4096, maxTokens: 1024 });
    expect(lines.filter((line) => line.includes("window is small"))).toHaveLength(1);
  });

  it("is asked once a minute, and again after a failure", async () => {
    let n_ctx = 4096;
    const { root, asked } = await serverOf(() => ({ "/props": { default_generation_settings: { n_ctx } } }));
    const { models, clock } = modelsAt(root);
    await limitsOf(models);
    const once = asked.length;
    expect(await limitsOf(models)).toMatchObject({ contextWindow: 4096 });
    expect(asked).toHaveLength(once);
    n_ctx = 8192;
    clock.pass(61_000);
    expect(await limitsOf(models)).toMatchObject({ contextWindow: 8192 });
    n_ctx = 2048;
    models.keys.failed(REF, "mine:none", { kind: "network" });
    expect(await limitsOf(models)).toMatchObject({ contextWindow: 2048, maxTokens: 512 });
  });

  it("is cut in requests to what a refusal names, and nothing else follows from that", async () => {
    const { root } = await serverOf(() => ({ "/v1/models": list({}) }));
    const { models, lines } = modelsAt(root);
    const found = async () => {
      const { info, pi, limits } = await handleOf(models);
      return [info.contextWindow, pi.contextWindow, pi.maxTokens, limits.named];
    };
    expect(await found()).toEqual([128_000, 128_000, 8192, undefined]);
    models.keys.failed(REF, "mine:none", { kind: "context_overflow", limitTokens: 6000 });
    expect(await found()).toEqual([128_000, 6000, 1500, 6000]);
    models.keys.failed(REF, "mine:none", { kind: "output_limit", maxOutputTokens: 1000 });
    expect(await found()).toEqual([128_000, 6000, 1000, 6000]);
    expect(lines.filter((line) => line.includes("fewer tokens"))).toHaveLength(1);
  });

  it.each<[string, FailureOfKey]>([
    ["an overflow without a figure", { kind: "context_overflow" }],
    ["an overflow that names what is no window", { kind: "context_overflow", limitTokens: 40 }],
    ["a limit of bytes", { kind: "request_size" }],
    ["a half that was only tried", { kind: "output_limit", maxOutputTokens: 1000, isOfRequest: true }],
    ["an answer that shares the window", { kind: "output_limit", maxOutputTokens: 1000, limitTokens: 6000 }],
    ["a wrong form", { kind: "format" }],
  ])("is not what %s teaches", async (_name, failure) => {
    const { root } = await serverOf(() => ({ "/v1/models": list({}) }));
    const { models } = modelsAt(root);
    models.keys.failed(REF, "mine:none", failure);
    expect(await limitsOf(models)).toEqual({ contextWindow: 128_000, maxTokens: 8192 });
    expect((await handleOf(models)).limits).toMatchObject({ named: undefined, answer: undefined });
  });

  it("is not what a refusal to another key names", async () => {
    const { root } = await serverOf(() => ({ "/v1/models": list({}) }));
    const { models } = modelsAt(root);
    models.keys.failed(REF, "mine:other", { kind: "context_overflow", limitTokens: 6000 });
    expect(await limitsOf(models)).toEqual({ contextWindow: 128_000, maxTokens: 8192 });
  });

  it.each<[string, (models: Models) => void]>([
    ["fifty answers", (models) => Array.from({ length: 50 }, () => models.keys.succeeded(REF, "mine:none"))],
    ["the server was gone", (models) => models.keys.failed(REF, "mine:none", { kind: "network" })],
    ["the server loads another model", (models) => models.keys.failed(REF, "mine:none", { kind: "loading" })],
  ])("is the config's again after %s, for all and for the session that was refused", async (_name, pass) => {
    const { root } = await serverOf(() => ({ "/v1/models": list({}) }));
    const { models } = modelsAt(root);
    models.keys.failed(REF, "mine:none", { kind: "context_overflow", limitTokens: 6000 });
    const { limits } = await handleOf(models);
    limits.refused("session-b", 5000);
    expect([limits.shownTo("session-a"), limits.shownTo("session-b")]).toEqual([undefined, 5000]);
    pass(models);
    expect((await handleOf(models)).limits.named).toBeUndefined();
    expect(limits.shownTo("session-b")).toBeUndefined();
  });

  it("is the config's where that has one, and nobody is asked", async () => {
    const { root, asked } = await serverOf(() => ({ "/v1/models": list({ max_model_len: 4096 }) }));
    const { models } = modelsAt(root, { contextWindow: 50_000, maxTokens: 2000 });
    expect(await limitsOf(models)).toEqual({ contextWindow: 50_000, maxTokens: 2000 });
    expect(asked).toEqual([]);
  });

  it("is never waited for: a server that is down or talks nonsense leaves what was there", async () => {
    const { root } = await serverOf(() => ({
      "/props": { default_generation_settings: { n_ctx: "many" } },
      "/v1/models": [],
      "/api/ps": 7,
    }));
    expect(await limitsOf(modelsAt(root).models)).toMatchObject({ contextWindow: 128_000 });
    expect(await limitsOf(modelsAt("http://127.0.0.1:1").models)).toMatchObject({ contextWindow: 128_000 });
  });
});

it("a limit that a provider names is logged once, with what to set, until it names another", async () => {
  const { root } = await serverOf(() => ({}));
  const { models, lines } = modelsAt(root);
  const { profile } = await handleOf(models);
  const refused = (limitTokens: number) =>
    models.keys.failed(REF, profile.id, { kind: "context_overflow", limitTokens });
  const told = () => lines.filter((line) => line.includes("takes fewer tokens in a request"));
  for (const limit of [32_000, 32_000, 32_000]) refused(limit);
  expect(told()).toHaveLength(1);
  refused(16_000);
  expect(told()).toHaveLength(2);
});

describe("a server is on this machine or the local network", () => {
  it.each([
    "http://127.0.0.1:8080/v1",
    "http://[::1]:8080",
    "http://localhost:11434/v1",
    "http://192.168.1.9:1234/v1",
    "http://gpu:8000/v1",
    "http://box.local/v1",
  ])("%s", (url) => expect(isNear(url)).toBe(true));
  it.each(["https://api.openai.com/v1", "https://172.15.0.1/v1", "https://8.8.8.8/v1", "nonsense", ""])(
    "not %s",
    (url) => expect(isNear(url)).toBe(false),
  );
});
