import { LLMock } from "@copilotkit/aimock";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { callModel, type CallFacts } from "../../src/providers/call.ts";
import { createModels } from "../../src/providers/catalog.ts";
import { classifyFailure } from "../../src/providers/failure.ts";
import { runId } from "../../src/types/ids.ts";
import { startRun } from "../../src/harness/run.ts";
import { textResult } from "../../src/tools/define.ts";
import { makeTool, NO_APPROVER } from "../kit/tools.ts";
import { bareDeps, eventsOf, openRunFixture, userTurn, type RunFixture } from "../kit/run.ts";
import { settingsFor } from "../kit/settings.ts";

let mock: LLMock;
let fixture: RunFixture;

beforeEach(async () => {
  mock = new LLMock({ port: 0 });
  mock.on({ hasToolResult: true }, { content: "the tool said so" });
  mock.onMessage(/hello/, { content: "Hello from the model, in several words." });
  await mock.start();
  fixture = await openRunFixture();
});
afterEach(async () => {
  await fixture.close();
  await mock.stop();
});

const APIS = [
  ["openai-completions", () => `${mock.url}/v1`],
  ["openai-responses", () => `${mock.url}/v1`],
  ["anthropic-messages", () => mock.url],
  ["google-generative-ai", () => `${mock.url}/v1beta`],
] as const;

/** Refusals that look like another kind: by their status, or by a word in an address. */
const REFUSALS = [
  {
    status: 413,
    words:
      "Request too large for model `llama-3.3-70b-versatile` on tokens per minute (TPM): Limit 12000, Requested 45210. Need more tokens? Visit https://console.groq.com/settings/billing",
    kind: "context_overflow",
  },
  {
    status: 429,
    words:
      "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45210. The input or output tokens must be reduced in order to run successfully.",
    kind: "context_overflow",
  },
  { status: 403, words: "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO", kind: "refusal" },
  { status: 503, words: "Loading model", kind: "loading" },
] as const;

const modelsOf = (api: string, baseUrl: string) =>
  createModels({
    providers: { peer: { baseUrl, api, apiKey: "sk-peer-0123456789", models: [{ id: "peer-1" }] } },
    env: {},
    probeLocal: false,
  });

/** One run against the provider's own protocol, as a third party imitates it. */
async function ask(api: string, baseUrl: string, text: string) {
  const models = modelsOf(api, baseUrl);
  const facts = {
    runId: runId(`run-${text}`),
    sessionKey: fixture.session.key,
    sessionId: fixture.session.id,
    agentId: fixture.session.agentId,
    trigger: "message" as const,
  };
  const run = startRun(
    {
      facts,
      settings: settingsFor(fixture.dir),
      conversation: fixture.session,
      turn: userTurn(text, `turn-${text}`),
      choice: { candidates: [{ provider: "peer", id: "peer-1" }] },
      thinking: "off",
      // The fixture's clock is a hundred times as fast: ten real seconds.
      timeoutMs: 1_000_000,
      tools: [makeTool("look", async ({ text: where }) => textResult(`saw ${where}`))],
      systemPrompt: async () => ({ text: "You are a test.", parts: [] }),
    },
    { ...bareDeps, models, approvals: NO_APPROVER, log: fixture.log, clock: fixture.clock },
  );
  return eventsOf(run.stream);
}

/** One call, without the run around it. */
async function callPeer(api: string, baseUrl: string) {
  const found = await modelsOf(api, baseUrl).find({ provider: "peer", id: "peer-1" });
  if ("missing" in found) throw new Error(found.missing);
  let facts: CallFacts = {};
  const messages = [{ role: "user" as const, content: "go on", timestamp: 1 }];
  const stream = callModel(found, { messages }, { origin: { cause: "probe" }, onFacts: (seen) => (facts = seen) });
  const { content, errorMessage, stopReason } = await stream.result();
  return { content, stopReason, facts, failure: classifyFailure(errorMessage ?? "", facts) };
}

describe.each(APIS)("a model of %s", (api, baseUrl) => {
  it("answers in deltas", async () => {
    const events = await ask(api, baseUrl(), "hello");
    expect(events.at(-1)).toMatchObject({ type: "run_end", result: { kind: "replied" } });
    const deltas = events.flatMap((event) => (event.type === "text_delta" ? [event.delta] : []));
    expect(deltas.join("")).toBe("Hello from the model, in several words.");
  });

  it("calls a tool and continues from its result", async () => {
    // The peer ends Gemini's tool calls with a reason that the real service does not have.
    const finish = api === "google-generative-ai" ? { finishReason: "STOP" } : {};
    mock.onMessage("use it", { toolCalls: [{ name: "look", arguments: '{"text":"here"}' }], ...finish });
    const events = await ask(api, baseUrl(), "use it");
    expect(events.find((event) => event.type === "tool_end")).toMatchObject({ name: "look", text: "saw here" });
    expect(events.findLast((event) => event.type === "message_end")).toMatchObject({ text: "the tool said so" });
    expect(events.at(-1)).toMatchObject({ type: "run_end", result: { kind: "replied" } });
  });

  it.each([
    [401, "invalid api key", "auth"],
    [429, "rate limit reached", "rate_limit"],
    [529, "overloaded_error: Overloaded", "overloaded"],
  ])("is known to fail with %i", async (status, message, kind) => {
    for (let tries = 0; tries < 4; tries += 1) mock.nextRequestError(status, { message });
    const events = await ask(api, baseUrl(), `hello ${status}`);
    const end = events.at(-1);
    mock.clearRequests();
    expect(
      events.some((event) => event.type === "retry" && event.because === kind) || JSON.stringify(end).includes(kind),
    ).toBe(true);
  });

  it.each(REFUSALS)("is known to refuse: $words", async ({ status, words, kind }) => {
    mock.onMessage("go on", { error: { message: words }, status });
    const { failure } = await callPeer(api, baseUrl());
    expect(failure).toMatchObject({ kind, message: expect.stringContaining(words.slice(0, 40)) });
  });

  it("is known to have been cut, with the words so far", async () => {
    const words = "one two three four five six seven eight nine ten";
    // Without a pause between chunks the peer has sent everything before it cuts.
    mock.onMessage("go on", { content: words }, { truncateAfterChunks: 4, chunkSize: 4, latency: 5 });
    const { content, stopReason, failure } = await callPeer(api, baseUrl());
    expect({ stopReason, kind: failure.kind }).toEqual({ stopReason: "error", kind: "cut_off" });
    expect(words).toContain(content.map((block) => (block.type === "text" ? block.text : "?")).join(""));
  });

  it("says when to come back", async () => {
    mock.onMessage("go on", { error: { message: "slow down" }, status: 429, retryAfter: 3 });
    const { failure, facts } = await callPeer(api, baseUrl());
    expect(facts).toMatchObject({ status: 429 });
    expect(failure).toMatchObject({ kind: "rate_limit", retryAfterMs: 3000 });
  });
});
