import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createModels, type Models } from "../../../src/providers/catalog.ts";
import type { RunEvent } from "../../../src/types/run/events.ts";
import type { ModelCall, ModelReply } from "../../fakes/model.ts";
import { textResult } from "../../../src/tools/define.ts";
import { makeTool } from "../../kit/tools.ts";
import { eventsOf, openRunFixture, type RunFixture, userTurn } from "../../kit/run.ts";
import { shortenedClock } from "../../kit/clock.ts";
import { MODEL, SPARE } from "../../kit/models.ts";
import { settingsFor } from "../../kit/settings.ts";
import { errorOf } from "../wire/wires.ts";
import { answered, asked } from "../../kit/transcript-messages.ts";

let fixture: RunFixture;
beforeEach(async () => {
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

const isSummary = ({ system }: ModelCall) => system.startsWith("You write the memory");
const tokensOf = ({ messages }: ModelCall) => JSON.stringify(messages).length / 4;
const overloaded = (): ModelReply => errorOf("openai-completions", 529, { message: "overloaded" });
const tooLong = (): ModelReply =>
  errorOf("openai-completions", 400, { message: "maximum context length exceeded. reduce the length of the messages" });
const within = (contextTokens: number) => ({ ...settingsFor(fixture.dir), contextTokens, timeoutMs: 10_000_000 });
/** More than any test takes. */
const PATIENT = { timeoutMs: 10_000_000 };
/** How long a summary in front of an answer may take. */
const SUMMARY_MS = 60_000;

/** Models by name and window, all on the fake. */
function modelsOf(windows: Readonly<Record<string, number>>, keys: Readonly<Record<string, string>> = {}): Models {
  const provider = (name: string, contextWindow: number) => ({
    baseUrl: fixture.model.url,
    api: "openai-completions" as const,
    apiKey: keys[name] ?? "sk-test-0123456789",
    models: [{ id: `${name}-1`, contextWindow, maxTokens: 1000 }],
  });
  const providers = Object.fromEntries(Object.entries(windows).map(([name, size]) => [name, provider(name, size)]));
  return createModels({ providers, env: {}, probeLocal: false });
}

/** Earlier turns of some 500 tokens each, the way another gateway may have left them. */
async function facts(count: number, from = 0): Promise<void> {
  for (let fact = from; fact < from + count; fact += 1) {
    const message = asked(`fact-${fact}. ${"w ".repeat(1000)}`);
    await fixture.session.append({ type: "message", message });
    await fixture.session.append({ type: "message", message: answered(`noted ${fact}`) });
  }
}

const factsIn = (text: string): number[] => [
  ...new Set([...text.matchAll(/fact-(\d+)\./g)].map(([, fact]) => Number(fact))),
];
const compactions = async () => (await fixture.session.newest(1000)).filter(({ type }) => type === "compaction").length;
const remediesOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "retry" ? [event.remedy] : []));

describe("a turn of very many steps", () => {
  it.each([
    [32_000, 20_000, 45],
    [100_000, 8000, 70],
    [20_000, 400, 150],
  ])("in a window of %i tokens with results of %i characters is done, and remembered", async (window, size, steps) => {
    let over = 0;
    fixture.model.answer((call, number) => {
      if (isSummary(call)) return { text: "SUMMARY" };
      if (tokensOf(call) > window) {
        over += 1;
        return tooLong();
      }
      return number - over <= steps ? { text: "", tool: "look", args: { text: `${number}` } } : { text: "finished" };
    });
    const look = makeTool("look", async ({ text }) =>
      textResult(`result of ${text}: ${"some words here ".repeat(size / 16)}`),
    );
    const run = fixture.start({
      settings: within(window),
      tools: [look],
      turn: userTurn("look everywhere"),
      ...PATIENT,
    });
    const events = await eventsOf(run.stream);
    await run.settle();
    expect(events.at(-1)).toMatchObject({ type: "run_end", result: { kind: "replied" } });
    expect(over).toBeLessThanOrEqual(2);
    expect(events.some((event) => event.type === "notice" && event.because === "window")).toBe(true);
    for (const call of fixture.model.calls.filter((one) => !isSummary(one)))
      expect(JSON.stringify(call.messages)).toContain("look everywhere");

    const compacted = await run.compactWhenFull();
    if (size > 400) expect(compacted).toMatchObject({ kind: "done" });
    fixture.model.answer(() => ({ text: "yes" }));
    const next = fixture.start({
      settings: within(window),
      tools: [look],
      turn: userTurn("and now?", "turn-2"),
      ...PATIENT,
    });
    expect(await next.stream.done).toMatchObject({ kind: "replied" });
    expect(JSON.stringify(fixture.model.calls.at(-1)?.messages)).toMatch(/SUMMARY|result of/);
  });
});

