import fc from "fast-check";
import { expect, it } from "vitest";
import { DeltaJoiner } from "../../../src/providers/call/join-deltas.ts";

type Shape = (text: string) => object;
const SHAPES: Record<string, Shape> = {
  openai: (content) => ({ id: "1", choices: [{ index: 0, delta: { content }, finish_reason: null }] }),
  ollama: (content) => ({ choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }] }),
  second: (content) => ({ choices: [{ index: 1, delta: { content } }] }),
  reasoning: (text) => ({ choices: [{ index: 0, delta: { content: null, reasoning_content: text } }] }),
  anthropic: (text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
  call: (text) => ({ choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: text } }] } }] }),
  typed: (text) => ({
    choices: [
      { delta: { tool_calls: [{ index: 1, id: null, type: "function", function: { name: "", arguments: text } }] } },
    ],
  }),
  input: (text) => ({ index: 1, delta: { type: "input_json_delta", partial_json: text } }),
  begins: (text) => ({ choices: [{ delta: { tool_calls: [{ index: 0, id: "1", function: { arguments: text } }] } }] }),
  named: (text) => ({ choices: [{ delta: { tool_calls: [{ index: 0, function: { name: "a", arguments: text } }] } }] }),
  nested: (text) => ({ choices: [{ delta: { audio: { content: text } } }] }),
  other: (text) => ({ usage: { text } }),
};
const JOINED = ["openai", "ollama", "second", "reasoning", "anthropic", "call", "typed", "input"];
const texts = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.constantFrom('"content":"', "\\", '"}', "\n\n", "data: ", "\u{1F600}", ""),
);
const events = fc.array(fc.record({ shape: fc.constantFrom(...Object.keys(SHAPES)), text: texts }), { maxLength: 30 });

const asEvents = (all: readonly { shape: string; text: string }[]): string =>
  all.map(({ shape, text }) => `data: ${JSON.stringify(SHAPES[shape]?.(text))}\n\n`).join("");
const through = (...pieces: readonly Uint8Array[]): Buffer => {
  const joiner = new DeltaJoiner();
  return Buffer.concat([...pieces.map((piece) => joiner.take(piece)), joiner.end()]);
};
const read = (stream: string): unknown[] =>
  stream
    .split("\n\n")
    .filter((event) => event !== "")
    .map((event): unknown => JSON.parse(event.slice("data: ".length)));

it("joins the text of neighbours that differ in nothing else, and changes nothing else", () => {
  fc.assert(
    fc.property(events, (all) => {
      const expected: { shape: string; text: string }[] = [];
      for (const { shape, text } of all) {
        const last = expected.at(-1);
        if (last?.shape === shape && JOINED.includes(shape)) last.text += text;
        else expected.push({ shape, text });
      }
      const stream = through(Buffer.from(asEvents(all))).toString();
      expect(read(stream)).toEqual(read(asEvents(expected)));
    }),
  );
});

it("keeps every text whole and in its order, wherever a stream is cut into pieces", () => {
  fc.assert(
    fc.property(events, fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }), (all, cuts) => {
      const bytes = Buffer.from(asEvents(all));
      const at = [0, ...cuts.map((share) => Math.floor(share * bytes.length)).toSorted((a, b) => a - b), bytes.length];
      const pieces = at.slice(1).map((end, index) => through(bytes.subarray(at[index], end)));
      expect(read(through(Buffer.concat(pieces)).toString())).toEqual(read(through(bytes).toString()));
    }),
  );
});

it("passes on the arguments of a call once they are complete, and all else at once, wherever the body is cut", () => {
  const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 });
  fc.assert(
    fc.property(events, cuts, (all, shares) => {
      const bytes = Buffer.from(asEvents(all));
      const at = [
        0,
        ...shares.map((share) => Math.floor(share * bytes.length)).toSorted((a, b) => a - b),
        bytes.length,
      ];
      const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
      const stream = through(...pieces);
      expect(read(through(stream).toString())).toEqual(read(through(bytes).toString()));
    }),
  );
});

