import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { callModel, type CallFacts, type CallOptions } from "../../src/providers/call.ts";
import { createModels, type ModelHandle } from "../../src/providers/catalog.ts";
import { classifyFailure } from "../../src/providers/failure.ts";
import type { Clock } from "../../src/types/clock.ts";
import type { AssistantMessage } from "../../src/types/run/model.ts";
import { startFakeModel, type FakeModel, type ModelReply } from "../fakes/model.ts";

let fake: FakeModel;
beforeEach(async () => {
  fake = await startFakeModel();
});
afterEach(() => fake.close());

/** A token in the shape that ChatGPT's has: the SDK reads the account out of it. */
const CLAIMS = { "https://api.openai.com/auth": { chatgpt_account_id: "account-1" } };
const KEY = `key.${Buffer.from(JSON.stringify(CLAIMS)).toString("base64")}.that-nobody-may-see`;
const APIS = [
  "openai-completions",
  "openai-responses",
  "openai-codex-responses",
  "anthropic-messages",
  "google-generative-ai",
] as const;

async function handleFor(api: string, baseUrl = fake.urlFor(api)): Promise<ModelHandle> {
  const models = createModels({
    providers: { peer: { baseUrl, api, apiKey: KEY, models: [{ id: "peer-1" }] } },
    env: {},
    probeLocal: false,
  });
  const found = await models.find({ provider: "peer", id: "peer-1" });
  if ("missing" in found) throw new Error(found.missing);
  return found;
}

const JSON_TYPE = { "content-type": "application/json" };
const ASK = { messages: [{ role: "user" as const, content: "say something", timestamp: 1 }] };

type Asking = Omit<CallOptions, "origin"> & { onText?(heard: string): void };

