import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callModel } from "../../src/providers/call.ts";
import { Reservations } from "../../src/providers/call/reservations.ts";
import { createModels, type ModelHandle } from "../../src/providers/catalog.ts";
import type { CallCost, ModelMeter, PlannedCall, Reservation } from "../../src/types/run/model-meter.ts";
import { startFakeModel, type FakeModel, type ModelReply } from "../fakes/model.ts";

let server: FakeModel;
beforeAll(async () => {
  server = await startFakeModel();
});
afterAll(() => server.close());

const ASK = { systemPrompt: "You are a test.", messages: [{ role: "user" as const, content: "Hello!", timestamp: 1 }] };
const ORIGIN = { cause: "compaction" } as const;
const PRICES = { input: 3, output: 15, cacheRead: 0, cacheWrite: 0 };

/** Answers as told and keeps its books. */
class Books implements ModelMeter {
  readonly planned: PlannedCall[] = [];
  readonly settled: CallCost[] = [];
  allowed = 0;
  readonly #answer: () => Promise<"allowed" | "refused">;

  constructor(answer: () => Promise<"allowed" | "refused"> = async () => "allowed") {
    this.#answer = answer;
  }

  async reserve(call: PlannedCall): Promise<Reservation> {
    this.planned.push(call);
    if ((await this.#answer()) === "refused") return { kind: "refused", reason: "Ten dollars a day are spent." };
    this.allowed += 1;
    return { kind: "allowed", settle: (cost) => void this.settled.push(cost) };
  }
}

async function handleWith(meter: ModelMeter): Promise<ModelHandle> {
  const model = { id: "fake-1", contextWindow: 100_000, maxTokens: 1000, cost: PRICES };
  const fake = { baseUrl: server.url, api: "openai-completions", apiKey: "sk-test-0123456789", models: [model] };
  const models = createModels({ providers: { fake }, env: {}, probeLocal: false, meter });
  const found = await models.find({ provider: "fake", id: "fake-1" });
  if ("missing" in found) throw new Error(found.missing);
  return found;
}

test("a call is reserved with its cause and sizes, and settled with the provider's figures", async () => {
  const books = new Books();
  server.answer(() => ({ text: "Hi." }));
  await callModel(await handleWith(books), ASK, { origin: ORIGIN, maxTokens: 100 }).result();
  expect(books.planned).toMatchObject([
    { cause: "compaction", model: { provider: "fake", id: "fake-1" }, maxOutputTokens: 100 },
  ]);
  const input = books.planned[0]?.estimatedInputTokens ?? 0;
  expect(input).toBeGreaterThan(0);
  expect(books.planned[0]?.highestCost).toBeCloseTo((input * PRICES.input + 100 * PRICES.output) / 1e6, 12);
  expect(books.settled).toMatchObject([{ outcome: "answered", usage: { input: 10, output: 5 }, isEstimate: false }]);
});

/** An answer whose tokens are counted like this. */
function reporting(usage: string): ModelReply {
  const chunk = (rest: string) =>
    `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m",${rest}}\n\n`;
  const said = chunk(`"choices":[{"index":0,"delta":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]`);
  const body = `${said}${chunk(`"choices":[],"usage":${usage}`)}data: [DONE]\n\n`;
  return { raw: { status: 200, headers: { "content-type": "text/event-stream" }, body } };
}

test.each([
  `{"prompt_tokens":10,"completion_tokens":-5000000,"total_tokens":10}`,
  `{"prompt_tokens":1e999,"completion_tokens":5,"total_tokens":5}`,
  `{"prompt_tokens":"many","completion_tokens":{},"total_tokens":"some"}`,
])("a call whose provider counts %s is settled with an estimate", async (usage) => {
  const books = new Books();
  server.answer(() => reporting(usage));
  const { stopReason, content } = await callModel(await handleWith(books), ASK, { origin: ORIGIN }).result();
  expect([stopReason, content]).toMatchObject(["stop", [{ text: "Hi." }]]);
  const [settled] = books.settled;
  expect(settled).toMatchObject({ outcome: "answered", isEstimate: true });
  expect(settled?.usage.input).toBe(books.planned[0]?.estimatedInputTokens);
  expect(settled?.usage.output).toBeGreaterThan(0);
  expect(settled?.usage.cost.total).toBeGreaterThan(0);
});

test("a refused call is not made, and fails with the reason", async () => {
  const books = new Books(async () => "refused");
  const before = server.calls.length;
  const facts: unknown[] = [];
  const message = await callModel(await handleWith(books), ASK, {
    origin: ORIGIN,
    onFacts: (seen) => void facts.push(seen),
  }).result();
  expect(message).toMatchObject({
    stopReason: "error",
    errorMessage: "The budget does not allow this call: Ten dollars a day are spent.",
  });
  expect(facts).toMatchObject([{ kind: "budget" }]);
  expect(server.calls.length).toBe(before);
  expect(books.settled).toEqual([]);
});

test("a meter that throws fails the call without making it", async () => {
  const before = server.calls.length;
  const broken: ModelMeter = { reserve: () => Promise.reject(new Error("the books are closed")) };
  const message = await callModel(await handleWith(broken), ASK, { origin: ORIGIN }).result();
  expect(message.errorMessage).toBe("The cost of the call could not be reserved: the books are closed");
  expect(server.calls.length).toBe(before);
});

test("a stopped call is settled with its request and what came of the answer, by estimate", async () => {
  const books = new Books();
  const stop = new AbortController();
  const text = "A long answer that somebody stops in the middle of it.";
  server.answer(() => ({ text, everyMs: 20 }));
  const stream = callModel(await handleWith(books), ASK, { origin: ORIGIN, signal: stop.signal });
  for await (const event of stream) if (event.type === "text_delta") stop.abort();
  const [cost] = books.settled;
  expect(cost).toMatchObject({ outcome: "aborted", isEstimate: true });
  expect(cost?.usage.input).toBe(books.planned[0]?.estimatedInputTokens);
  expect(cost?.usage.output).toBeGreaterThan(0);
  expect(cost?.usage.cost.total).toBeGreaterThan(0);
  expect(books.settled).toHaveLength(1);
});

test("a call that was stopped while its meter thought costs nothing", async () => {
  const thinks = Promise.withResolvers<"allowed">();
  const books = new Books(() => thinks.promise);
  const stop = new AbortController();
  const before = server.calls.length;
  const stream = callModel(await handleWith(books), ASK, { origin: ORIGIN, signal: stop.signal });
  stop.abort();
  expect(await stream.result()).toMatchObject({ stopReason: "aborted" });
  thinks.resolve("allowed");
  await thinks.promise.then(() => undefined);
  await expect.poll(() => books.settled).toMatchObject([{ outcome: "aborted", usage: { totalTokens: 0 } }]);
  expect(server.calls.length).toBe(before);
});

test("the calls under way are settled when the gateway stops, and no others are made", async () => {
  const books = new Books();
  const reservations = new Reservations(books);
  const handle = await handleWith(reservations);
  const stop = new AbortController();
  server.answer(() => ({ text: "never ends ".repeat(50), everyMs: 50 }));
  const stream = callModel(handle, ASK, { origin: ORIGIN, signal: stop.signal });
  for await (const event of stream) if (event.type === "text_delta") break;
  reservations.close();
  const settled = { outcome: "aborted", isEstimate: true, usage: { input: books.planned[0]?.estimatedInputTokens } };
  expect(books.settled).toMatchObject([settled]);
  stop.abort();
  await stream.result();
  expect(books.settled).toHaveLength(1);
  const late = await callModel(handle, ASK, { origin: ORIGIN }).result();
  expect(late.errorMessage).toContain("The gateway is stopping.");
});

const REPLIES: Readonly<Record<string, ModelReply>> = {
  answer: { text: "An answer in several pieces, for once." },
  slow: { text: "An answer in several pieces, for once.", everyMs: 1 },
  refusal: { status: 400, message: "not like this" },
  overload: { status: 529, message: "busy" },
};

/** What a caller does with the stream. */
const READERS = ["to_the_end", "not_at_all", "first_event"] as const;

test("as many calls are settled as were reserved, whatever becomes of them", async () => {
  const plan = fc.record({
    reply: fc.constantFrom(...Object.keys(REPLIES)),
    meter: fc.constantFrom("allowed" as const, "refused" as const, "throws" as const),
    reader: fc.constantFrom(...READERS),
    /** At which event the caller stops it; 0 is before it begins. */
    stopAt: fc.option(fc.nat(4), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(plan, { minLength: 1, maxLength: 6 }), async (calls) => {
      const books = new Books();
      const ended = calls.map(async ({ reply, meter, reader, stopAt }) => {
        const own: ModelMeter = {
          reserve: (call) => {
            if (meter === "throws") throw new Error("broken");
            return meter === "refused" ? new Books(async () => "refused").reserve(call) : books.reserve(call);
          },
        };
        server.answer((asked) => REPLIES[asked.said] ?? { text: "?" });
        const stop = new AbortController();
        if (stopAt === 0) stop.abort();
        const ask = { messages: [{ role: "user" as const, content: reply, timestamp: 1 }] };
        const stream = callModel(await handleWith(own), ask, { origin: ORIGIN, signal: stop.signal });
        let events = 0;
        if (reader !== "not_at_all")
          for await (const _event of stream) {
            events += 1;
            if (events === stopAt) stop.abort();
            if (reader === "first_event") break;
          }
        if (stopAt !== undefined) stop.abort();
        await stream.result();
      });
      await Promise.all(ended);
      expect(books.settled).toHaveLength(books.allowed);
    }),
    { numRuns: 40 },
  );
});
