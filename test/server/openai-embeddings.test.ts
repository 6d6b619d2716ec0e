import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { EmbeddingOutcome, EmbeddingRequest } from "../../src/types/media/embedding.ts";
import { startTestServer, TOKEN, type TestServer } from "../kit/server/server.ts";

let gateway: TestServer;
let client: OpenAI;
let asked: EmbeddingRequest[] = [];
let play: () => EmbeddingOutcome;

beforeAll(async () => {
  gateway = await startTestServer({ ports: { embed: async (request) => (asked.push(request), play()) } });
  client = new OpenAI({ baseURL: `${gateway.http}/v1`, apiKey: TOKEN, maxRetries: 0 });
});
beforeEach(() => {
  asked = [];
  const vectors = [Float32Array.from([0.5, -0.25]), Float32Array.from([1, 0])];
  play = () => ({ kind: "done", vectors: vectors.slice(0, asked[0]?.texts.length), model: "small", tokens: 3 });
});
afterAll(() => gateway.server.close(200));

test.each(["float", "base64", undefined] as const)(
  "the official client reads vectors in the form %s",
  async (format) => {
    const answer = await client.embeddings.create({
      model: "openclaw",
      input: ["a", "b"],
      ...(format && { encoding_format: format }),
    });
    const [first, second] = answer.data.map(({ embedding }) => embedding);
    if (format === "base64") expect(first).toBe("AAAAPwAAgL4=");
    else
      expect([first, second]).toEqual([
        [0.5, -0.25],
        [1, 0],
      ]);
    expect(answer).toMatchObject({ object: "list", model: "openclaw", usage: { prompt_tokens: 3, total_tokens: 3 } });
  },
);

test.each([
  [{ model: "openclaw/coder", input: "a" }, {}, { agentId: "coder", texts: ["a"] }],
  [
    { model: "text-embedding-3-small", input: "a", dimensions: 2 },
    {},
    { agentId: "main", texts: ["a"], model: "text-embedding-3-small", dimensions: 2 },
  ],
  [
    { model: "agent:coder", input: ["a"] },
    { "x-openclaw-model": "large" },
    { agentId: "coder", texts: ["a"], model: "large" },
  ],
])("%j with %o asks for the vectors of the right agent and model", async (body, headers, wanted) => {
  await client.embeddings.create(body, { headers });
  expect(asked).toEqual([wanted]);
});

test.each([
  [{ kind: "none", why: "no provider" }, 400, "embeddings_not_configured", null],
  [{ kind: "refused", why: "The budget is used." }, 429, "budget", null],
  [{ kind: "failed", why: "cut" }, 502, "embeddings_failed", null],
  [{ kind: "failed", why: "slow down", retryAfterMs: 1500 }, 429, "embeddings_failed", "2"],
] as const)("%j is an error of its kind", async (outcome, status, code, wait) => {
  play = () => outcome;
  const answer = await fetch(`${gateway.http}/v1/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "openclaw", input: "a" }),
  });
  expect([answer.status, answer.headers.get("retry-after"), await answer.json()]).toEqual([
    status,
    wait,
    { error: expect.objectContaining({ code, message: expect.stringContaining(outcome.why) }) },
  ]);
});

test.each([
  ["tokens", { model: "openclaw", input: [1, 2] }, 400],
  ["nothing", { model: "openclaw", input: [] }, 400],
  ["an unknown agent", { model: "openclaw/nobody", input: "a" }, 404],
])("%s is refused and asks nobody", async (_name, body, status) => {
  const answer = await fetch(`${gateway.http}/v1/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect([answer.status, asked]).toEqual([status, []]);
});