describe("a long turn whose provider fails on the way", () => {
  it.each([
    ["32 000", 32_000, 500],
    ["100 000", 100_000, 50],
  ])(
    "in a window of %s tokens is continued: the question and what was said into it are sent",
    async (_, size, words) => {
      const isCut = size < 50_000;
      fixture.model.answer((_, number) => {
        if (number === 40) return overloaded();
        return number <= 43 ? { text: "", tool: "look", args: { text: `${number}` } } : { text: "finished" };
      });
      const steered = userTurn("only the first ones", "st-1");
      const look = makeTool("look", async ({ text }) => {
        if (text === "30") void run.steer(steered);
        return textResult(`result of ${text}: ${"some words here ".repeat(words)}`);
      });
      const run = fixture.start({
        settings: within(size),
        tools: [look],
        turn: userTurn("look everywhere"),
        ...PATIENT,
      });
      const events = await eventsOf(run.stream);
      expect(events.at(-1)).toMatchObject({ result: { kind: "replied" } });
      expect(events.some((event) => event.type === "notice" && event.because === "window")).toBe(isCut);
      for (const call of fixture.model.calls) expect(JSON.stringify(call.messages)).toContain("look everywhere");
      const behind = fixture.model.calls.filter((call) => JSON.stringify(call.messages).includes(steered.text));
      expect(behind).toHaveLength(fixture.model.calls.length - 30);
    },
  );
});

describe("a conversation that is larger than the next model's window", () => {
  it("is summed up as a whole before that model answers", async () => {
    await facts(60);
    fixture.model.answer((call) => ({ text: isSummary(call) ? "SUMMARY" : "ok" }));
    const run = fixture.start({ models: modelsOf({ fake: 8000 }), turn: userTurn("q"), ...PATIENT });
    expect(await run.stream.done).toMatchObject({ kind: "replied" });
    const summed = factsIn(
      fixture.model.calls
        .filter(isSummary)
        .map(({ said }) => said)
        .join("\n"),
    );
    const shown = JSON.stringify(fixture.model.calls.at(-1)?.messages);
    expect(shown).toContain("SUMMARY");
    expect(new Set([...summed, ...factsIn(shown)])).toEqual(new Set(Array.from({ length: 60 }, (_, fact) => fact)));
    expect(await compactions()).toBe(1);
  });

  it.each([
    ["is busy", overloaded],
    ["cannot", () => errorOf("openai-completions", 401, { message: "no such key" })],
    ["takes too long", () => new Promise<never>(() => undefined)],
  ])("is only left out of that answer when the one that would sum it up %s: nothing of it is gone", async (_, how) => {
    await facts(60);
    let works = false;
    fixture.model.answer((call) => {
      if (!isSummary(call)) return { text: "ok" };
      return works ? { text: "SUMMARY" } : how();
    });
    const clock = shortenedClock(SUMMARY_MS);
    const run = fixture.start({ models: modelsOf({ fake: 8000 }), turn: userTurn("q"), clock, ...PATIENT });
    expect(await run.stream.done).toMatchObject({ kind: "replied" });
    expect(await compactions()).toBe(0);
    works = true;
    const next = fixture.start({ models: modelsOf({ fake: 8000 }), turn: userTurn("q2", "turn-2"), ...PATIENT });
    expect(await next.stream.done).toMatchObject({ kind: "replied" });
    const given = fixture.model.calls.filter(isSummary).map(({ said }) => said);
    const shown = JSON.stringify(fixture.model.calls.at(-1)?.messages);
    expect(shown).toContain("SUMMARY");
    expect(new Set(factsIn(given.join("\n") + shown)).size).toBe(60);
  });

  it("is not summed up when that model is only a fallback", async () => {
    await facts(60);
    const models = modelsOf({ fake: 200_000, spare: 8000 });
    fixture.model.answer((call) => (call.model === "fake-1" ? overloaded() : { text: "ok" }));
    const run = fixture.start({ models, candidates: [MODEL, SPARE], turn: userTurn("q"), ...PATIENT });
    expect(await run.stream.done).toMatchObject({ kind: "replied" });
    await run.settle();
    expect(factsIn(JSON.stringify(fixture.model.calls.at(-1)?.messages)).length).toBeLessThan(20);
    expect(await run.compactWhenFull()).toBeUndefined();
    expect(await run.fill()).toMatchObject({ window: 200_000 });
    expect(await compactions()).toBe(0);
  });

  it("is cut for a fallback that takes even less, and still not summed up", async () => {
    await facts(60);
    const models = modelsOf({ fake: 200_000, spare: 8000 });
    fixture.model.answer((call) => {
      if (call.model === "fake-1") return overloaded();
      return tokensOf(call) > 3000 ? tooLong() : { text: "ok" };
    });
    const run = fixture.start({ models, candidates: [MODEL, SPARE], turn: userTurn("q"), ...PATIENT });
    const events = await eventsOf(run.stream);
    expect(events.at(-1)).toMatchObject({ result: { kind: "replied" } });
    expect(remediesOf(events)).toContain("shrink_window");
    expect(await compactions()).toBe(0);
  });
});

