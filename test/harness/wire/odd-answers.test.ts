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

/** A call whose arguments have so many levels. */
const nested =
  (levels: number) =>
  (api: WireApi): string =>
    calling(api, '{"text":77777}').replaceAll("77777", `${"[".repeat(levels)}1${"]".repeat(levels)}`);

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
  ["whose name has blanks", (api) => calling(api).replaceAll('"look"', '" look "'), [{ text: "hi" }]],
  ["whose name has a namespace", (api) => calling(api).replaceAll('"look"', '"functions.look"'), [{ text: "hi" }]],
  ["whose name is in other letters", (api) => calling(api).replaceAll('"look"', '"Look"'), [{ text: "hi" }]],
  [
    "whose name has a mark of the model's own format",
    (api) => calling(api).replaceAll('"look"', '"look<|channel|>commentary"'),
    [{ text: "hi" }],
  ],
  ["without a name", (api) => calling(api).replaceAll(/"name":"look",/g, ""), []],
  ["whose name is an object", (api) => calling(api).replaceAll(/"name":"look"/g, '"name":{}'), []],
  ["whose arguments are null", (api) => calling(api, "null"), [{ text: "" }]],
  ["whose arguments are a list", (api) => calling(api, "[1]"), []],
  ["whose arguments are a number", (api) => calling(api, "5"), []],
  ["whose arguments have 3000 levels", nested(3000), []],
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

  it.each(APIS)("%s: arguments that have 50,000 levels", async (api) => {
    const { events, next, given } = await talk(api, nested(50_000)(api));
    expect(given).toEqual([]);
    for (const turn of [events, next]) expect(resultOf(turn)).toEqual([{ kind: "replied", stop: "stop" }]);
  });

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