/** Time that passes when it is told to. */
function handClock(): Clock & { pass(ms: number): void } {
  let now = 0;
  const timers = new Set<{ at: number; call: () => void }>();
  return {
    now: () => now,
    after(ms, run) {
      const timer = { at: now + ms, call: run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    pass(ms) {
      now += ms;
      for (const timer of timers) {
        if (timer.at > now) continue;
        timers.delete(timer);
        timer.call();
      }
    },
  };
}

interface Outcome {
  readonly last: string;
  readonly message: AssistantMessage;
  readonly facts: CallFacts;
  readonly kind: string;
  readonly retryAfterMs: number | undefined;
  readonly text: string;
  readonly tools: readonly unknown[];
  readonly heard: string;
}

async function call(handle: ModelHandle, { onText, ...options }: Asking = {}): Promise<Outcome> {
  const told: CallFacts[] = [];
  const stream = callModel(handle, ASK, {
    origin: { cause: "probe" },
    ...options,
    onFacts: (facts) => void told.push(facts),
  });
  let last = "";
  let heard = "";
  for await (const event of stream) {
    last = event.type;
    if (event.type !== "text_delta") continue;
    heard += event.delta;
    onText?.(heard);
  }
  const message = await stream.result();
  const [facts = {}] = told;
  expect(told).toHaveLength(1);
  expect(JSON.stringify(message)).not.toContain(KEY);
  const { kind, retryAfterMs } = classifyFailure(message.errorMessage ?? "", facts);
  const text = message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
  const tools = message.content.flatMap((block) => (block.type === "toolCall" ? [block] : []));
  return { last, message, facts, kind: last === "done" ? "" : kind, retryAfterMs, text, tools, heard };
}

const ask = async (api: string, reply: ModelReply, options?: Asking): Promise<Outcome> => {
  fake.answer(() => reply);
  return call(await handleFor(api), options);
};

describe.each(APIS)("a call of %s", (api) => {
  it("ends with what the model said", async () => {
    const { last, message, text, heard, facts } = await ask(api, {
      text: "All is well.",
      headers: { "x-request-id": "req_1" },
    });
    expect({ last, text, heard, stop: message.stopReason }).toEqual({
      last: "done",
      text: "All is well.",
      heard: "All is well.",
      stop: "stop",
    });
    expect(facts).toEqual({ status: 200, requestId: "req_1" });
  });

  it("ends with a tool call", async () => {
    const { last, message, tools } = await ask(api, { text: "Look:", tool: "look", args: { at: "this" } });
    expect({ last, stop: message.stopReason }).toEqual({ last: "done", stop: "toolUse" });
    expect(tools).toMatchObject([{ name: "look", arguments: { at: "this" } }]);
  });

  it("reports that the answer became too long", async () => {
    const { last, message } = await ask(api, { text: "and so on", reason: "length" });
    expect({ last, stop: message.stopReason }).toEqual({ last: "done", stop: "length" });
  });

  it("is a cut when the stream just stops, and keeps the words", async () => {
    const { last, kind, text, heard, message } = await ask(api, { text: "This is not", ending: "eof" });
    expect({ last, kind, text, heard }).toEqual({
      last: "error",
      kind: "cut_off",
      text: "This is not",
      heard: "This is not",
    });
    expect(message.stopReason).toBe("error");
  });

  it("is a cut when nothing came at all", async () => {
    expect(await ask(api, { text: "", ending: "eof" })).toMatchObject({ last: "error", kind: "cut_off", text: "" });
    expect(
      await ask(api, { raw: { status: 200, headers: { "content-type": "text/event-stream" }, body: "" } }),
    ).toMatchObject({ last: "error", kind: "cut_off" });
  });

  it("is a cut when the connection breaks in mid-text", async () => {
    const { kind, text } = await ask(api, { text: "This is not", ending: "reset" });
    expect({ kind, text }).toEqual({ kind: "cut_off", text: "This is not" });
  });

  it.each(["eof", "reset"] as const)("drops half a tool call (%s)", async (ending) => {
    const reply = { text: "Look:", tool: "look", args: { at: "this", and: "that" }, argsCut: 12, ending } as const;
    const { kind, text, tools } = await ask(api, reply);
    expect({ kind, text, tools }).toEqual({ kind: "cut_off", text: "Look:", tools: [] });
  });

  it("never asks for half a call when the answer became too long", async () => {
    const reply = { text: "Look:", tool: "look", args: { at: "this" }, argsCut: 8, reason: "length" } as const;
    const { last, message, text, tools } = await ask(api, reply);
    expect({ last, stop: message.stopReason, text, tools }).toEqual({
      last: "done",
      stop: "length",
      text: "Look:",
      tools: [],
    });
  });

  it("judges long answers by their end", async () => {
    const text = "word ".repeat(2000).trim();
    expect(await ask(api, { text })).toMatchObject({ last: "done", text });
    expect(await ask(api, { text, ending: "eof" })).toMatchObject({ last: "error", kind: "cut_off", text });
  });

  it("times out in silence, with the words so far, and lets the server go", async () => {
    const clock = handClock();
    const said = "Let me think";
    const onText = (heard: string) => heard === said && clock.pass(80_000);
    const { last, kind, text, message } = await ask(
      api,
      { text: said, ending: "stall" },
      { idleMs: 80_000, clock, onText },
    );
    expect({ last, kind, text }).toEqual({ last: "error", kind: "timeout", text: said });
    expect(message.errorMessage).toContain("timed out");
    await expect.poll(() => fake.open).toBe(0);
  });

  it("times out when not even headers come", async () => {
    const clock = handClock();
    const running = ask(api, "hang", { idleMs: 80_000, clock });
    await fake.called(1);
    clock.pass(79_999);
    clock.pass(1);
    expect(await running).toMatchObject({ last: "error", kind: "timeout" });
    await expect.poll(() => fake.open).toBe(0);
  });

  it("takes comments for signs of life", async () => {
    const gone = new AbortController();
    let looks = 0;
    // The time moves with the comments alone, so that a slow machine is no silence.
    const byHand = handClock();
    const clock: Clock = {
      ...byHand,
      after(ms, look) {
        looks += 1;
        if (looks > 4) gone.abort();
        return byHand.after(ms, look);
      },
    };
    const onPing = () => byHand.pass(1000);
    const reply = { text: "Let me think", ending: "stall", pingMs: 1, onPing } as const;
    const { message } = await ask(api, reply, { idleMs: 60_000, signal: gone.signal, clock });
    expect(message.stopReason).toBe("aborted");
  });

  it("is over at once when it is aborted", async () => {
    const gone = new AbortController();
    const running = ask(api, { text: "Let me think", ending: "stall" }, { signal: gone.signal, idleMs: 5000 });
    await fake.called(1);
    gone.abort();
    const { last, message } = await running;
    expect({ last, stop: message.stopReason }).toEqual({ last: "error", stop: "aborted" });
    await expect.poll(() => fake.open).toBe(0);
    expect(await ask(api, { text: "late" }, { signal: gone.signal })).toMatchObject({ text: "" });
    expect(fake.calls).toHaveLength(1);
  });

  it.each([
    [401, `bad key ${KEY}`, "auth"],
    [402, "pay first", "billing"],
    [404, "The model `peer-1` does not exist", "model_missing"],
    [413, "too much", "request_size"],
    [429, "slow down", "rate_limit"],
    [500, "oh no", "network"],
    [503, "later", "overloaded"],
    [529, "full", "overloaded"],
  ])("fails with %i %s as %s, asked once", async (status, message, kind) => {
    const outcome = await ask(api, { status, message });
    expect(outcome).toMatchObject({ last: "error", kind, facts: { status } });
    expect(fake.calls).toHaveLength(1);
  });

  it.each([
    [{ "retry-after": "7" }, 7000],
    [{ "retry-after-ms": "1500", "retry-after": "2" }, 1500],
    [{ "retry-after": "Sat, 21 Nov 2026 12:00:10 GMT", date: "Sat, 21 Nov 2026 12:00:00 GMT" }, 10_000],
    [{ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s" }, 360_000],
  ])("waits as the headers ask: %j", async (headers, ms) => {
    const body = JSON.stringify({ error: { message: "slow down" } });
    const outcome = await ask(api, { raw: { status: 429, headers: { ...headers, "x-request-id": "req_2" }, body } });
    expect(outcome).toMatchObject({ kind: "rate_limit", retryAfterMs: ms, facts: { requestId: "req_2" } });
  });

  it("fails when nobody listens, and says why", async () => {
    const handle = await handleFor(api);
    await fake.close();
    const outcome = await call(handle);
    expect(outcome).toMatchObject({ last: "error", kind: "network" });
    expect(outcome.message.errorMessage).toContain("ECONNREFUSED");
  });

  it("fails when the connection breaks before the answer", async () => {
    expect(await ask(api, "reset")).toMatchObject({ last: "error", kind: "network", text: "" });
  });
});

describe.each(APIS)("a refusal by %s", (api) => {
  it("is reported as one", async () => {
    expect(await ask(api, { text: "I will", reason: "refusal" })).toMatchObject({ last: "error", kind: "refusal" });
  });
});

describe("a plan of ChatGPT that is used up", () => {
  it("cools down until it is filled again", async () => {
    const error = {
      type: "usage_limit_reached",
      message: "The usage limit has been reached",
      plan_type: "plus",
      resets_at: 1_900_000_000,
      resets_in_seconds: 5400,
    };
    const raw = { status: 429, headers: JSON_TYPE, body: JSON.stringify({ error }) };
    const outcome = await ask("openai-codex-responses", { raw });
    expect(outcome).toMatchObject({ kind: "rate_limit", retryAfterMs: 5_400_000 });
    expect(outcome.message.errorMessage).toContain("The usage limit has been reached");
    expect(fake.calls).toHaveLength(1);
  });
});

describe("a server without a reason", () => {
  it("is done after [DONE] when it spoke", async () => {
    const api = "openai-completions";
    expect(await ask(api, { text: "All said.", ending: "unreasoned" })).toMatchObject({
      last: "done",
      text: "All said.",
    });
    const { message, tools } = await ask(api, { text: "", tool: "look", args: { at: "x" }, ending: "unreasoned" });
    expect(message.stopReason).toBe("toolUse");
    expect(tools).toHaveLength(1);
    expect(await ask(api, { text: "", ending: "unreasoned" })).toMatchObject({ kind: "cut_off" });
    expect(
      await ask(api, { text: "Look", tool: "look", args: { at: "x" }, argsCut: 4, ending: "unreasoned" }),
    ).toMatchObject({ kind: "cut_off", tools: [] });
  });

  it("is not fooled by an answer about one", async () => {
    const text = 'It says "finish_reason": "stop" and\n\ndata: [DONE]\n\nthen';
    expect(await ask("openai-completions", { text, ending: "eof" })).toMatchObject({ kind: "cut_off", text });
  });
});

describe("Google's blocked prompt", () => {
  it("is a refusal", async () => {
    const body = `data: ${JSON.stringify({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } })}\n\n`;
    const outcome = await ask("google-generative-ai", {
      raw: { status: 200, headers: { "content-type": "text/event-stream" }, body },
    });
    expect(outcome).toMatchObject({ last: "error", kind: "refusal" });
  });

  it("is distinguished from its wait for a quota", async () => {
    const error = {
      code: 429,
      message: "Resource exhausted",
      status: "RESOURCE_EXHAUSTED",
      details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34s" }],
    };
    const outcome = await ask("google-generative-ai", {
      raw: { status: 429, headers: JSON_TYPE, body: JSON.stringify({ error }) },
    });
    expect(outcome).toMatchObject({ kind: "rate_limit", facts: { retryAfterMs: 34_000 } });
  });
});

describe("an error within the stream", () => {
  it.each([
    [
      "anthropic-messages",
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    ],
    ["openai-completions", 'data: {"error":{"code":503,"message":"Overloaded by upstream"}}\n\n'],
    [
      "openai-responses",
      'event: error\ndata: {"type":"error","code":"server_is_overloaded","message":"Overloaded"}\n\n',
    ],
  ])("of %s is known", async (api, body) => {
    const raw = { status: 200, headers: { "content-type": "text/event-stream" }, body };
    expect(await ask(api, { raw })).toMatchObject({ last: "error", kind: "overloaded" });
  });
});

describe("a call whose answer fills the window", () => {
  it("is an overflow when no tokens were left for text", async () => {
    const chunk = (more: object) =>
      `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", ...more })}\n\n`;
    const body =
      chunk({ choices: [{ index: 0, delta: {}, finish_reason: "length" }] }) +
      chunk({ choices: [], usage: { prompt_tokens: 128_000, completion_tokens: 0, total_tokens: 128_000 } });
    const raw = { status: 200, headers: { "content-type": "text/event-stream" }, body: `${body}data: [DONE]\n\n` };
    expect(await ask("openai-completions", { raw })).toMatchObject({ last: "error", kind: "context_overflow" });
  });
});

describe("a compressed answer", () => {
  const event = { id: "x", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: "Hi" } }] };
  const headers = { "content-type": "text/event-stream", "content-encoding": "gzip" };
  const half = `data: ${JSON.stringify(event)}\n\n`;

  it("is read to its end", async () => {
    const raw = { status: 200, headers, body: gzipSync(`${half}data: [DONE]\n\n`) };
    expect(await ask("openai-completions", { raw })).toMatchObject({ last: "done", text: "Hi" });
  });

  it("that stops half-way is taken for what it is", async () => {
    const raw = { status: 200, headers, body: gzipSync(half) };
    expect(await ask("openai-completions", { raw })).toMatchObject({ last: "error", text: "Hi" });
  });

  it("gives the reason of a refusal", async () => {
    const body = gzipSync(JSON.stringify({ detail: "The tea is cold today" }));
    const { message } = await ask("openai-completions", { raw: { status: 400, headers, body } });
    expect(message.errorMessage).toContain("The tea is cold today");
  });
});

describe("many calls at once", () => {
  it("never mix their facts", async () => {
    fake.answer(async (_call, number) => {
      await new Promise((resolve) => setTimeout(resolve, (number * 7) % 20));
      const body = JSON.stringify({ error: { message: `no ${number}` } });
      return number % 2 === 0
        ? { raw: { status: 400 + number, headers: { "x-request-id": `req-${number}` }, body } }
        : { text: `no ${number}`, headers: { "x-request-id": `req-${number}` }, ending: "eof", everyMs: 2 };
    });
    const handle = await handleFor("openai-completions");
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => call(handle)));
    for (const { message, facts, text } of outcomes) {
      const number = /no (\d+)/.exec(`${text} ${message.errorMessage}`)?.[1];
      expect(facts.requestId).toBe(`req-${number}`);
      expect(facts.status).toBe(Number(number) % 2 === 0 ? 400 + Number(number) : 200);
    }
    expect(new Set(outcomes.map(({ facts }) => facts.requestId)).size).toBe(50);
  });
});

