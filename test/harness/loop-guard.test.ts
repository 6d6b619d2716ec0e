import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LoopGuard, type SeenCall } from "../../src/harness/tools/loops/guard.ts";
import { callKey, callOutcome } from "../../src/harness/tools/loops/outcome.ts";
import { LOOP_DEFAULTS } from "../../src/tools/loop-config.ts";
import type { ModelReply } from "../fakes/model.ts";
import { textResult } from "../../src/tools/define.ts";
import { makeTool } from "../kit/tools.ts";
import { eventsOf, openRunFixture, type RunFixture } from "../kit/run.ts";

interface Told {
  readonly tool: string;
  readonly args: unknown;
  readonly result: string;
  /** The tool changes something. */
  readonly changes?: boolean;
}

const seenOf = ({ tool, args, result, changes = false }: Told): SeenCall => ({
  tool,
  key: callKey(tool, args),
  outcome: result,
  kind: "ran",
  isPoll: tool === "process",
  isEffective: changes,
});

interface Followed {
  readonly warned?: number;
  readonly blocked?: number;
  readonly stopped?: number;
  readonly detector?: string;
}

/** What becomes of a model that makes these calls, one turn after another: when it is warned, blocked and stopped. */
function follow(turns: Iterable<readonly Told[]>, most: number, guard = new LoopGuard()): Followed {
  let seen: Followed = {};
  let number = 0;
  for (const calls of turns) {
    number += 1;
    const found = guard.block(calls.map(({ tool, args }) => ({ tool, key: callKey(tool, args) })));
    if (found) seen = { blocked: number, detector: found.detector, ...seen };
    const verdicts = found ? [] : calls.map((call) => guard.saw(seenOf(call)));
    if (verdicts.some((verdict) => verdict !== undefined)) seen = { warned: number, ...seen };
    guard.endTurn();
    if (guard.stoppedBy !== undefined) return { ...seen, detector: guard.stoppedBy.detector, stopped: number };
    if (number === most) return seen;
  }
  return seen;
}

function* forever<T>(round: readonly T[]): Generator<T> {
  for (;;) yield* round;
}

const told = fc.record({ tool: fc.constantFrom("look", "read"), args: fc.nat(9), result: fc.constantFrom("a", "b") });
const round = fc.array(fc.array(told, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 40 });

