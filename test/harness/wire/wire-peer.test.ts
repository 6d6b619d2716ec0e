import { LLMock } from "@copilotkit/aimock";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { textResult } from "../../../src/tools/define.ts";
import { makeTool } from "../../kit/tools.ts";
import { eventsOf, openRunFixture, userTurn, type RunFixture } from "../../kit/run.ts";
import { APIS, faultsEverywhere, REFS, skippingClock, wire, type WireApi } from "./wires.ts";

let mock: LLMock;
let fixture: RunFixture;

beforeEach(async () => {
  mock = new LLMock({ port: 0 });
  mock.on({ hasToolResult: true }, { content: "done with the tool" });
  mock.onMessage(/.*/, { content: "here I am" });
  await mock.start();
  fixture = await openRunFixture();
});
afterEach(async () => {
  await fixture.close();
  await mock.stop();
});

const ROOTS: Readonly<Record<WireApi, string>> = {
  "openai-completions": "/v1",
  "openai-responses": "/v1",
  "anthropic-messages": "",
  "google-generative-ai": "/v1beta",
};

/** Asks once, and then again when the peer is well. */
async function askTwice(api: WireApi) {
  const { models, sent, faults } = wire({
    urlFor: (of) => `${mock.url}${ROOTS[APIS.find((one) => one === of) ?? api]}`,
  });
  const clock = skippingClock();
  const ask = async (words: string) => {
    const tools = [makeTool("look", async () => textResult("seen"))];
    const given = { models, clock, tools, candidates: [REFS[api]], turn: userTurn(words, words) };
    const events = await eventsOf(fixture.start(given).stream);
    const end = events.at(-1);
    const remedies = events.flatMap((event) => (event.type === "retry" ? [event.remedy] : []));
    return { result: end?.type === "run_end" ? end.result : undefined, remedies };
  };
  const first = await ask("please");
  const calls = sent.length;
  mock.clearRequests();
  const second = await ask("and now");
  return { first, second, calls, waits: clock.waits, faults };
}

const FAILURES = [
  { status: 401, message: "invalid api key", kind: "auth", remedies: [] },
  { status: 429, message: "rate limit reached", kind: "rate_limit", remedies: ["wait", "wait"] },
  { status: 529, message: "overloaded_error: Overloaded", kind: "overloaded", remedies: ["wait", "wait"] },
  { status: 500, message: "Internal server error", kind: "network", remedies: ["wait", "wait", "wait"] },
  {
    status: 400,
    message: "prompt is too long: 213462 tokens > 200000 maximum",
    kind: "context_overflow",
    // Nothing can be compacted or cut, so that no other request than the refused one can be made of it.
    remedies: ["compact", "shrink_window"],
  },
];

describe.each(APIS)("a third party's %s that fails", (api) => {
  it.each(FAILURES)("with $status is asked no oftener than its policy says, and answers the next turn", async (row) => {
    const { status, message, kind, remedies } = row;
    const count = kind === "context_overflow" ? 1 : remedies.length + 1;
    for (let tries = 0; tries < count; tries += 1) mock.nextRequestError(status, { message });
    const { first, second, calls, waits, faults } = await askTwice(api);
    expect(first.result).toMatchObject({ kind: "failed", failure: { kind } });
    expect(first.remedies).toEqual(remedies);
    expect(calls).toBe(count);
    expect(waits).toHaveLength(remedies.filter((remedy) => remedy === "wait").length);
    expect(second.result).toEqual({ kind: "replied", stop: "stop" });
    expect((await fixture.transcript()).at(-1)).toMatch(/^assistant: (?:thinking\|)?here I am$/);
    expect(faults()).toEqual([]);
    expect(await faultsEverywhere(fixture.session)).toEqual([]);
  });
});
