import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ModelRef } from "../../../src/types/run/model.ts";
import { textResult } from "../../../src/tools/define.ts";
import { makeTool } from "../../kit/tools.ts";
import { eventsOf, openedByPi, openRunFixture, userTurn, type RunFixture } from "../../kit/run.ts";
import { thoughtful } from "../wire/thinking-voices.ts";
import { APIS, faultsEverywhere, REFS, skippingClock, wire, type Sent, type WireApi } from "../wire/wires.ts";

let fixture: RunFixture;
beforeEach(async () => {
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

const TURNS = 20;
const apiOf = (model: string): WireApi => APIS.find((api) => REFS[api].id === model) ?? "openai-completions";
const questionAt = (at: number) => `What about number ${at}?`;

/** Thinks and looks, thinks and looks again, thinks and answers. */
function thinkAndLook() {
  let calls = 0;
  fixture.model.answer((call) => {
    calls += 1;
    const step = calls % 3;
    const thinking = `Thought ${calls} of ${call.model}.`;
    const text = step === 1 ? `I look (${calls}).` : undefined;
    if (step !== 0)
      return thoughtful(apiOf(call.model), {
        thinking,
        ...(text !== undefined && { text }),
        tool: "look",
        args: { text: `place ${calls}` },
      });
    return thoughtful(apiOf(call.model), { thinking, text: `Answer ${calls} of ${call.model}.` });
  });
}

async function talk(apis: readonly WireApi[]) {
  const wired = wire(fixture.model);
  const clock = skippingClock();
  const results: string[] = [];
  for (let at = 0; at < TURNS; at += 1) {
    const api = apis[at % apis.length] ?? "openai-completions";
    const events = await eventsOf(
      fixture.start({
        models: wired.models,
        clock,
        thinking: "medium",
        candidates: [REFS[api]],
        tools: [makeTool("look", async ({ text }) => textResult(`Seen at ${text}.`))],
        turn: userTurn(questionAt(at), `turn-${at}`),
      }).stream,
    );
    const end = events.at(-1);
    results.push(end?.type === "run_end" ? `${end.result.kind} ${end.receipt.model.id} ${end.receipt.calls}` : "none");
  }
  return { ...wired, results };
}

/** Models to which the conversation went over, in order. */
async function changes(): Promise<ModelRef[]> {
  const entries = (await fixture.session.after("turn-0")) ?? [];
  return entries.flatMap((entry) =>
    entry.type === "model_change" ? [{ provider: entry.provider, id: entry.modelId }] : [],
  );
}

const holds = ({ request }: Sent, text: string): boolean => JSON.stringify(request).includes(text);

describe.each([
  ["anthropic-messages", "openai-responses"],
  ["google-generative-ai", "openai-completions"],
  ["openai-responses", "google-generative-ai"],
  ["openai-completions", "anthropic-messages"],
] as const)("%s and %s by turns, with tools and signed thinking", (one, other) => {
  it("both take every request, and no word is lost", async () => {
    thinkAndLook();
    const { sent, faults, results } = await talk([one, other]);
    expect(results).toEqual(
      Array.from({ length: TURNS }, (_, at) => `replied ${REFS[at % 2 === 0 ? one : other].id} 3`),
    );
    expect(sent).toHaveLength(3 * TURNS);
    expect(faults()).toEqual([]);
    for (const [at, request] of sent.entries())
      for (let said = 0; said <= Math.floor(at / 3); said += 1)
        expect(holds(request, questionAt(said)), `turn ${said} in request ${at}`).toBe(true);
    const last = sent.at(-1);
    for (let call = 1; call < 3 * TURNS; call += 1)
      if (call % 3 !== 0) expect(last && holds(last, `Seen at place ${call}.`), `result ${call}`).toBe(true);
    expect(await changes()).toEqual(Array.from({ length: TURNS - 1 }, (_, at) => REFS[at % 2 === 0 ? other : one]));
    expect(await faultsEverywhere(fixture.session)).toEqual([]);
    expect(openedByPi(fixture.session.file)).toHaveLength((await fixture.transcript()).length);
  });
});

describe("one model that thinks", () => {
  it.each(APIS)("%s is shown its own thoughts of the present turn, and none of another's", async (api) => {
    thinkAndLook();
    const { sent, faults } = await talk([api]);
    const signed = Buffer.from(`signature of Thought 1 of ${REFS[api].id}.`).toString("base64");
    const kept = api === "openai-completions" ? `Thought 1 of ${REFS[api].id}.` : signed;
    expect(sent[1] && holds(sent[1], kept)).toBe(true);
    expect(faults()).toEqual([]);
    expect(await changes()).toEqual([]);
  });
});
