import { afterEach, beforeEach, expect, it } from "vitest";
import { compact, type Compaction } from "../../../src/harness/compaction/compact.ts";
import type { Conversation } from "../../../src/harness/request.ts";
import type { ModelHandle } from "../../../src/providers/catalog.ts";
import { systemClock } from "../../../src/types/clock.ts";
import type { CompactionEvent } from "../../../src/types/run/events.ts";
import { textResult } from "../../../src/tools/define.ts";
import { makeTool } from "../../kit/tools.ts";
import { eventsOf, openedByPi, openRunFixture, type RunFixture, userTurn } from "../../kit/run.ts";
import { MODEL, modelsAt, SPARE } from "../../kit/models.ts";
import { settingsFor } from "../../kit/settings.ts";

let fixture: RunFixture;
beforeEach(async () => {
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

const LONG = "word ".repeat(400);
const SETTINGS = { reserveTokens: 20_000, keepRecentTokens: 600, timeoutMs: 60_000 };

async function handle(): Promise<ModelHandle> {
  const found = await modelsAt(fixture.model.url).find(MODEL);
  if ("missing" in found) throw new Error(found.missing);
  return found;
}

/** Turns of some 1,000 tokens each. */
async function talk(turns: number): Promise<void> {
  for (let at = 1; at <= turns; at += 1) {
    const content = `turn-${at} ${LONG}`;
    await fixture.session.append(
      { type: "message", message: { role: "user", content, timestamp: 1 } },
      { id: `u${at}` },
    );
    const run = fixture.start({ turn: userTurn(content, `u${at}`) });
    await run.stream.done;
  }
}

async function run(more: Partial<Compaction> = {}) {
  const events: CompactionEvent[] = [];
  const outcome = await compact({
    conversation: fixture.session,
    summarizers: [await handle()],
    window: 100_000,
    settings: SETTINGS,
    origin: { cause: "compaction" },
    clock: systemClock,
    signal: new AbortController().signal,
    why: "full",
    emit: (event) => events.push(event),
    ...more,
  });
  return { done: outcome, events };
}

const isSummary = (system: string) => system.startsWith("You write the memory");

it("appends one entry, reports it, and does not begin again while nothing is said", async () => {
  fixture.model.answer((call) => ({ text: isSummary(call.system) ? "SUMMARY" : "fine" }));
  await talk(4);
  const { done, events } = await run();
  expect(done).toMatchObject({ kind: "done", isListed: false });
  expect(events).toMatchObject([
    { phase: "start" },
    { phase: "end", ok: true, willRetry: false, costs: [{ calls: 1, usage: { input: 10, output: 5 } }] },
  ]);
  expect(openedByPi(fixture.session.file)).toHaveLength(3);
  const leaf = fixture.session.leafId;
  expect(await run({ why: "asked" })).toEqual({ done: { kind: "nothing", because: "unchanged" }, events: [] });
  expect(fixture.session.leafId).toBe(leaf);
});

it("feeds the earlier summary into the next one", async () => {
  fixture.model.answer((call) => ({ text: isSummary(call.system) ? "SUMMARY-1" : "fine" }));
  await talk(3);
  await run();
  await talk(0);
  for (const id of ["v1", "v2", "v3"]) await fixture.start({ turn: userTurn(`later ${id} ${LONG}`, id) }).stream.done;
  expect((await run()).done.kind).toBe("done");
  expect(fixture.model.calls.at(-1)?.said).toMatch(/SUMMARY-1[^]*turn-3[^]*later v1/);
  expect(fixture.model.calls.at(-1)?.said).not.toContain("turn-1");
});

it("appends nothing when the summary is no shorter than what it replaces", async () => {
  fixture.model.answer((call) => ({ text: isSummary(call.system) ? LONG.repeat(4) : "fine" }));
  await talk(3);
  const leaf = fixture.session.leafId;
  const { done, events } = await run();
  expect(done).toEqual({ kind: "nothing", because: "no_gain" });
  expect(events.at(-1)).toMatchObject({ phase: "end", ok: false });
  expect(fixture.session.leafId).toBe(leaf);
});

it("keeps the turn under way, and has nothing to do when that is all", async () => {
  await talk(3);
  expect((await run({ keepFrom: "u1" })).done).toEqual({ kind: "nothing", because: "small" });
});

it("ends with an abort at once and changes nothing", async () => {
  await talk(3);
  const leaf = fixture.session.leafId;
  fixture.model.answer(() => "hang");
  const stop = new AbortController();
  const compacting = run({ signal: stop.signal });
  await fixture.model.called(4);
  stop.abort();
  expect((await compacting).done).toEqual({ kind: "aborted" });
  expect(fixture.session.leafId).toBe(leaf);
});

it("lists what was said when the time is over", async () => {
  await talk(3);
  fixture.model.answer(() => "hang");
  const { done, events } = await run({ settings: { ...SETTINGS, timeoutMs: 50 } });
  expect(done).toMatchObject({ kind: "done", isListed: true });
  expect(events.at(-1)).toMatchObject({ ok: true, listedBecause: "the time was over" });
  expect((await fixture.session.window(100_000)).summary).toContain("- User: turn-1");
});

it("asks the next writer when one fails", async () => {
  await talk(3);
  fixture.model.answer((call) => (call.model === "spare-1" ? { text: "SPARE" } : { status: 401, message: "no" }));
  const spare = await modelsAt(fixture.model.url).find({ provider: "spare", id: "spare-1" });
  if ("missing" in spare) throw new Error(spare.missing);
  const { events } = await run({ summarizers: [await handle(), spare] });
  expect((await fixture.session.window(100_000)).summary).toBe("SPARE");
  const costs = [
    { model: MODEL, calls: 1, usage: { input: 0, output: 0 } },
    { model: SPARE, calls: 1, usage: { input: 10, output: 5 } },
  ];
  expect(events.at(-1)).toMatchObject({ costs });
});

it("counts the tokens of a summary that was stopped", async () => {
  await talk(3);
  fixture.model.answer(() => "hang");
  const stop = new AbortController();
  const compacting = run({ signal: stop.signal });
  await fixture.model.called(4);
  stop.abort();
  const costs = [{ model: MODEL, calls: 1, usage: { input: expect.any(Number), output: 0 } }];
  const end = (await compacting).events.at(-1);
  expect(end).toMatchObject({ ok: false, costs });
  if (end?.phase === "end") expect(end.costs[0]?.usage.input).toBeGreaterThan(1000);
});

it("waits with a summary that the budget does not allow, rather than listing what was said", async () => {
  await talk(3);
  const reserve = async () => ({ kind: "refused" as const, reason: "The day is spent." });
  const broke = await modelsAt(fixture.model.url, { reserve }).find(MODEL);
  if ("missing" in broke) throw new Error(broke.missing);
  const { done, events } = await run({ summarizers: [broke] });
  expect(done).toEqual({ kind: "nothing", because: "later", isBusy: true });
  expect(events.at(-1)).toMatchObject({ ok: false, costs: [] });
});

it("leaves a conversation alone that nobody keeps", async () => {
  await talk(3);
  const { session } = fixture;
  const conversation: Conversation = {
    leafId: session.leafId,
    window: (most) => session.window(most),
    after: async () => undefined,
    append: async () => "never",
  };
  expect((await run({ conversation })).done.kind).toBe("nothing");
});

it("continues from the turn's tool results after an overflow in its middle", async () => {
  await talk(3);
  let looks = 0;
  const look = makeTool("look", async () => {
    looks += 1;
    return textResult("seen");
  });
  fixture.model.answer((call) => {
    if (isSummary(call.system)) return { text: "SUMMARY" };
    if (!call.isAfterTool) return { tool: "look", args: {} };
    return JSON.stringify(call.messages).includes("turn-1 ")
      ? { status: 400, message: "maximum context length is 10 tokens" }
      : { text: `answered from ${call.toolText}` };
  });
  const going = fixture.start({ turn: userTurn("and now", "now"), tools: [look] });
  const events = await eventsOf(going.stream);
  expect(await going.stream.done).toMatchObject({ kind: "replied" });
  expect(looks).toBe(1);
  expect((await fixture.transcript()).at(-1)).toBe("assistant: answered from seen");
  const phases = events.flatMap((event) => (event.type === "compaction" ? [event] : []));
  expect(phases).toMatchObject([{ phase: "start" }, { phase: "end", ok: true, willRetry: true }]);
  expect(await going.compactWhenFull()).toBeUndefined();
});

it("cuts what tools bring in one run before it fills the window, in what is sent alone", async () => {
  const own = await openRunFixture();
  const big = "x".repeat(60_000);
  const look = makeTool("look", async ({ text }) => textResult(`${text} ${big}`));
  own.model.answer((_, number) => (number <= 12 ? { tool: "look", args: { text: String(number) } } : { text: "seen" }));
  const settings = { ...settingsFor(own.dir), contextTokens: 40_000 };
  const run = own.start({ tools: [look], settings });
  expect((await run.stream.done).kind).toBe("replied");
  for (const call of own.model.calls) expect(JSON.stringify(call.messages).length / 4).toBeLessThan(40_000);
  expect((await own.transcript()).filter((line) => line.length > 15_000)).toHaveLength(12);
  await own.close();
});

it("keeps a long conversation inside a small window, and summarises each turn once", async () => {
  fixture.model.answer((call) => ({ text: isSummary(call.system) ? "SUMMARY" : "fine" }));
  const settings = { ...settingsFor(fixture.dir), contextTokens: 6000 };
  let compactions = 0;
  for (let at = 1; at <= 60; at += 1) {
    const going = fixture.start({ settings, turn: userTurn(`turn-${at}; ${LONG}`, `t${at}`) });
    await going.stream.done;
    if ((await going.compactWhenFull())?.kind === "done") compactions += 1;
  }
  expect(compactions).toBeGreaterThan(5);
  const calls = fixture.model.calls.filter((call) => !isSummary(call.system));
  expect(Math.max(...calls.map((call) => JSON.stringify(call.messages).length / 4))).toBeLessThan(6000);
  const summarised = fixture.model.calls.flatMap((call) =>
    isSummary(call.system) ? [...call.said.matchAll(/turn-(\d+);/g)].map((found) => Number(found[1])) : [],
  );
  expect(summarised).toEqual(summarised.map((_, index) => index + 1));
  expect(await fixture.transcript()).toHaveLength(120);
});

it.each([
  { window: 16_000, fixed: 8000, counted: 1 },
  { window: 16_000, fixed: 11_000, counted: 1 },
  { window: 16_000, fixed: 7000, counted: 1.25 },
  { window: 24_000, fixed: 8000, counted: 1 },
  { window: 32_000, fixed: 8000, counted: 1 },
])(
  "frees room for several turns beside $fixed fixed tokens of $window, of which the provider counts $counted each",
  async ({ window, fixed, counted }) => {
    fixture.model.answer((call) => {
      if (isSummary(call.system)) return { text: "SUMMARY ".repeat(100) };
      const tokens = Math.ceil((JSON.stringify(call.messages).length / 4) * counted);
      const usage = { prompt_tokens: tokens, completion_tokens: 1, total_tokens: tokens + 1 };
      const events = [
        { choices: [{ index: 0, delta: { content: "fine" } }] },
        { choices: [{ finish_reason: "stop" }] },
      ];
      const body = [...events, { choices: [], usage }].map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
      const headers = { "content-type": "text/event-stream" };
      return { raw: { status: 200, headers, body: `${body}data: [DONE]\n\n` } };
    });
    const settings = { ...settingsFor(fixture.dir), contextTokens: window };
    const systemPrompt = async () => ({ text: "Rule. ".repeat((fixed * 4) / 6), parts: [] });
    const compacted: number[] = [];
    for (let at = 1; at <= 60; at += 1) {
      const going = fixture.start({
        settings,
        systemPrompt,
        turn: userTurn(`turn-${at}; ${"a word ".repeat(190)}`, `t${at}`),
      });
      expect(await going.stream.done).toMatchObject({ kind: "replied" });
      await going.settle();
      if ((await going.compactWhenFull())?.kind === "done") compacted.push(at);
    }
    expect(compacted.length).toBeGreaterThan(0);
    const pauses = compacted.slice(1).map((at, index) => at - (compacted[index] ?? 0));
    expect(Math.min(...pauses, 60)).toBeGreaterThanOrEqual(3);
  },
);

it("keeps the earlier summary where the model loses nearly all of it", async () => {
  const facts = "The user's boat is called Marigold; the harbour fee is due on 3 May. ".repeat(5);
  let summaries = 0;
  fixture.model.answer((call) => {
    if (!isSummary(call.system)) return { text: "fine" };
    summaries += 1;
    return { text: summaries === 1 ? facts : "## Facts\n\n## Open tasks" };
  });
  await talk(3);
  await run();
  for (const id of ["v1", "v2", "v3"]) await fixture.start({ turn: userTurn(`later ${id} ${LONG}`, id) }).stream.done;
  expect((await run()).done.kind).toBe("done");
  expect((await fixture.session.window(100_000)).summary).toContain("Marigold");
  for (const id of ["w1", "w2", "w3"]) await fixture.start({ turn: userTurn(`last ${id} ${LONG}`, id) }).stream.done;
  expect((await run({ instructions: "forget the boat" })).done.kind).toBe("done");
  expect((await fixture.session.window(100_000)).summary).not.toContain("Marigold");
});

it("asks for the summary three times in one turn when each stream breaks", async () => {
  let summaries = 0;
  fixture.model.answer((call) => {
    if (!isSummary(call.system)) return { text: "fine" };
    summaries += 1;
    return { text: "The user wants so many", stopAfter: 3, ending: "reset" };
  });
  const settings = { ...settingsFor(fixture.dir), contextTokens: 6000 };
  await talk(16);
  const message = { role: "user" as const, content: "and now", timestamp: 1 };
  await fixture.session.append({ type: "message", message }, { id: "now" });
  const going = fixture.start({ settings, turn: userTurn("and now", "now"), candidates: [MODEL, SPARE] });
  expect(await going.stream.done).toMatchObject({ kind: "replied" });
  await going.settle();
  await going.compactWhenFull();
  expect(summaries).toBeGreaterThan(1);
  expect(summaries).toBeLessThanOrEqual(4);
});