describe("the loop guard", () => {
  it("ends every loop of calls whose results stay the same, and warns and blocks first", () => {
    fc.assert(
      fc.property(round, (turns) => {
        const { warned, blocked, stopped } = follow(forever(turns), 200);
        expect(stopped).toBeLessThanOrEqual(turns.length + 62);
        expect(blocked).toBeLessThan(stopped ?? 0);
        expect(warned).toBeLessThan(blocked ?? 0);
      }),
    );
  });

  it.each([
    [1, "generic_repeat", 22],
    [2, "ping_pong", 22],
    [3, "generic_repeat", 62],
    [7, "no_news", 69],
    [40, "no_news", 102],
    [300, "no_news", 362],
  ])("ends a loop of %i calls by %s in turn %i", (length, detector, stopped) => {
    const turns = Array.from({ length }, (_, args): Told[] => [{ tool: "look", args, result: "same" }]);
    expect(follow(forever(turns), 400)).toMatchObject({ detector, stopped });
  });

  it("ends one that looks at a clock in between", () => {
    const turns = Array.from({ length: 200 }, (_, at): Told[] =>
      at % 2 === 0 ? [{ tool: "look", args: {}, result: "nothing" }] : [{ tool: "clock", args: {}, result: `${at}` }],
    );
    expect(follow(turns, 200)).toMatchObject({ warned: 19, blocked: 41, stopped: 43 });
  });

  it("names a poll of a process", () => {
    const poll: Told = { tool: "process", args: { action: "poll" }, result: "running" };
    expect(follow(forever([[poll]]), 200)).toMatchObject({ detector: "known_poll_no_progress", stopped: 22 });
  });

  it("lets a model go on that does something new after the block", () => {
    const same: Told = { tool: "look", args: {}, result: "same" };
    const fresh = Array.from({ length: 60 }, (_, args): Told[] => [{ tool: "look", args, result: `${args}` }]);
    const turns = [...Array.from({ length: 21 }, () => [same]), ...fresh];
    const seen = follow(turns, 200);
    expect(seen).toMatchObject({ blocked: 21 });
    expect(seen).not.toHaveProperty("stopped");
  });

  it("never ends a model that changes something new each time and then looks whether all is well", () => {
    const turns = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 30, maxLength: 80 });
    fc.assert(
      fc.property(turns, (steps) => {
        let number = 0;
        const calls = steps.flatMap((edits): Told[][] => [
          ...Array.from({ length: edits }, (): Told[] => [
            { tool: "edit", args: { number: number++ }, result: "Changed.", changes: true },
          ]),
          [{ tool: "check", args: {}, result: "all is well" }],
        ]);
        expect(follow(calls, 1000)).toEqual({});
      }),
    );
  });

  it("does nothing when it is off", () => {
    const off = new LoopGuard({ ...LOOP_DEFAULTS, enabled: false });
    expect(follow(forever([[{ tool: "look", args: {}, result: "same" }]]), 300, off)).toEqual({});
  });

  it("takes its limits from the settings, and keeps the breaker when all detectors are off", () => {
    const same: Told = { tool: "look", args: {}, result: "same" };
    const strict = new LoopGuard({ ...LOOP_DEFAULTS, warningThreshold: 2, criticalThreshold: 4 });
    expect(follow(forever([[same]]), 300, strict)).toMatchObject({ warned: 2, blocked: 5, stopped: 6 });
    const detectors = { genericRepeat: false, knownPollNoProgress: false, pingPong: false };
    const plain = new LoopGuard({ ...LOOP_DEFAULTS, detectors });
    expect(follow(forever([[same]]), 300, plain)).toMatchObject({ detector: "global_circuit_breaker", stopped: 32 });
  });

  it("ends a run that goes on as before after a compaction, and no other", () => {
    const same: Told = { tool: "look", args: {}, result: "same" };
    const guard = new LoopGuard();
    follow(
      Array.from({ length: 4 }, () => [same]),
      4,
      guard,
    );
    guard.compacted();
    const seen = follow(forever([[same]]), 10, guard);
    expect(seen).toMatchObject({ detector: "compaction_loop_persisted", stopped: 3 });
    const other = new LoopGuard();
    other.compacted();
    expect(follow(forever([[same]]), 5, other)).toEqual({});
  });

  it("never ends calls whose results change", () => {
    fc.assert(
      fc.property(round, (turns) => {
        let number = 0;
        const changing = function* () {
          for (const calls of forever(turns)) yield calls.map((call) => ({ ...call, result: `${number++}` }));
        };
        expect(follow(changing(), 300)).toEqual({});
      }),
    );
  });

  it("ignores calls that one message of a model repeats", () => {
    const once = Array.from({ length: 40 }, (): Told => ({ tool: "look", args: {}, result: "same" }));
    expect(follow([once], 1)).toEqual({});
  });
});

