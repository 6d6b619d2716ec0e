import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { summaryTurn } from "../../src/history/assemble.ts";
import { applyFit, fitFor, requestTokens, WHOLE } from "../../src/history/fit.ts";
import { applyPasses } from "../../src/history/passes.ts";
import { askForRest } from "../../src/harness/failover/continuation.ts";
import { policyFor } from "../../src/providers/quirks.ts";
import type { ChatMessage } from "../../src/types/run/model.ts";
import { answer, result, textOf, turns, user } from "../kit/engine.ts";

const ASKED = "please read all of them";
const policy = policyFor({
  api: "anthropic-messages",
  provider: "anthropic",
  id: "claude-sonnet-4-5",
  input: ["text"],
});

/** The steps of a turn: a call each, with a result of so many characters. */
const stepsOf = (sizes: readonly number[]): ChatMessage[] =>
  sizes.flatMap((size, at) => [
    answer(`step ${at}`, `call-${at}`),
    result(`call-${at}`, `result ${at} ${"x".repeat(size)}`),
  ]);

const limits = (mostTokens: number, before = WHOLE) => ({ mostTokens, window: mostTokens, asked: ASKED, before });
const textsOf = (messages: readonly ChatMessage[]) => messages.map(textOf).join("\n");

describe("messages that do not fit", () => {
  it("are not touched while they fit", () => {
    const messages = [...turns(3), user(ASKED), ...stepsOf([100, 100])];
    const fit = fitFor(messages, limits(10_000));
    expect(fit).toBe(WHOLE);
    expect(applyFit(messages, fit, ASKED)).toBe(messages);
  });

  it("lose the least useful first: long results, old results, earlier turns, first steps", () => {
    const large = [...turns(2), user(ASKED), ...stepsOf([100, 9000, 100])];
    expect(fitFor(large, limits(1500))).toEqual({ eachResult: 450, cleared: 0, turns: 0, steps: 0 });
    const many = [...turns(2), user(ASKED), ...stepsOf(Array.from({ length: 40 }, () => 400))];
    expect(fitFor(many, limits(5000))).toMatchObject({ cleared: expect.any(Number), turns: 0, steps: 0 });
    const long = [...turns(80), user(ASKED), ...stepsOf([10, 10])];
    expect(fitFor(long, limits(1500))).toMatchObject({ steps: 0, turns: expect.any(Number) });
    const endless = [...turns(2), user(ASKED), ...stepsOf(Array.from({ length: 300 }, () => 40))];
    const fit = fitFor(endless, limits(3000));
    expect(fit).toMatchObject({ turns: 2, steps: expect.any(Number) });
    const shown = applyFit(endless, fit, ASKED);
    expect(textOf(shown[0]!)).toMatch(/steps of this turn do not fit[^]*- read \{"path":"call-\d+"\}/);
    expect(textsOf(shown)).toContain("result 299");
  });

  it("keep the summary in front, what people said in between, and the last step", () => {
    const messages = [
      summaryTurn("They met in May.", 1),
      ...turns(20),
      user(ASKED),
      ...stepsOf(Array.from({ length: 60 }, () => 500)),
      user("and be quick"),
      ...stepsOf([2000]),
    ];
    const text = textsOf(applyFit(messages, fitFor(messages, limits(1800)), ASKED));
    for (const words of ["They met in May.", ASKED, "and be quick", "result 0 xx"]) expect(text).toContain(words);
  });

  it("keep what people said into the turn, also with a picture, and distinguish it from the turn itself", () => {
    const image = { type: "image" as const, data: "iVBORw0KGgo=", mimeType: "image/png" };
    const messages = [
      ...turns(3),
      user(ASKED),
      ...stepsOf(Array.from({ length: 60 }, () => 500)),
      user("", { steered: true, content: [{ type: "text", text: "STOP, see picture" }, image] }),
      ...stepsOf(Array.from({ length: 40 }, () => 500)),
      user(`${ASKED}, and hurry`, { steered: true }),
      ...stepsOf(Array.from({ length: 60 }, () => 500)),
    ];
    const fit = fitFor(messages, limits(4000));
    const shown = applyFit(messages, fit, ASKED);
    expect(fit).toMatchObject({ turns: 3, steps: expect.any(Number) });
    expect(textOf(shown[0]!)).toMatch(/^please read all of them\n\[The first \d+ steps/);
    expect(textsOf(shown)).toContain("STOP, see picture");
    expect(textsOf(shown)).toContain(`${ASKED}, and hurry`);
  });

  it("lose the request to continue an answer together with the part that it continues", () => {
    const messages = [
      user(ASKED),
      ...stepsOf(Array.from({ length: 60 }, () => 500)),
      answer("the first half"),
      askForRest(1),
      ...stepsOf(Array.from({ length: 60 }, () => 500)),
    ];
    const text = textsOf(applyFit(messages, { ...WHOLE, steps: 80 }, ASKED));
    expect(text).toContain("step 59");
    expect(text).not.toContain("Go on exactly");
  });

  it("keep the last step where they are fewer than those that were cut", () => {
    const messages = [user(ASKED), ...stepsOf([100, 100])];
    const text = textsOf(applyFit(messages, { ...WHOLE, steps: 40 }, ASKED));
    expect(text).toContain("result 1 x");
    expect(text).not.toContain("result 0 x");
  });

  it("are cut to the same bytes by the next calls, until the space is used up again", () => {
    const sizes = Array.from({ length: 200 }, () => 300);
    const whole = [user(ASKED), ...stepsOf(sizes)];
    let before = WHOLE;
    let leaps = 0;
    let shown: readonly ChatMessage[] = [];
    for (let step = 1; step <= sizes.length; step += 1) {
      const messages = whole.slice(0, 1 + step * 2);
      const fit = fitFor(messages, limits(4000, before));
      const next = applyFit(messages, fit, ASKED);
      expect(requestTokens(next)).toBeLessThanOrEqual(4000);
      if (fit === before) expect(next.slice(0, shown.length)).toEqual(shown);
      else leaps += 1;
      before = fit;
      shown = next;
    }
    expect(leaps).toBeGreaterThan(2);
    expect(leaps).toBeLessThan(sizes.length / 4);
  });

  it("become a request that fits, with what was asked and the last step, whatever came before", () => {
    const shape = fc.record({
      earlier: fc.nat(30),
      sizes: fc.array(fc.nat(3000), { minLength: 1, maxLength: 60 }),
      hasSummary: fc.boolean(),
      mostTokens: fc.integer({ min: 2500, max: 20_000 }),
    });
    fc.assert(
      fc.property(shape, ({ earlier, sizes, hasSummary, mostTokens }) => {
        const head = hasSummary ? [summaryTurn("They met.", 1)] : [];
        const messages = [...head, ...turns(earlier), user(ASKED), ...stepsOf(sizes)];
        const fit = fitFor(messages, limits(mostTokens));
        const shown = applyFit(messages, fit, ASKED);
        expect(requestTokens(shown)).toBeLessThanOrEqual(mostTokens);
        expect(textsOf(shown)).toContain(ASKED);
        expect(textsOf(shown)).toContain(`step ${sizes.length - 1}`);
        if (hasSummary) expect(textsOf(shown)).toContain("They met.");
        const sent = applyPasses(shown, policy);
        expect(applyPasses(sent, policy)).toEqual(sent);
        const calls = sent.flatMap((message) => (message.role === "assistant" ? message.content : []));
        const ids = calls.flatMap((part) => (part.type === "toolCall" ? [part.id] : []));
        const answered = sent.flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : []));
        expect(answered).toEqual(ids);
      }),
    );
  });
});
