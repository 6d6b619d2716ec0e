import { describe, expect, it } from "vitest";
import { textResult } from "../../../src/tools/define.ts";
import { voiceFor, type Voice } from "../../fakes/model-voices.ts";
import { mutants, written } from "../../kit/odd-values.ts";
import { openedByPi } from "../../kit/run.ts";
import { makeTool } from "../../kit/tools.ts";
import { resultOf, shownIn, useScenes } from "./wire-scene.ts";
import { APIS, faultsEverywhere, REFS, type WireApi } from "./wires.ts";

const scenes = useScenes();
const { scene } = scenes;

const PATHS: Readonly<Record<WireApi, string>> = {
  "openai-completions": "/chat/completions",
  "anthropic-messages": "/messages",
  "openai-responses": "/responses",
  "google-generative-ai": "/models/x:streamGenerateContent",
};
const voiceOf = (api: WireApi): Voice => voiceFor(PATHS[api], REFS[api].id);

const streamed = (body: string) =>
  ({ raw: { status: 200, headers: { "content-type": "text/event-stream" }, body } }) as const;

/** An answer with a word and a call. */
function calling(api: WireApi, args = '{"text":"hi"}'): string {
  const voice = voiceOf(api);
  return [
    voice.begin(),
    voice.word("I look. "),
    voice.call("look"),
    voice.args(args),
    voice.finish("tool") + voice.done,
  ].join("");
}

/** Asks with a first answer that is odd and a second one that is not; then twice more, the last time as another process would. */
async function talk(api: WireApi, body: string) {
  const { ask, faults } = scene(api);
  const given: unknown[] = [];
  const look = makeTool("look", async (input) => {
    given.push(input);
    return textResult("seen");
  });
  const { model } = scenes.fixture;
  const first = model.calls.length + 1;
  model.answer((_, number) => (number === first ? streamed(body) : { text: "a sound answer" }));
  const events = await ask("look", "turn-1", { tools: [look] });
  const next = await ask("and now", "turn-2", { tools: [look] });
  return { events, next, given, faults: [...faults(), ...(await faultsEverywhere(scenes.fixture.session))] };
}

/** Each with what the tool is called with; nothing where it is not run. */
const CALLS: readonly (readonly [name: string, body: (api: WireApi) => string, given: readonly unknown[]])[] = [
  [
    "without an id",
    (api) => calling(api).replaceAll(/"(?:call_)?id":"(?:call|toolu|fc)_[^"]*",/g, ""),
    [{ text: "hi" }],
  ],
  [
    "whose id is null",
    (api) => calling(api).replaceAll(/("(?:call_)?id":)"(?:call|toolu|fc)_[^"]*"/g, "$1null"),
    [{ text: "hi" }],
  ],
  [
    "whose id is a number",
    (api) => calling(api).replaceAll(/("(?:call_)?id":)"(?:call|toolu|fc)_[^"]*"/g, "$17"),
    [{ text: "hi" }],
  ],
  ["without a name", (api) => calling(api).replaceAll(/"name":"look",/g, ""), []],
  ["whose name is an object", (api) => calling(api).replaceAll(/"name":"look"/g, '"name":{}'), []],
  ["whose arguments are null", (api) => calling(api, "null"), [{ text: "" }]],
  ["whose arguments are a list", (api) => calling(api, "[1]"), []],
  ["whose arguments are a number", (api) => calling(api, "5"), []],
  ["whose arguments are JSON in JSON", (api) => calling(api, JSON.stringify('{"text":"hi"}')), [{ text: "hi" }]],
];

