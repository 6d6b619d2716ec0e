import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createModels, type Models } from "../../../src/providers/catalog.ts";
import type { RunEvent } from "../../../src/types/run/events.ts";
import type { ModelCall, ModelReply } from "../../fakes/model.ts";
import { answered, asked } from "../../kit/transcript-messages.ts";
import { eventsOf, openRunFixture, type RunFixture, userTurn } from "../../kit/run.ts";
import { errorOf } from "../wire/wires.ts";

let fixture: RunFixture;
beforeEach(async () => {
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

/** The fixture's clock runs a hundred times as fast. */
const PATIENT = { timeoutMs: 10_000_000 };
const isSummary = ({ system }: ModelCall) => system.startsWith("You write the memory");
const bodyOf = ({ messages }: ModelCall) => JSON.stringify(messages);
const tokensOf = (call: ModelCall) => Math.ceil(bodyOf(call).length / 4);
const refusal = (message: string): ModelReply => errorOf("openai-completions", 400, { message });

/** A model whose window is thought to be 128,000 tokens. */
function models(): Models {
  const model = { id: "fake-1", contextWindow: 128_000, maxTokens: 1000 };
  const fake = { baseUrl: fixture.model.url, api: "openai-completions" as const, apiKey: "sk-test-0123456789" };
  return createModels({ providers: { fake: { ...fake, models: [model] } }, env: {}, probeLocal: false });
}

/** Earlier turns of some 500 tokens each. */
async function earlier(count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    await fixture.session.append({ type: "message", message: asked(`fact-${at}. ${"w ".repeat(1000)}`) });
    await fixture.session.append({ type: "message", message: answered(`noted ${at}`) });
  }
}

const remediesOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "retry" ? [event.remedy] : []));
const endOf = (events: readonly RunEvent[]) => events.at(-1) as Extract<RunEvent, { type: "run_end" }>;

function expectNoRepeats(): void {
  const bodies = fixture.model.calls.filter((call) => !isSummary(call)).map(bodyOf);
  expect(new Set(bodies).size, "a request went out twice").toBe(bodies.length);
}

describe("a model whose real window is smaller than is thought", () => {
  const WINDOW = 4000;

  it("answers, though its refusal names no figure: the window is learned by halving what was refused", async () => {
    await earlier(20);
    fixture.model.answer((call) => {
      if (tokensOf(call) > WINDOW) return refusal("maximum context length exceeded. reduce the length of the messages");
      return { text: isSummary(call) ? "SUMMARY" : "ok" };
    });
    const events = await eventsOf(fixture.start({ models: models(), turn: userTurn("question"), ...PATIENT }).stream);
    expect(endOf(events).result).toMatchObject({ kind: "replied" });
    expect(bodyOf(fixture.model.calls.at(-1)!)).toContain("question");
    expectNoRepeats();
  });

  it("answers within four calls when there is nothing to sum up, and only halving helps", async () => {
    await earlier(20);
    fixture.model.answer((call) => {
      if (isSummary(call)) return { status: 400, message: "This model writes no summaries" };
      if (tokensOf(call) > WINDOW) return refusal("maximum context length exceeded. reduce the length of the messages");
      return { text: "ok" };
    });
    const events = await eventsOf(fixture.start({ models: models(), turn: userTurn("question"), ...PATIENT }).stream);
    expect(endOf(events).result).toMatchObject({ kind: "replied" });
    expect(fixture.model.calls.filter((call) => !isSummary(call)).length).toBeLessThanOrEqual(4);
    expectNoRepeats();
  });

  it("answers at its second call when its refusal names the figures", async () => {
    await earlier(20);
    fixture.model.answer((call) => {
      if (isSummary(call)) return { text: "SUMMARY" };
      const tokens = tokensOf(call);
      if (tokens <= WINDOW) return { text: "ok" };
      return refusal(
        `This model's maximum context length is ${WINDOW} tokens. However, your messages resulted in ${tokens} tokens. ` +
          "Please reduce the length of the messages.",
      );
    });
    const events = await eventsOf(fixture.start({ models: models(), turn: userTurn("question"), ...PATIENT }).stream);
    expect(endOf(events).result).toMatchObject({ kind: "replied" });
    expect(fixture.model.calls.filter((call) => !isSummary(call))).toHaveLength(2);
    expectNoRepeats();
  });

  it("is known by then: the next run's first request fits", async () => {
    await earlier(20);
    let refused = 0;
    fixture.model.answer((call) => {
      if (isSummary(call)) return { text: "SUMMARY" };
      if (tokensOf(call) <= 9000) return { text: "ok" };
      refused += 1;
      return refusal("maximum context length exceeded. reduce the length of the messages");
    });
    const shared = models();
    await fixture.start({ models: shared, turn: userTurn("question"), ...PATIENT }).stream.done;
    const before = refused;
    expect(before).toBeGreaterThan(0);
    await earlier(20);
    const events = await eventsOf(
      fixture.start({ models: shared, turn: userTurn("again", "turn-2"), ...PATIENT }).stream,
    );
    expect(endOf(events).result).toMatchObject({ kind: "replied" });
    expect(refused).toBe(before);
  });
});

describe("a request that no remedy makes smaller", () => {
  it("goes out once, and takes no remedy that is about something that is not there", async () => {
    fixture.model.answer(() => refusal("maximum context length exceeded. reduce the length of the messages"));
    const events = await eventsOf(
      fixture.start({ models: models(), turn: userTurn(`all alone ${"x ".repeat(20_000)}`), ...PATIENT }).stream,
    );
    expect(endOf(events).result).toMatchObject({
      kind: "failed",
      failure: { kind: expect.stringMatching(/overflow|compaction/) },
    });
    expect(remediesOf(events)).not.toContain("truncate_results");
    expect(fixture.model.calls).toHaveLength(1);
  });

  it("does not go out when no provider could take it, and the failure has the figures", async () => {
    const words = `all alone ${"word ".repeat(240_000)}`;
    const run = fixture.start({ models: models(), turn: userTurn(words), ...PATIENT });
    const events = await eventsOf(run.stream);
    const failure = { kind: "context_overflow", isAlone: true, limitTokens: 128_000 };
    expect(endOf(events).result).toMatchObject({ kind: "failed", failure });
    const { result } = endOf(events);
    const { requestedTokens = 0 } = result.kind === "failed" ? result.failure : {};
    expect(requestedTokens).toBeGreaterThan(290_000);
    expect(fixture.model.calls).toHaveLength(0);
  });

  it("goes out in the next conversation after one that was too large", async () => {
    fixture.model.answer(() => ({ text: "ok" }));
    const shared = models();
    await fixture.start({ models: shared, turn: userTurn("word ".repeat(240_000)), ...PATIENT }).stream.done;
    const short = fixture.start({ models: shared, turn: userTurn("hello", "turn-2"), ...PATIENT });
    expect(await short.stream.done).toMatchObject({ kind: "replied" });
    expect(fixture.model.calls).toHaveLength(1);
  });

  it("goes out once where the provider refuses its form", async () => {
    fixture.model.answer(() => refusal("messages: roles must alternate between user and assistant"));
    const events = await eventsOf(fixture.start({ models: models(), turn: userTurn("hello"), ...PATIENT }).stream);
    expect(endOf(events).result).toMatchObject({ kind: "failed", failure: { kind: "role_ordering" } });
    expect(fixture.model.calls).toHaveLength(1);
    expect(endOf(events).receipt.tries?.at(-1)?.message).toMatch(/^not sent: /);
  });
});