/** The answer of a server that sends these events of OpenAI's chat API. */
const chat = (...events: readonly object[]): string =>
  `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
const choice = (delta: object, reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: reason }],
});
const look = (text: string, more: object = {}) => ({
  type: "function",
  function: { name: "look", arguments: JSON.stringify({ text }) },
  ...more,
});
const ended = choice({}, "tool_calls");

describe("the complete calls of local servers are each run once", () => {
  const CASES: Readonly<Record<string, string>> = {
    "one number for both, in two events": chat(
      choice({ tool_calls: [look("one", { index: 0, id: "a" })] }),
      choice({ tool_calls: [look("two", { index: 0, id: "b" })] }),
      ended,
    ),
    "one number for both, in one event": chat(
      choice({ tool_calls: [look("one", { index: 0, id: "a" }), look("two", { index: 0, id: "b" })] }),
      ended,
    ),
    "one number for both, arguments in pieces": chat(
      choice({ tool_calls: [{ index: 0, id: "a", function: { name: "look", arguments: "" } }] }),
      choice({ tool_calls: [{ index: 0, function: { arguments: '{"text":' } }] }),
      choice({ tool_calls: [{ index: 0, function: { arguments: '"one"}' } }] }),
      choice({ tool_calls: [{ index: 0, id: "b", function: { name: "look", arguments: "" } }] }),
      choice({ tool_calls: [{ index: 0, function: { arguments: '{"text":"two"}' } }] }),
      ended,
    ),
    "no number": chat(choice({ tool_calls: [look("one", { id: "a" }), look("two", { id: "b" })] }), ended),
    "no number, arguments in a second event": chat(
      choice({ tool_calls: [{ id: "a", function: { name: "look" } }] }),
      choice({ tool_calls: [{ function: { arguments: '{"text":"one"}' } }] }),
      choice({ tool_calls: [{ id: "b", function: { name: "look" } }] }),
      choice({ tool_calls: [{ function: { arguments: '{"text":"two"}' } }] }),
      ended,
    ),
    "neither number nor id": chat(choice({ tool_calls: [look("one"), look("two")] }), ended),
    "one id for both": chat(
      choice({ tool_calls: [look("one", { index: 0, id: "call_0" }), look("two", { index: 1, id: "call_0" })] }),
      ended,
    ),
    "a new id in each event of a call": chat(
      choice({ tool_calls: [{ index: 0, id: "a", function: { name: "look", arguments: '{"text":' } }] }),
      choice({ tool_calls: [{ index: 0, id: "b", function: { name: "look", arguments: '"one"}' } }] }),
      choice({ tool_calls: [look("two", { index: 1, id: "c" })] }),
      ended,
    ),
    "numbers that are texts, beside nothing": chat(
      choice({ tool_calls: [null, look("one", { index: "0", id: "a" }), look("two", { index: "1", id: "b" })] }),
      ended,
    ),
    "the name beside the arguments": chat(
      choice({
        tool_calls: ["one", "two"].map((text, index) => ({ index, id: text, name: "look", arguments: { text } })),
      }),
      ended,
    ),
  };

  it.each(Object.entries(CASES))("%s", async (_, body) => {
    const { events, given, faults } = await talk("openai-completions", body);
    expect(given).toEqual([{ text: "one" }, { text: "two" }]);
    expect(shownIn(events)).toBe("a sound answer");
    expect(faults).toEqual([]);
  });

  it("the one call of the former form", async () => {
    const body = chat(
      choice({ role: "assistant", content: null, function_call: { name: "look", arguments: "" } }),
      choice({ function_call: { arguments: '{"text":"one"}' } }),
      choice({}, "function_call"),
    );
    const { events, given, faults } = await talk("openai-completions", body);
    expect(given).toEqual([{ text: "one" }]);
    expect(shownIn(events)).toBe("a sound answer");
    expect(faults).toEqual([]);
  });

  it("a call by another name of the tool", async () => {
    const { ask } = scene("openai-completions");
    let runs = 0;
    const exec = makeTool("exec", async () => {
      runs += 1;
      return textResult("done");
    });
    const { model } = scenes.fixture;
    const body = chat(
      choice({ tool_calls: [{ index: 0, id: "a", function: { name: "Bash", arguments: "{}" } }] }),
      ended,
    );
    model.answer((call) => (call.isAfterTool ? { text: "ran" } : streamed(body)));
    const events = await ask("run it", "turn-1", { tools: [exec] });
    expect(runs).toBe(1);
    expect(events.filter((event) => event.type === "tool_start")).toMatchObject([{ name: "exec" }]);
  });
});

describe("one odd event of a stream does not cost the answer", () => {
  const saying = (api: WireApi, between: string) => {
    const voice = voiceOf(api);
    const said = voice.begin() + voice.word("one ü ") + between + voice.word("two");
    return said + voice.finish("stop") + voice.done;
  };
  /** In the middle of an answer, or what becomes of all of it. */
  const ODD: Readonly<Record<string, (api: WireApi) => string>> = {
    "no data": (api) => saying(api, "data:\n\n"),
    "a blank": (api) => saying(api, "data: \n\n"),
    null: (api) => saying(api, "data: null\n\n"),
    "a number": (api) => saying(api, "data: 5\n\n"),
    "a torn event": (api) => saying(api, 'event: content_block_delta\ndata: {"choices":[{"index":0,"del\n\n'),
    "a comment and a name": (api) => saying(api, ": still here\n\nevent: ping\ndata: ok\n\n"),
    "lines that end as those of Windows": (api) => saying(api, "data: \n\n").replaceAll("\n", "\r\n"),
    "a raw control character in a text": (api) => saying(api, "").replace('"two"', '"two\t"'),
    "a reason that nobody knows": (api) =>
      saying(api, "").replaceAll(/"(stop|end_turn|STOP|completed)"/g, (word) =>
        word === '"completed"' ? '"done"' : '"natural_end"',
      ),
  };

  it.each(APIS.flatMap((api) => Object.entries(ODD).map(([name, body]) => ({ api, name, body }))))(
    "$api: $name",
    async ({ api, body }) => {
      const { ask, faults } = scene(api);
      const { model } = scenes.fixture;
      const before = model.calls.length;
      model.answer(() => streamed(body(api)));
      const events = await ask("please", "turn-1");
      expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
      expect(shownIn(events).trim()).toBe("one ü two");
      expect(model.calls.length - before).toBe(1);
      expect(faults()).toEqual([]);
    },
  );

  const MESSAGES: Readonly<Record<string, (body: string) => string>> = {
    "no counts at the start": (body) => body.replace(/,"usage":\{"input_tokens":10,"output_tokens":1\}/, ""),
    "no counts at the end": (body) => body.replace(/("type":"message_delta".*?),"usage":\{[^}]*\}/, "$1"),
    "a block of an unknown kind": (body) => body.replace('{"type":"text","text":""}', '{"type":"output_text"}'),
    "a block that never began": (body) => body.replace(/event: content_block_start\n.*\n\n/, ""),
    "a block without anything": (body) =>
      body.replace(
        "event: content_block_start",
        'event: content_block_start\ndata: {"type":"content_block_start","index":7}\n\n$&',
      ),
    "events without names": (body) => body.replaceAll(/event: .*\n/g, ""),
  };

  it.each(Object.entries(MESSAGES))("anthropic-messages: %s", async (_, change) => {
    const { ask } = scene("anthropic-messages");
    const { model } = scenes.fixture;
    const before = model.calls.length;
    const whole = saying("anthropic-messages", "");
    expect(change(whole)).not.toBe(whole);
    model.answer(() => streamed(change(whole)));
    expect(shownIn(await ask("please", "turn-1"))).toBe("one ü two");
    expect(model.calls.length - before).toBe(1);
  });

  it.each(APIS)("%s: a torn event in which a call may be is not left out", async (api) => {
    const args = voiceOf(api).args('{"text":"a gap"}');
    const torn = `${args.slice(0, -8)}\n\n`;
    const { given } = await talk(
      api,
      calling(api).replace(voiceOf(api).finish("tool"), (end) => torn + end),
    );
    for (const one of given) expect(one).toEqual({ text: "hi" });
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