describe("a model's odd call of a tool is mended or refused, and the conversation goes on", () => {
  it.each(APIS.flatMap((api) => CALLS.map(([name, body, given]) => ({ api, name, body, given }))))(
    "$api: $name",
    async ({ api, body, given: wanted }) => {
      const { events, next, given, faults } = await talk(api, body(api));
      expect(given).toEqual(wanted);
      for (const turn of [events, next]) {
        expect(resultOf(turn)).toEqual([{ kind: "replied", stop: "stop" }]);
        expect(shownIn(turn)).toBe("a sound answer");
      }
      const [started] = events.filter((event) => event.type === "tool_start");
      const [ended] = events.filter((event) => event.type === "tool_end");
      expect(started).toMatchObject({
        callId: expect.stringMatching(/\S/),
        name: expect.stringMatching(/^(?:look|unknown)$/),
      });
      expect(ended).toMatchObject({ callId: started?.callId, isError: wanted.length === 0 });
      expect(faults).toEqual([]);
      openedByPi(scenes.fixture.session.file);
    },
  );

  it.each(["anthropic-messages", "openai-completions", "openai-responses"] as const)(
    "%s: two calls without an id have ids of their own, and each its result",
    async (api) => {
      const voice = voiceOf(api);
      const calls = ["one", "two"].map((text, at) =>
        // The voice of OpenAI's chat API has one call in an answer.
        `${voice.call("look")}${voice.args(JSON.stringify({ text }))}`.replaceAll('[{"index":0', `[{"index":${at}`),
      );
      const whole = `${voice.begin()}${calls.join("")}${voice.finish("tool")}${voice.done}`;
      const body = whole
        .replaceAll(/"(?:call_)?id":"(?:call|toolu|fc)_[^"]*",/g, "")
        .replaceAll('"choices":[{"index":1', '"choices":[{"index":0');
      const { events, given, faults } = await talk(api, body);
      expect(given).toEqual([{ text: "one" }, { text: "two" }]);
      const ids = events.flatMap((event) => (event.type === "tool_end" ? [event.callId] : []));
      expect(new Set(ids).size).toBe(2);
      expect(ids).not.toContain("unnamed");
      expect(faults).toEqual([]);
    },
  );
  it("takes the arguments of a server that sends them as an object", async () => {
    const body = calling("openai-completions", "@").replace('"arguments":"@"', '"arguments":{"text":"hi"}');
    const { events, given } = await talk("openai-completions", body);
    expect(given).toEqual([{ text: "hi" }]);
    expect(shownIn(events)).toBe("a sound answer");
  });
});

describe("a model's text in odd pieces", () => {
  const saying = (api: WireApi, piece: unknown) => {
    const voice = voiceOf(api);
    const begun = voice.begin() + voice.word("one ");
    const odd = voice.word("@").replaceAll('"@"', JSON.stringify(piece));
    return begun + odd + voice.word("two") + voice.finish("stop") + voice.done;
  };
  const PIECES = [null, [], {}, [{ type: "text", text: "" }]];

  it.each(APIS.flatMap((api) => PIECES.map((piece) => ({ api, piece }))))("$api: $piece", async ({ api, piece }) => {
    const { ask } = scene(api);
    scenes.fixture.model.answer(() => streamed(saying(api, piece)));
    const events = await ask("please", "turn-1");
    expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(shownIn(events)).toBe("one two");
    expect(await scenes.fixture.transcript()).toContain("assistant: one two");
  });
});

describe("an answer in which anything may be of another type", () => {
  /** For each API. */
  const COUNT = 25;
  const frames = (body: string) => body.split("\n\n").filter((frame) => frame !== "");
  const jsonIn = (frame: string): unknown => {
    const data = /^data: (.*)$/m.exec(frame)?.[1] ?? "";
    return data.startsWith("{") ? JSON.parse(data) : undefined;
  };

  it.each(APIS)("%s: has one visible outcome, and the next turn is answered", async (api) => {
    const whole = frames(calling(api));
    const odd = mutants(7, whole.map(jsonIn));
    const failed: string[] = [];
    for (let number = 0; number < COUNT; number += 1) {
      const { name, values } = odd.next().value;
      const body = whole.map((frame, at) =>
        values[at] === undefined ? frame : frame.replace(/^data: .*$/m, () => `data: ${written(values[at])}`),
      );
      const wrong = await outcomeOf(api, `${body.join("\n\n")}\n\n`, number);
      failed.push(...wrong.map((one) => `#${number} ${name}: ${one}`));
    }
    expect(failed).toEqual([]);
  });

  async function outcomeOf(api: WireApi, body: string, number: number): Promise<readonly string[]> {
    const { ask, faults } = scene(api);
    const look = makeTool("look", async () => textResult("seen"));
    const { model, session } = scenes.fixture;
    const first = model.calls.length + 1;
    model.answer((_, call) => (call === first ? streamed(body) : { text: "a sound answer" }));
    const ends = resultOf(await ask("look", `turn-${number}-1`, { tools: [look] }));
    const next = await ask("and now", `turn-${number}-2`, { tools: [look] });
    return [
      ...(ends.length === 1 ? [] : [`${ends.length} outcomes`]),
      ...(shownIn(next) === "a sound answer" ? [] : [`then ${JSON.stringify(resultOf(next))}`]),
      ...faults(),
      ...(await faultsEverywhere(session)),
    ];
  }
});