describe("a stream that throws", () => {
  it("is an error of the call", async () => {
    const handle = await handleFor("openai-completions");
    const broken = { ...handle, pi: { ...handle.pi, api: "no-such-api" } };
    expect(await call(broken)).toMatchObject({ last: "error", kind: "unknown" });
    const throwing: ModelHandle = {
      ...handle,
      openStream: () => {
        throw new Error(`no ${KEY}`);
      },
    };
    expect((await call(throwing)).message.errorMessage).toBe("no [secret]");
  });
});

describe("an answer without an end", () => {
  const SSE = { "content-type": "text/event-stream" };
  const delta = (part: object) => `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta: part }] })}\n\n`;
  const call = (index: number) => ({
    tool_calls: [{ index, id: `c${index}`, type: "function", function: { name: "ls", arguments: "{}" } }],
  });
  const more = { tool_calls: [{ index: 0, function: { arguments: "a".repeat(10_000) } }] };
  const MEGABYTE = 1024 * 1024;

  it.each<[string, number, Readonly<Record<string, string>>, string | Uint8Array]>([
    ["a refusal", 500, JSON_TYPE, `{"error":"${"a".repeat(2 * MEGABYTE)}"}`],
    ["a compressed refusal", 500, { ...JSON_TYPE, "content-encoding": "gzip" }, gzipSync(Buffer.alloc(100 * MEGABYTE))],
    ["a line", 200, SSE, `data: ${"a".repeat(3 * MEGABYTE)}`],
    ["no stream", 200, JSON_TYPE, "[".repeat(3 * MEGABYTE)],
    ["comments", 200, SSE, `: ${"ping ".repeat(2000)}\n\n`.repeat(300)],
    ["text", 200, SSE, delta({ content: "word ".repeat(20_000) }).repeat(90)],
    ["thinking", 200, SSE, delta({ reasoning_content: "word ".repeat(20_000) }).repeat(90)],
    ["arguments", 200, SSE, delta(call(0)) + delta(more).repeat(60)],
    ["tool calls", 200, SSE, Array.from({ length: 1001 }, (_, index) => delta(call(index))).join("")],
  ])("is cut off: %s", async (_what, status, headers, body) => {
    fake.answer(() => ({ raw: { status, headers, body } }));
    let failure: string | undefined;
    for await (const event of callModel(await handleFor("openai-completions"), ASK, { origin: { cause: "probe" } }))
      if (event.type === "error") failure = event.error.errorMessage;
    expect(failure).toMatch(/^The provider sent an (error|answer)/);
  });
});

