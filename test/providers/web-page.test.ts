import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callModel, type CallFacts } from "../../src/providers/call.ts";
import { createModels } from "../../src/providers/catalog.ts";
import { classifyFailure } from "../../src/providers/failure.ts";
import { startFakeModel, type FakeModel, type RawReply } from "../fakes/model.ts";

let fake: FakeModel;
beforeAll(async () => {
  fake = await startFakeModel();
});
afterAll(() => fake.close());

const page = (rows: number) =>
  `<!DOCTYPE html>\n<html><head><title>Sign in: unauthorized, no API key</title></head><body>${"<p>Unauthorized: no API key, invalid token. data: {}</p>\n".repeat(rows)}</body></html>`;

async function failureOf(api: string, raw: RawReply) {
  fake.answer(() => ({ raw }));
  const claims = { "https://api.openai.com/auth": { chatgpt_account_id: "account-1" } };
  const apiKey = `key.${Buffer.from(JSON.stringify(claims)).toString("base64")}.x`;
  const peer = { baseUrl: fake.urlFor(api), api, apiKey, models: [{ id: "peer-1" }] };
  const handle = await createModels({ providers: { peer }, env: {}, probeLocal: false }).find({
    provider: "peer",
    id: "peer-1",
  });
  if ("missing" in handle) throw new Error(handle.missing);
  let facts: CallFacts = {};
  const ask = { messages: [{ role: "user" as const, content: "hello", timestamp: 1 }] };
  const message = await callModel(handle, ask, {
    origin: { cause: "probe" },
    onFacts: (seen) => (facts = seen),
  }).result();
  return classifyFailure(message.errorMessage ?? "", facts);
}

const APIS = [
  "openai-completions",
  "openai-responses",
  "openai-codex-responses",
  "anthropic-messages",
  "google-generative-ai",
];

describe.each(APIS)("a web page with status 200 in place of an answer of %s", (api) => {
  it.each([
    ["text/html; charset=utf-8", 10],
    ["text/html", 100_000],
    ["text/plain", 100_000],
    ["application/json", 10],
  ])("is reported as one, without the key: %s, %i lines", async (type, rows) => {
    const failure = await failureOf(api, { status: 200, headers: { "content-type": type }, body: page(rows) });
    expect(failure.kind).toBe("network");
    expect(failure.message).toContain('answered with a web page ("Sign in: unauthorized, no API key")');
    expect(failure.message).toContain("Check baseUrl");
  });
});

it("a compressed web page is one as well", async () => {
  const headers = { "content-type": "text/html", "content-encoding": "gzip" };
  const failure = await failureOf("openai-completions", { status: 200, headers, body: gzipSync(page(100_000)) });
  expect(failure).toMatchObject({ kind: "network", message: expect.stringContaining("web page") });
});

it("an answer that speaks of web pages is none", async () => {
  fake.answer(() => ({ text: "<!DOCTYPE html><html><title>mine</title></html>" }));
  const peer = { baseUrl: fake.url, api: "openai-completions", apiKey: "k", models: [{ id: "peer-1" }] };
  const handle = await createModels({ providers: { peer }, env: {}, probeLocal: false }).find({
    provider: "peer",
    id: "peer-1",
  });
  if ("missing" in handle) throw new Error(handle.missing);
  const ask = { messages: [{ role: "user" as const, content: "hello", timestamp: 1 }] };
  expect(await callModel(handle, ask, { origin: { cause: "probe" } }).result()).toMatchObject({ stopReason: "stop" });
});
