import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AuxiliaryUsage } from "../../../src/dispatch/maintenance/auxiliary-usage.ts";
import { agentId, runId } from "../../../src/types/ids.ts";
import type { RunRecord } from "../../../src/types/journal.ts";
import { emptyUsage } from "../../../src/types/run/usage.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";
import { PATIENCE } from "../../kit/until.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.model.answer((call) => ({ text: isSummary(call.system) ? "SUMMARY" : "fine" }));
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const LONG = "word ".repeat(500);
const isSummary = (system: string) => system.startsWith("You write the memory");
const summaries = () => fixture.model.calls.filter(({ system }) => isSummary(system)).length;
const quiet = () => vi.waitFor(() => expect(boot.dispatch.lanes.isBusy(boot.keyOf("1"))).toBe(false), PATIENCE);
const rows = () => boot.journal.runs.recent(100);
const sum = (records: readonly RunRecord[], of: (record: RunRecord) => number) =>
  records.reduce((total, record) => total + of(record), 0);

/** Every call of the fake costs the same: what the journal and the session count is what was asked. */
async function expectAllCounted(): Promise<void> {
  const asked = fixture.model.calls.length;
  const records = await rows();
  expect(sum(records, ({ receipt }) => receipt.calls)).toBe(asked);
  expect(await boot.journal.runs.totals(0)).toMatchObject({ input: 10 * asked, output: 5 * asked });
  await boot.use("1", async ({ entry }) => {
    expect(entry).toMatchObject({ inputTokens: 10 * asked, outputTokens: 5 * asked });
  });
}

describe("the cost of a summary", () => {
  it("that a person asked for is a row of its own", async () => {
    for (const turn of [1, 2, 3]) await boot.ask(`turn-${turn} ${LONG}`);
    const last = await boot.journal.runs.last(boot.keyOf("1"));
    expect(await boot.chat.compact(boot.keyOf("1"))).toMatchObject({ compacted: true });
    const [row] = await rows();
    expect(row?.runId).toMatch(/^compact-/);
    expect(row).toMatchObject({
      result: "replied",
      receipt: { model: { provider: "fake", id: "fake-1" }, trigger: "compaction", calls: 1, usage: { input: 10 } },
    });
    expect(await boot.journal.runs.last(boot.keyOf("1"))).toEqual(last);
    await expectAllCounted();
  });

  it("after a turn is a row with the turn's name", async () => {
    fixture.rules = {
      agent: { contextTokens: 6000, compaction: { reserveTokens: 20_000, keepRecentTokens: 600, timeoutMs: 10_000 } },
    };
    for (let turn = 1; turn <= 12 && summaries() === 0; turn += 1) {
      await boot.ask(`turn-${turn} ${LONG}`);
      await quiet();
    }
    const found = (await rows()).filter(({ receipt }) => receipt.trigger === "compaction");
    const runs = (await rows()).filter(({ receipt }) => receipt.trigger === "message");
    expect(found).toHaveLength(1);
    expect(found[0]?.runId).toBe(`${runs[0]?.runId}-compact`);
    expect((await boot.journal.runs.find(found[0]?.runId ?? ""))?.receipt.beside).toMatchObject([
      { what: "compaction", calls: summaries() },
    ]);
    await expectAllCounted();
  });

  it("that had no result is recorded as well", async () => {
    fixture.model.answer((call) => ({ text: isSummary(call.system) ? "x".repeat(40_000) : "fine" }));
    for (const turn of [1, 2, 3]) await boot.ask(`turn-${turn} ${LONG}`);
    expect(await boot.chat.compact(boot.keyOf("1"))).toMatchObject({ compacted: false });
    expect((await rows())[0]).toMatchObject({
      result: "failed:compaction_failure",
      receipt: { trigger: "compaction" },
    });
    await expectAllCounted();
  });

  it("after an overflow is the run's own, and its receipt says how much of it", async () => {
    for (const turn of [1, 2, 3]) await boot.ask(`turn-${turn} ${LONG}`);
    let refuses = true;
    fixture.model.answer((call) => {
      if (isSummary(call.system)) return { text: "SUMMARY" };
      if (!refuses) return { text: "fine" };
      refuses = false;
      return { status: 400, message: "maximum context length is 10 tokens" };
    });
    await boot.ask("now?");
    await quiet();
    const [row] = await rows();
    const calls = summaries();
    expect(calls).toBeGreaterThan(0);
    expect(row?.receipt).toMatchObject({
      trigger: "message",
      calls: calls + 1,
      usage: { input: 10 * (calls + 1) },
      beside: [{ what: "compaction", calls, usage: { input: 10 * calls }, model: { id: "fake-1" } }],
    });
  });
});

describe("the cost of a context engine after a turn", () => {
  it("adds up in one row and in the counters of the conversation that it was for", async () => {
    await boot.ask("hello");
    const key = boot.keyOf("1");
    const { sessionId } = boot.sessions.peek(key) ?? { sessionId: "" };
    const costs = new AuxiliaryUsage(boot.ports);
    const facts = { runId: runId("turn-7"), sessionKey: key, sessionId, agentId: agentId("main") };
    const spent = costs.afterRun(facts);
    const usage = { ...emptyUsage(), input: 100, output: 50, totalTokens: 150 };
    const model = { provider: "fake", id: "fake-1" };
    for (const id of ["fake-1", "fake-1", "other"]) spent({ what: "engine", calls: 1, usage, model: { ...model, id } });
    await vi.waitFor(
      async () => expect((await boot.journal.runs.find("turn-7-engine"))?.receipt.calls).toBe(3),
      PATIENCE,
    );
    const row = await boot.journal.runs.find("turn-7-engine");
    expect(row?.receipt).toMatchObject({ trigger: "engine", usage: { input: 300, output: 150 }, model });
    expect(row?.receipt.beside?.map(({ calls }) => calls)).toEqual([2, 1]);
    await vi.waitFor(
      () => expect(boot.sessions.peek(key)).toMatchObject({ inputTokens: 310, outputTokens: 155 }),
      PATIENCE,
    );
    costs.afterRun({ ...facts, sessionId: "older" })({ what: "engine", calls: 1, usage, model });
    await vi.waitFor(
      async () => expect((await boot.journal.runs.find("turn-7-engine"))?.receipt.calls).toBe(4),
      PATIENCE,
    );
    expect(boot.sessions.peek(key)).toMatchObject({ inputTokens: 310 });
  });
});
