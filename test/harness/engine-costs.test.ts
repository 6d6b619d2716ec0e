import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { complete } from "../../src/harness/complete.ts";
import type { ContextEngine, ContextEngineRuntimeContext } from "../../src/types/engine/context-engine.ts";
import type { SideCost } from "../../src/types/run/run.ts";
import { KeyedQueue } from "../../src/utils/keyed-queue.ts";
import { eventsOf, openRunFixture, type RunFixture } from "../kit/run.ts";
import { MODEL, modelsAt } from "../kit/models.ts";
import { TIMEOUTS } from "../kit/engine.ts";
import { openerAt, servicesOf } from "./engine-opener.ts";

let fixture: RunFixture;
const background = new KeyedQueue();
beforeEach(async () => {
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

const opener = (engine: ContextEngine) =>
  openerAt(fixture, {
    id: engine.info.id,
    engines: { get: () => Promise.resolve(() => engine), whyMissing: () => undefined },
    more: (host) => ({
      background,
      // The fixture's clock runs a hundred times as fast, and the first call loads the SDK.
      timeouts: { ...TIMEOUTS, assemble: 10_000_000, afterTurn: 10_000_000, maintain: 10_000_000 },
      services: {
        ...servicesOf(host),
        complete: (request) =>
          complete(request, {
            models: modelsAt(fixture.model.url),
            candidates: [MODEL],
            idleMs: 60_000,
            origin: { cause: "engine" },
            spent: (cost) => host.spent(cost),
          }),
      },
    }),
  });

describe("what an engine asks of a model", () => {
  it("is in the run's receipt, and after the run it is recorded next to it", async () => {
    const asks = async (runtimeContext: ContextEngineRuntimeContext | undefined) =>
      void (await runtimeContext?.llm?.complete({ messages: [{ role: "user", content: "sum up" }] }));
    const engine: ContextEngine = {
      info: { id: "asking", name: "Asking" },
      ingest: async () => ({ ingested: true }),
      compact: async () => ({ ok: true, compacted: false }),
      async assemble({ messages, runtimeContext }) {
        await asks(runtimeContext);
        return { messages, estimatedTokens: 1 };
      },
      afterTurn: ({ runtimeContext }) => asks(runtimeContext),
      async maintain({ runtimeContext }) {
        await asks(runtimeContext);
        return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
      },
    };
    fixture.model.answer(() => ({ text: "words" }));
    const after: SideCost[] = [];
    const run = fixture.start({ openEngine: opener(engine), spentAfterEnd: (cost) => void after.push(cost) });
    const end = (await eventsOf(run.stream)).at(-1);
    if (end?.type !== "run_end") throw new Error("the run has no end");
    const cost = { what: "engine", model: MODEL, calls: 1, usage: { input: 10, output: 5 } };
    expect(end.receipt).toMatchObject({ calls: 2, usage: { input: 20, output: 10 }, beside: [cost] });
    expect(after).toEqual([]);
    await run.settle();
    await background.idle();
    expect(after).toMatchObject([cost, cost]);
  });

  it("is empty where the engine reports nothing", async () => {
    const told: SideCost[] = [];
    fixture.model.answer(() => ({ status: 500, message: "down" }));
    const ports = {
      models: modelsAt(fixture.model.url),
      candidates: [MODEL],
      idleMs: 60_000,
      origin: { cause: "engine" as const },
    };
    const asked = complete({ messages: [] }, { ...ports, spent: (cost) => void told.push(cost) });
    await expect(asked).rejects.toThrow();
    expect(told).toEqual([]);
  });
});
