import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  softLimitOf,
  budgetIn,
  COMPACTION,
  fixedTokens,
  hardLimitOf,
  splitBudget,
} from "../../../src/harness/context/budget.ts";
import type { Tool } from "../../../src/types/run/tool.ts";

const tool = (description: string): Tool => ({
  name: "read",
  label: "Read",
  description,
  input: z.object({ path: z.string() }),
  hasSideEffects: false,
  run: () => Promise.resolve({ content: [] }),
});

describe("the budget of a window", () => {
  it("adds up, whatever is in it", () => {
    fc.assert(
      fc.property(
        fc.nat(2_000_000),
        fc.string(),
        fc.array(fc.string()),
        fc.string(),
        (window, systemPrompt, tools, said) => {
          const parts = {
            systemPrompt,
            tools: tools.map(tool),
            event: [{ role: "user", content: said, timestamp: 1 } as const],
          };
          const split = splitBudget(window, parts, {});
          expect(split.available + split.reserveResponse + split.reserveTools).toBeCloseTo(window);
          expect(split.reserveResponse).toBeLessThanOrEqual(Math.max(20_000, window / 4));
          expect(split.history).toBe(Math.max(0, split.available - split.systemPrompt - split.event));
          expect(split.systemPrompt + split.reserveTools).toBe(fixedTokens(systemPrompt, parts.tools));
          expect(window - split.reserveResponse).toBe(budgetIn(window, {}));
        },
      ),
    );
  });

  it("keeps 20000 tokens free, or what the config says, and never more than a quarter of a small window", () => {
    const reserve = (window: number, reserveTokens?: number): number =>
      window - budgetIn(window, reserveTokens === undefined ? {} : { compaction: { ...COMPACTION, reserveTokens } });
    expect([reserve(200_000), reserve(80_000), reserve(40_000), reserve(8000)]).toEqual([20_000, 20_000, 10_000, 2000]);
    expect([reserve(40_000, 5000), reserve(40_000, 30_000)]).toEqual([5000, 10_000]);
  });

  it("gives the new turn half of what is kept free, and a tool loop three quarters", () => {
    const parts = (window: number) => [budgetIn, softLimitOf, hardLimitOf].map((of) => of(window, {}));
    expect(parts(200_000)).toEqual([180_000, 190_000, 195_000]);
    expect(parts(40_000)).toEqual([30_000, 35_000, 37_500]);
  });

  it("counts tools by what is said of them, and wide characters of a prompt one by one", () => {
    const none = splitBudget(100_000, { systemPrompt: "", tools: [] }, {});
    expect(none).toMatchObject({ reserveTools: 0, systemPrompt: 0, event: 0, history: 80_000, available: 80_000 });
    const long = splitBudget(100_000, { systemPrompt: "漢字".repeat(100), tools: [tool("x".repeat(4000))] }, {});
    expect(long.systemPrompt).toBe(200);
    expect(long.reserveTools).toBeGreaterThan(1000);
    expect(long.reserveTools).toBeLessThan(1100);
  });
});
