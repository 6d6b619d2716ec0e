import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LoopGuard } from "../../src/harness/tools/loop-guard.ts";
import type { ModelReply } from "../fakes/model.ts";
import { textResult } from "../../src/tools/define.ts";
import { makeTool } from "../kit/tools.ts";
import { eventsOf, openRunFixture, type RunFixture } from "../kit/run.ts";

interface Told {
  readonly tool: string;
  readonly args: unknown;
  readonly result: string;
}

/** What becomes of a model that makes these calls, one turn after another: in which turns it is warned and stopped. */
function follow(turns: Iterable<readonly Told[]>, most: number): { warned?: number; stopped?: number } {
  const guard = new LoopGuard();
  let warned: number | undefined;
  let number = 0;
  for (const calls of turns) {
    number += 1;
    const isWarned = calls.map(({ tool, args, result }) => guard.saw({ name: tool, args }, result)).includes(true);
    if (isWarned) warned ??= number;
    guard.endTurn();
    const seen = warned === undefined ? {} : { warned };
    if (guard.stoppedBy !== undefined) return { ...seen, stopped: number };
    if (number === most) return seen;
  }
  return warned === undefined ? {} : { warned };
}

function* forever<T>(round: readonly T[]): Generator<T> {
  for (;;) yield* round;
}

const told = fc.record({ tool: fc.constantFrom("look", "read"), args: fc.nat(9), result: fc.constantFrom("a", "b") });
const round = fc.array(fc.array(told, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 40 });

describe("the loop guard", () => {
  it("ends every loop of calls whose results stay the same, and warns first", () => {
    fc.assert(
      fc.property(round, (turns) => {
        const { warned, stopped } = follow(forever(turns), 200);
        expect(stopped).toBeLessThanOrEqual(turns.length + 60);
        expect(warned).toBeLessThan(stopped ?? 0);
      }),
    );
  });

  it("ends a loop of two to five calls at the twelfth round", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(told, { minLength: 1, maxLength: 5, selector: (one) => JSON.stringify(one) }),
        (calls) => {
          const { stopped } = follow(forever(calls.map((call) => [call])), 200);
          expect(stopped).toBe(calls.length * 11 + 1);
        },
      ),
    );
  });

  it("ends one that looks at a clock in between", () => {
    const turns = Array.from({ length: 200 }, (_, at): Told[] =>
      at % 2 === 0 ? [{ tool: "look", args: {}, result: "nothing" }] : [{ tool: "clock", args: {}, result: `${at}` }],
    );
    expect(follow(turns, 200)).toMatchObject({ stopped: 23 });
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
    expect(fixture.model.calls).toHaveLength(12);
    expect(fixture.model.calls[6]!.toolText).toMatch(/ghost not found[^]*Change the approach/);
    const results = (await fixture.transcript()).filter((line) => line.startsWith("toolResult:"));
    expect(results.filter((line) => line.includes("Change the approach"))).toHaveLength(1);
  });

  it.each([
    ["the same", () => ({ text: { a: 1 } })],
    ["ever others", (number: number) => ({ text: { a: number } })],
  ])("calls with arguments that the tool does not take, %s", async (_, args) => {
    expect(await run((number) => ({ tool: "look", args: args(number) }))).toMatchObject(stopped);
    expect(fixture.model.calls).toHaveLength(12);
    expect(fixture.model.calls[6]!.toolText).toContain("Change the approach");
  });

  it.each([
    [["look", "read"], 23],
    [["look", "read", "list"], 34],
    [["look", "ghost", "read", "list"], 45],
    [["look", "read", "list", "find", "grep"], 56],
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
    const result = await run((number) => (number < 12 ? { tool: "ghost", args: {} } : { text: "I cannot." }));
    expect(result).toMatchObject({ kind: "replied" });
  });
});
