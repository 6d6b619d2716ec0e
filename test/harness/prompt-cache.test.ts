import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ThinkLevel } from "../../src/types/run/model.ts";
import { textResult } from "../../src/tools/define.ts";
import { makeTool } from "../kit/tools.ts";
import { eventsOf, openRunFixture, userTurn, type RunFixture } from "../kit/run.ts";
import { settingsFor } from "../kit/settings.ts";
import { thoughtful } from "./wire/thinking-voices.ts";
import { APIS, REFS, skippingClock, wire, type Sent, type WireApi } from "./wire/wires.ts";

let fixture: RunFixture;
beforeEach(async () => {
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

/** The conversation in a request, in each API's place for it. */
function messagesIn({ request }: Sent): readonly unknown[] {
  const all: Record<string, unknown> = { ...request };
  const list = all["messages"] ?? all["input"] ?? all["contents"];
  return Array.isArray(list) ? list : [];
}

/** Without Anthropic's marks, which say up to where it shall keep and are no part of what it keeps. */
const bytesOf = (value: unknown): string =>
  JSON.stringify(value, (key, part: unknown) => (key === "cache_control" ? undefined : part));

/** All that stands before the conversation in the provider's cache. */
function headOf({ request }: Sent): string {
  const { messages: _m, contents: _c, ...head } = request;
  const { input: _i, ...rest } = head;
  return bytesOf(rest);
}

function expectPrefix(earlier: Sent | undefined, later: Sent | undefined): void {
  if (!earlier || !later) throw new Error("a request is missing");
  expect(headOf(later)).toBe(headOf(earlier));
  const before = bytesOf(messagesIn(earlier)).slice(0, -1);
  expect(bytesOf(messagesIn(later)).slice(0, before.length)).toBe(before);
}

/** Looks in the first turn, twice; answers in all others. */
function lookThenAnswer(api: WireApi, thinks: boolean) {
  fixture.model.answer((_, number) => {
    const thinking = thinks ? { thinking: `Thought ${number}.` } : {};
    const cached = { cacheRead: number * 100, cacheWrite: 30 };
    if (number > 2) return thoughtful(api, { ...thinking, ...cached, text: `Answer ${number}.` });
    return thoughtful(api, {
      ...thinking,
      ...cached,
      text: `I look ${number}.`,
      tool: "look",
      args: { text: `${number}` },
    });
  });
}

async function talk(api: WireApi, { turns, thinking }: { turns: number; thinking: ThinkLevel }) {
  lookThenAnswer(api, thinking !== "off");
  const { models, sent } = wire(fixture.model);
  const clock = skippingClock();
  const ends = [];
  for (let at = 0; at < turns; at += 1) {
    const events = await eventsOf(
      fixture.start({
        models,
        clock,
        thinking,
        candidates: [REFS[api]],
        settings: settingsFor(fixture.dir),
        tools: [makeTool("look", async ({ text }) => textResult(`Seen at ${text}.`))],
        turn: userTurn(`Question ${at}?`, `turn-${at}`),
      }).stream,
    );
    const end = events.at(-1);
    if (end?.type === "run_end") ends.push(end);
  }
  return { sent, ends };
}

describe.each(APIS)("requests of %s", (api) => {
  it.each(["off", "medium"] as const)("begin with the bytes of those before (thinking %s)", async (thinking) => {
    const { sent, ends } = await talk(api, { turns: 4, thinking });
    expect(ends.map(({ result }) => result.kind)).toEqual(["replied", "replied", "replied", "replied"]);
    expect(sent).toHaveLength(6);
    for (let at = 1; at < sent.length; at += 1) expectPrefix(sent[at - 1], sent[at]);
  });

  it("are counted with what the provider's cache gave and took", async () => {
    const { ends } = await talk(api, { turns: 2, thinking: "off" });
    // Only Anthropic tells what it took in.
    const cacheWrite = api === "anthropic-messages" ? 30 : 0;
    expect(ends.map(({ receipt }) => receipt.usage)).toMatchObject([
      { input: 21, output: 15, cacheRead: 600, cacheWrite: 3 * cacheWrite },
      { input: 7, output: 5, cacheRead: 400, cacheWrite },
    ]);
    const { messages } = await fixture.session.window(100_000);
    const last = messages.at(-1)?.message;
    expect(last?.role === "assistant" && last.usage).toMatchObject({ input: 7, cacheRead: 400, cacheWrite });
  });
});

describe("an answer that was cut off", () => {
  it("is in later requests as in the one for its continuation", async () => {
    const { models, sent } = wire(fixture.model);
    fixture.model.answer((_, number) => (number === 1 ? { text: "one two", ending: "eof" } : { text: "three" }));
    const clock = skippingClock();
    for (const at of [1, 2]) {
      const asked = {
        models,
        clock,
        candidates: [REFS["anthropic-messages"]],
        turn: userTurn(`Question ${at}?`, `turn-${at}`),
      };
      await fixture.start(asked).stream.done;
    }
    expect(sent).toHaveLength(3);
    expectPrefix(sent[0], sent[1]);
    expectPrefix(sent[1], sent[2]);
  });
});