describe("the outcome of a call", () => {
  const outcome = (text: string, details?: object) =>
    callOutcome({ content: [{ type: "text", text }], details, isError: false });

  it.each([
    ["done at 2026-01-02T03:04:05.678Z", "done at 2026-11-12T13:14:15Z"],
    ["12:30:01 waiting", "12:31:09 waiting"],
    ["took 12 ms", "took 1.5s"],
    ["pid 123 runs", "pid 77 runs"],
    ["attempt 3 failed", "attempt 4 failed"],
    ["messageId: a1", "messageId: b2"],
    ["log 7f3c1f0e-0000-4000-8000-000000000001", "log 7f3c1f0e-0000-4000-8000-000000000002"],
  ])("%j is that of %j", (one, other) => {
    expect(outcome(one)).toBe(outcome(other));
  });

  it("differs where the text, the exit code or the state does", () => {
    const all = [
      outcome("45 %"),
      outcome("46 %"),
      outcome("45 %", { exitCode: 1 }),
      outcome("45 %", { exitCode: 2 }),
      outcome("45 %", { because: "timeout" }),
    ];
    expect(new Set(all).size).toBe(all.length);
    expect(outcome("Wrote 5 bytes.", { changed: false })).toBe(outcome("Wrote 6 bytes.", { changed: false }));
  });

  it("belongs to a call, whatever the order of its arguments", () => {
    expect(callKey("look", { a: 1, b: { c: 2, d: 3 } })).toBe(callKey("look", { b: { d: 3, c: 2 }, a: 1 }));
    expect(callKey("look", { a: 1 })).not.toBe(callKey("look", { a: "1" }));
  });
});

describe("a run whose model repeats its tool calls", () => {
  let fixture: RunFixture;
  beforeEach(async () => {
    fixture = await openRunFixture();
  });
  afterEach(() => fixture.close());

  const run = async (reply: (number: number) => ModelReply) => {
    fixture.model.answer((_, number) => reply(number));
    const tools = ["look", "read", "list", "find", "grep"].map((name) =>
      makeTool(name, async () => textResult(`no ${name}`)),
    );
    const end = (await eventsOf(fixture.start({ tools }).stream)).at(-1);
    return end?.type === "run_end" ? end.result : undefined;
  };
  const stopped = { kind: "failed", failure: { kind: "tool_loop" } };

  it("calls a tool that does not exist", async () => {
    expect(await run(() => ({ tool: "ghost", args: {} }))).toMatchObject(stopped);
    expect(fixture.model.calls).toHaveLength(11);
    expect(fixture.model.calls[10]!.toolText).toMatch(/ghost not found[^]*unknown_tool[^]*Change the approach/);
  });

  it.each([
    ["the same", () => ({ text: { a: 1 } })],
    ["ever others", (number: number) => ({ text: { a: number } })],
  ])("calls with arguments that the tool does not take, %s", async (_, args) => {
    expect(await run((number) => ({ tool: "look", args: args(number) }))).toMatchObject(stopped);
    expect(fixture.model.calls).toHaveLength(21);
    expect(fixture.model.calls[10]!.toolText).toContain("Loop warning (generic_repeat)");
  });

  it("makes the same call, which is blocked before the run ends", async () => {
    const result = await run(() => ({ tool: "look", args: {} }));
    expect(result).toMatchObject({
      kind: "failed",
      failure: { kind: "tool_loop", message: expect.stringMatching(/^generic_repeat: calls of look/) },
    });
    const results = (await fixture.transcript()).filter((line) => line.startsWith("toolResult:"));
    expect(results.filter((line) => line.includes("no look"))).toHaveLength(20);
    expect(results.slice(20)).toEqual([
      expect.stringContaining("No call of this answer was run"),
      expect.stringContaining("No call of this answer was run"),
    ]);
  });

  it.each([
    [["look", "read"], 22],
    [["look", "read", "list"], 62],
    [["look", "ghost", "read", "list"], 42],
    [["look", "read", "list", "find", "grep"], 67],
  ])("calls %j in turn", async (tools, most) => {
    const result = await run((number) => ({
      text: `try ${number}`,
      tool: tools[(number - 1) % tools.length]!,
      args: {},
    }));
    expect(result).toMatchObject(stopped);
    expect(fixture.model.calls).toHaveLength(most);
  });

  it("can end the loop after the warning", async () => {
    const result = await run((number) => (number < 11 ? { tool: "ghost", args: {} } : { text: "I cannot." }));
    expect(result).toMatchObject({ kind: "replied" });
  });
});