const CALLS = {
  openai: (text: string, _n: number) => SHAPES["call"]?.(text),
  anthropic: (text: string, _n: number) => SHAPES["input"]?.(text),
  responses: (text: string, n: number) => ({
    type: "response.function_call_arguments.delta",
    sequence_number: n,
    item_id: "fc_1",
    output_index: 0,
    delta: text,
    obfuscation: "x".repeat(n % 7),
  }),
};

it.each(Object.entries(CALLS))("gives the SDK of %s the arguments of a call in one event", (_name, shape) => {
  const joiner = new DeltaJoiner();
  const event = (data: unknown) => Buffer.from(`data: ${JSON.stringify(data)}\n\n`);
  const whole = JSON.stringify({ path: "ä.txt", content: 'a "word" '.repeat(2000) });
  const deltas = Buffer.concat((whole.match(/[^]{1,5}/g) ?? []).map((text, n) => event(shape(text, n))));
  const alive = Buffer.from("event: ping\ndata: {}\n\n: alive\n\n");
  const passed: string[] = [];
  for (let at = 0; at < deltas.length; at += 1000)
    passed.push(Buffer.from(joiner.take(deltas.subarray(at, at + 1000))).toString());
  // Cut anywhere: the rest of an event waits behind the arguments, and signs of life do not end the call.
  expect(passed.join("")).toBe("");
  expect(Buffer.from(joiner.take(alive)).toString()).toBe(alive.toString());
  const [joined, end] = read(Buffer.from(joiner.take(event({ ends: true }))).toString());
  expect(JSON.stringify(joined)).toContain(JSON.stringify(whole));
  expect(end).toEqual({ ends: true });
  expect(joiner.end()).toHaveLength(0);
});

it("does not let arguments wait that never end", () => {
  const joiner = new DeltaJoiner();
  const piece = Buffer.from(`data: ${JSON.stringify(SHAPES["call"]?.("a".repeat(10_000)))}\n\n`);
  let pieces = 0;
  for (; pieces < 1000 && joiner.take(piece).length === 0; pieces++);
  expect(pieces).toBeLessThan(100);
});

it("takes spaces and event names as servers write them", () => {
  const one = (text: string) =>
    `event: content_block_delta\ndata: {"index": 0, "delta": {"type": "text_delta", "text": "${text}"}}\n\n`;
  expect(through(Buffer.from(one("a\\n") + one("\\ud83d") + one("\\ude00"))).toString()).toBe(
    one("a\\n\\ud83d\\ude00"),
  );
});

it.each([
  [
    "two choices",
    '{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"c"}}]}',
    '{"choices":[{"delta":{"content":"b"}},{"delta":{"content":"c"}}]}',
  ],
  ["other counts", '{"delta":{"text":"a"},"n":1}', '{"delta":{"text":"b"},"n":2}'],
  [
    "another reason to finish",
    '{"delta":{"content":"a"},"finish_reason":null}',
    '{"delta":{"content":"b"},"finish_reason":"stop"}',
  ],
  ["two texts", '{"delta":{"content":"a","reasoning":"c"}}', '{"delta":{"content":"b","reasoning":"d"}}'],
])("leaves events apart that have %s", (_why, one, other) => {
  const stream = `data: ${one}\n\ndata: ${other}\n\n`;
  expect(through(Buffer.from(stream)).toString()).toBe(stream);
});

it.each([
  { content: "", tool_calls: [{ index: 0, function: { arguments: "1" } }] },
  { content: "ha", reasoning: "ha" },
  { reasoning: "ha", content: "ha" },
  { refusal: "ha", content: "" },
  { tool_calls: [{ index: 0, function: { arguments: "1" } }], content: "ha" },
  {
    tool_calls: [
      { index: 0, function: { arguments: "1" } },
      { index: 1, function: { arguments: "2" } },
    ],
  },
])("loses nothing of equal neighbours that say two things: %j", (delta) => {
  const events = `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`.repeat(2);
  expect(through(Buffer.from(events)).toString()).toBe(events);
});

it.each(['"type":""', '"a":null', '"role":"b"'])("reads many members in a row once: %s", (member) => {
  const delta = `${`${member},`.repeat(5000)}"other":1`;
  const stream = `data: {"delta":{${delta}}}\n\n`.repeat(2);
  expect(through(Buffer.from(stream)).toString()).toBe(stream);
});