describe("a provider that sends the request on", () => {
  it.each(APIS)("%s: to another host gets nothing there, neither keys nor the conversation", async (api) => {
    const other = await startFakeModel();
    let asked = 0;
    other.answer(() => {
      asked += 1;
      return { text: "stolen" };
    });
    const { host } = new URL(other.url);
    const location = `${other.urlFor(api)}/anywhere`;
    fake.answer(() => ({ raw: { status: 307, headers: { location }, body: "" } }));
    const message = await callModel(await handleFor(api), ASK, { origin: { cause: "probe" } }).result();
    await other.close();
    expect(message.stopReason).toBe("error");
    expect(message.errorMessage).toContain(`sends the request on to ${host}`);
    expect(asked).toBe(0);
  });
});

it("lets everything else have its turn while a provider floods it with tiny events", async () => {
  const event = (delta: object, finish: string | null = null) =>
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const body = `${event({ content: "a" }).repeat(5000)}${event({}, "stop")}data: [DONE]\n\n`;
  fake.answer(() => ({ raw: { status: 200, headers: { "content-type": "text/event-stream" }, body } }));
  let [since, most, isOver] = [0, 0, false];
  const turn = (): void => {
    [since, most] = [0, Math.max(most, since)];
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  let letters = 0;
  for await (const event of callModel(await handleFor("openai-completions"), ASK, { origin: { cause: "probe" } })) {
    since += 1;
    if (event.type === "text_delta") letters += event.delta.length;
  }
  isOver = true;
  expect(letters).toBe(5000);
  expect(most).toBeLessThanOrEqual(128);
});
