import { afterEach, beforeEach, expect, test } from "vitest";
import type { ModelMeter, PlannedCall } from "../../../src/types/run/model-meter.ts";
import { textResult } from "../../../src/tools/define.ts";
import { makeTool } from "../../kit/tools.ts";
import { eventsOf, openRunFixture, type RunFixture } from "../../kit/run.ts";
import { MODEL, modelsAt, SPARE } from "../../kit/models.ts";

let fixture: RunFixture;
let planned: PlannedCall[];
beforeEach(async () => {
  fixture = await openRunFixture();
  planned = [];
});
afterEach(() => fixture.close());

const REASON = "Ten dollars a day are spent.";

/** Allows the calls for which `isAllowed` is true. */
const meterBy = (isAllowed: (call: PlannedCall, number: number) => boolean): ModelMeter => ({
  async reserve(call) {
    planned.push(call);
    return isAllowed(call, planned.length)
      ? { kind: "allowed", settle: () => undefined }
      : { kind: "refused", reason: REASON };
  },
});

const startWith = (meter: ModelMeter, more: Parameters<RunFixture["start"]>[0] = {}) =>
  fixture.start({ models: modelsAt(fixture.model.url, meter), ...more });

test("a run's call names its turn's cause, its agent and its conversation", async () => {
  await startWith(meterBy(() => true)).stream.done;
  expect(planned).toMatchObject([
    { cause: "message", agentId: "main", sessionKey: "telegram:default:1", runId: "run-1", model: MODEL },
  ]);
});

test("a call that the budget does not allow ends the run without another try at that model", async () => {
  const end = (await eventsOf(startWith(meterBy(() => false)).stream)).at(-1);
  const message = `The budget does not allow this call: ${REASON}`;
  expect(end).toMatchObject({
    result: { kind: "failed", failure: { kind: "budget", message } },
    receipt: { calls: 0, tries: [{ outcome: "budget", message }] },
  });
  expect(planned).toHaveLength(1);
  expect(fixture.model.calls).toEqual([]);
});

test("a model for which the budget still has enough answers instead", async () => {
  fixture.model.answer(() => ({ text: "cheaper" }));
  const run = startWith(
    meterBy(({ model }) => model.id === SPARE.id),
    { candidates: [MODEL, SPARE] },
  );
  const events = await eventsOf(run.stream);
  expect(await run.stream.done).toMatchObject({ kind: "replied" });
  expect(events.find((event) => event.type === "model_change")).toMatchObject({
    text: "↪️ Answered by spare/spare-1 in place of fake/fake-1: the budget does not allow it.",
  });
});

test("a key has no cooldown after a call that the budget did not allow", async () => {
  let isSpent = true;
  const models = modelsAt(
    fixture.model.url,
    meterBy(() => !isSpent),
  );
  await fixture.start({ models }).stream.done;
  isSpent = false;
  expect(await models.keys.order(MODEL, {})).toMatchObject([{ state: { kind: "ready" } }]);
});

test("a turn whose budget ends between its tools fails with what they brought in the transcript", async () => {
  const look = makeTool("look", async () => textResult("seen"));
  fixture.model.answer(() => ({ tool: "look", args: {} }));
  const run = startWith(
    meterBy((_, number) => number === 1),
    { tools: [look] },
  );
  expect(await run.stream.done).toMatchObject({ kind: "failed", failure: { kind: "budget" } });
  expect((await fixture.transcript()).at(-1)).toBe("toolResult: seen");
});
