import http from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { scanServer } from "../../src/providers/scan.ts";

interface Seen {
  readonly url: string | undefined;
  readonly headers: http.IncomingHttpHeaders;
}

async function serve(body: unknown, status = 200): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = http.createServer((request, response) => {
    seen.push({ url: request.url, headers: request.headers });
    if (body !== undefined) response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

it("lists what an OpenAI-compatible server has, with the key", async () => {
  const { url, seen } = await serve({ data: [{ id: "a" }, { id: "b", name: "B", context_length: 9000 }] });
  const found = await scanServer({ provider: "p", baseUrl: `${url}/v1/`, apiKey: "sk-1" }, 1000);
  expect(found).toEqual({
    provider: "p",
    baseUrl: `${url}/v1/`,
    models: [{ id: "a" }, { id: "b", name: "B", contextWindow: 9000 }],
  });
  expect(seen).toMatchObject([{ url: "/v1/models", headers: { authorization: "Bearer sk-1" } }]);
});

it("finds the free models of OpenRouter's list", async () => {
  const price = (prompt: string, completion: string) => ({ pricing: { prompt, completion } });
  const { url } = await serve({
    data: [
      { id: "f", ...price("0", "0") },
      { id: "p", ...price("0.0000003", "0") },
    ],
  });
  const { models } = await scanServer({ provider: "openrouter", baseUrl: url }, 1000);
  expect(models.map(({ id, isFree }) => [id, isFree])).toEqual([
    ["f", true],
    ["p", false],
  ]);
});

it("asks Ollama and Anthropic in their own ways", async () => {
  const ollama = await serve({ models: [{ name: "llama3.2:3b" }] });
  const target = { provider: "ollama", baseUrl: `${ollama.url}/v1`, api: "ollama" };
  expect((await scanServer(target, 1000)).models).toEqual([{ id: "llama3.2:3b" }]);
  expect(ollama.seen[0]?.url).toBe("/api/tags");
  const anthropic = await serve({ data: [{ id: "claude-x", display_name: "Claude X" }] });
  const other = { provider: "a", baseUrl: anthropic.url, api: "anthropic-messages", apiKey: "k" };
  expect((await scanServer(other, 1000)).models).toEqual([{ id: "claude-x", name: "Claude X" }]);
  expect(anthropic.seen).toMatchObject([{ url: "/v1/models", headers: { "x-api-key": "k" } }]);
});

it.each([
  ["refuses", { error: "sk-hush" }, 401, "HTTP 401"],
  ["answers with a page", "<html>", 200, "its answer is no list of models"],
  ["sends elsewhere", "", 302, "HTTP 302"],
  ["never stops", `{"data":[${" ".repeat(17 * 1024 ** 2)}]}`, 200, "its answer is too long"],
  ["answers with another shape", { data: "sk-hush" }, 200, "its answer is no list of models"],
  ["does not answer", undefined, 200, "no answer in time"],
])("says what is wrong with a server that %s", async (_name, body, status, problem) => {
  const { url } = await serve(body, status);
  // Only the one that does not answer lets the time pass: a busy machine is no reason for another problem.
  expect(await scanServer({ provider: "p", baseUrl: url }, body === undefined ? 100 : 60_000)).toEqual({
    provider: "p",
    baseUrl: url,
    models: [],
    problem,
  });
});

it("says so when nobody is there", async () => {
  const found = await scanServer({ provider: "p", baseUrl: "http://127.0.0.1:9" }, 1000);
  expect(found.problem).toBe("not reached");
});

it("sends no key to where a server redirects", async () => {
  const elsewhere = await serve({ data: [{ id: "a" }] });
  const server = http.createServer((_request, response) => response.writeHead(307, { location: elsewhere.url }).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const api of ["anthropic-messages", "openai-completions", "ollama"])
    expect((await scanServer({ provider: "p", baseUrl, api, apiKey: "k" }, 60_000)).problem).toBe("HTTP 307");
  expect(elsewhere.seen).toEqual([]);
});