describe("the model that writes the summary", () => {
  const full = async (more: Parameters<RunFixture["start"]>[0] = {}) => {
    await facts(13);
    const run = fixture.start({ settings: within(8500), turn: userTurn("q"), ...PATIENT, ...more });
    await run.stream.done;
    await run.settle();
    return run.compactWhenFull();
  };

  it("is asked again after a failure that passes", async () => {
    let asked = 0;
    fixture.model.answer((call) => {
      if (!isSummary(call)) return { text: "ok" };
      asked += 1;
      return asked === 1 ? overloaded() : { text: "GOOD" };
    });
    expect(await full()).toMatchObject({ kind: "done", isListed: false });
    expect(JSON.stringify(await fixture.session.window(9000))).toContain("GOOD");
  });

  it("is not waited for after a turn when it stays busy: nothing is lost, and the next turn asks again", async () => {
    let isBusy = true;
    fixture.model.answer((call) => {
      if (!isSummary(call)) return { text: "ok" };
      return isBusy ? overloaded() : { text: "GOOD" };
    });
    expect(await full()).toEqual({ kind: "nothing", because: "later", isBusy: true });
    expect(await compactions()).toBe(0);
    isBusy = false;
    const run = fixture.start({ settings: within(8500), turn: userTurn("q2", "turn-2"), ...PATIENT });
    await run.stream.done;
    await run.settle();
    await run.compactWhenFull();
    expect(JSON.stringify(await fixture.session.window(9000))).toContain("GOOD");
  });

  it("is given pieces of its own window, however large the conversation's is", async () => {
    const compaction = { reserveTokens: 20_000, keepRecentTokens: 5000, timeoutMs: 180_000 };
    const settings = {
      ...settingsFor(fixture.dir),
      compaction: { ...compaction, model: { provider: "tiny", id: "tiny-1" } },
    };
    const sizes: number[] = [];
    fixture.model.answer((call) => {
      if (!isSummary(call)) return { text: "ok" };
      sizes.push(tokensOf(call));
      return tokensOf(call) > 6000 ? tooLong() : { text: "GOOD" };
    });
    const models = modelsOf({ fake: 50_000, tiny: 6000 });
    await facts(80);
    const run = fixture.start({ models, settings, turn: userTurn("q"), ...PATIENT });
    await run.stream.done;
    await run.settle();
    expect(await run.compactWhenFull()).toMatchObject({ kind: "done", isListed: false });
    expect(sizes.length).toBeGreaterThan(3);
    expect(Math.max(...sizes)).toBeLessThan(6000);
  });

  it("keeps what it wrote when it fails on the way; the remaining part is listed, after the turn", async () => {
    let asked = 0;
    fixture.model.answer((call) => {
      if (!isSummary(call)) return { text: "ok" };
      asked += 1;
      if (asked === 1) return errorOf("openai-completions", 403, { message: "not now" });
      return asked < 4 ? { text: `PART-${asked}` } : errorOf("openai-completions", 401, { message: "no such key" });
    });
    await facts(60);
    const run = fixture.start({ models: modelsOf({ fake: 8000 }), turn: userTurn("q"), ...PATIENT });
    expect(await run.stream.done).toMatchObject({ kind: "replied" });
    await run.settle();
    expect(await run.compactWhenFull()).toMatchObject({ kind: "done", isListed: true });
    const { summary = "" } = await fixture.session.window(9000);
    expect(summary).toMatch(/PART-2[^]*PART-3[^]*- User: fact-/);
  });

  it("is waited for while one of them is busy, whatever becomes of the others", async () => {
    fixture.model.answer((call) => {
      if (!isSummary(call)) return { text: "ok" };
      return call.model === "fake-1" ? overloaded() : errorOf("openai-completions", 401, { message: "no such key" });
    });
    const models = modelsOf({ fake: 100_000, spare: 100_000 });
    expect(await full({ models, candidates: [MODEL, SPARE] })).toEqual({
      kind: "nothing",
      because: "later",
      isBusy: true,
    });
    expect(await compactions()).toBe(0);
  });
});

describe("a conversation whose config lets nothing be compacted by itself", () => {
  it("has no summary, whether its turns do not fit, the model refuses them, or the window is full after the turn", async () => {
    const compaction = { reserveTokens: 20_000, keepRecentTokens: 5000, timeoutMs: 180_000, when: "asked" as const };
    const settings = { ...within(8500), compaction };
    fixture.model.answer((call) => (tokensOf(call) > 4000 ? tooLong() : { text: "ok" }));
    await facts(30);
    const run = fixture.start({ settings, turn: userTurn("q"), ...PATIENT });
    const events = await eventsOf(run.stream);
    expect(events.at(-1)).toMatchObject({ result: { kind: "replied" } });
    await run.settle();
    expect(await run.compactWhenFull()).toBeUndefined();
    expect(fixture.model.calls.filter(isSummary)).toEqual([]);
    expect(await compactions()).toBe(0);
  });
});
