import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Credentials } from "../../src/providers/auth/credentials.ts";
import { createModels, type Models } from "../../src/providers/catalog.ts";
import { Secret } from "../../src/types/secret.ts";
import type { RunEvent } from "../../src/types/run/events.ts";
import { manualClock, type ManualClock } from "../kit/clock.ts";
import { textResult } from "../../src/tools/define.ts";
import { makeTool } from "../kit/tools.ts";
import { eventsOf, openRunFixture, type RunFixture, userTurn } from "../kit/run.ts";
import { MODEL, SPARE } from "../kit/models.ts";

let fixture: RunFixture;
let clock: ManualClock;
beforeEach(async () => {
  fixture = await openRunFixture();
  clock = manualClock();
});
afterEach(() => fixture.close());

const endOf = (events: readonly RunEvent[]) => events.at(-1) as Extract<RunEvent, { type: "run_end" }>;
const BOTH = [MODEL, SPARE];
const TIMEOUT_MS = 30_000;
const start = (more: Parameters<RunFixture["start"]>[0] = {}) =>
  fixture.start({ candidates: BOTH, turn: userTurn("hello"), timeoutMs: TIMEOUT_MS, clock, ...more });

/** A model with two keys. */
async function withTwoKeys(): Promise<Models> {
  const credentials = new Credentials(join(fixture.dir, "credentials"));
  for (const name of ["a", "b"]) {
    const key = new Secret(`sk-fake-${name}-0123456789`);
    await credentials.put(`fake:${name}`, { type: "api_key", provider: "fake", key });
  }
  const provider = { baseUrl: fixture.model.url, api: "openai-completions" as const, models: [{ id: MODEL.id }] };
  return createModels({ providers: { fake: provider }, credentials, env: {}, probeLocal: false });
}

describe("a run whose time is over", () => {
  it("asks the model's next key, once, where no other model is left, and the first key rests", async () => {
    const models = await withTwoKeys();
    fixture.model.answer((call) => (call.key?.includes("-a-") === true ? "hang" : { text: "from the other key" }));
    const run = start({ models, candidates: [MODEL] });
    await fixture.model.called(1);
    clock.pass(TIMEOUT_MS);
    const events = await eventsOf(run.stream);
    expect(endOf(events).result).toMatchObject({ kind: "replied" });
    expect(endOf(events).receipt.tries).toMatchObject([{ outcome: "timeout" }, { outcome: "replied" }]);
    const states = (await models.keys.order(MODEL, {})).map(({ profile, state }) => [profile.id, state.kind]);
    expect(states).toContainEqual(["fake:a", "cooling"]);
  });

  it("ends when the time of its last key is over too", async () => {
    const models = await withTwoKeys();
    fixture.model.answer(() => "hang");
    const run = start({ models, candidates: [MODEL] });
    await fixture.model.called(1);
    clock.pass(TIMEOUT_MS);
    await fixture.model.called(2);
    clock.pass(TIMEOUT_MS);
    expect(endOf(await eventsOf(run.stream)).result).toEqual({ kind: "aborted", by: "timeout" });
    expect(fixture.model.calls).toHaveLength(2);
  });

  it("asks the next model, which has the whole time again, and says who did not answer", async () => {
    fixture.model.answer((call) => (call.model === MODEL.id ? "hang" : { text: "from the spare" }));
    const run = start();
    await fixture.model.called(1);
    clock.pass(TIMEOUT_MS);
    const events = await eventsOf(run.stream);
    expect(endOf(events).result).toMatchObject({ kind: "replied" });
    expect(fixture.model.calls.map((call) => call.model)).toEqual([MODEL.id, SPARE.id]);
    expect(endOf(events).receipt.tries).toMatchObject([{ outcome: "timeout" }, { outcome: "replied" }]);
    expect(events.find((event) => event.type === "model_change")).toMatchObject({ from: MODEL, to: SPARE });
  });

  it("ends as timed out when no other model is left", async () => {
    fixture.model.answer(() => "hang");
    const run = start();
    await fixture.model.called(1);
    clock.pass(TIMEOUT_MS);
    await fixture.model.called(2);
    expect(clock.waits).toEqual([TIMEOUT_MS]);
    clock.pass(TIMEOUT_MS);
    const events = await eventsOf(run.stream);
    expect(endOf(events).result).toEqual({ kind: "aborted", by: "timeout" });
    expect(fixture.model.calls.map((call) => call.model)).toEqual([MODEL.id, SPARE.id]);
  });

  it("ends there when a tool uses up the time: another model could not help", async () => {
    const begun = Promise.withResolvers<void>();
    const hang = makeTool("hang", async (_input, { signal }) => {
      begun.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return textResult("late");
    });
    fixture.model.answer(() => ({ tool: "hang", args: {} }));
    const run = start({ tools: [hang] });
    await begun.promise;
    clock.pass(TIMEOUT_MS);
    expect(endOf(await eventsOf(run.stream)).result).toEqual({ kind: "aborted", by: "timeout" });
    expect(fixture.model.calls).toHaveLength(1);
  });

  it("continues a turn whose tools have run from their results", async () => {
    let ran = 0;
    const count = makeTool("count", async () => textResult(`${(ran += 1)}`));
    fixture.model.answer((call) => {
      if (call.model === SPARE.id) return { text: `the spare knows ${call.toolText}` };
      return call.isAfterTool ? "hang" : { tool: "count", args: {} };
    });
    const run = start({ tools: [count] });
    await fixture.model.called(2);
    clock.pass(TIMEOUT_MS);
    expect(endOf(await eventsOf(run.stream)).result).toMatchObject({ kind: "replied" });
    expect(ran).toBe(1);
    expect(fixture.model.calls.at(-1)?.toolText).toBe("1");
  });
});
