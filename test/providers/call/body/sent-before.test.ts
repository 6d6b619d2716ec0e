import { once } from "node:events";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { callModel } from "../../../../src/providers/call.ts";
import { createModels, type ModelHandle } from "../../../../src/providers/catalog.ts";
import type { PiContext } from "../../../../src/providers/pi.ts";
import { emptyUsage } from "../../../../src/types/run/usage.ts";

type Message = PiContext["messages"][number];

let last = "";
let onBody: (body: string) => unknown = () => undefined;
const server = createServer((request, response) => {
  void buffer(request).then((body) => {
    last = body.toString();
    onBody(last);
    response.writeHead(400, { "content-type": "application/json" }).end('{"error":{"message":"no"}}');
  });
});
beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => void server.close());

async function modelOf(more: object = {}): Promise<ModelHandle> {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const models = createModels({
    providers: {
      peer: {
        baseUrl: `http://127.0.0.1:${port}/v1`,
        api: "openai-completions",
        apiKey: "sk-0123456789",
        models: [{ id: "peer-1", input: ["text", "image"], ...more }],
      },
    },
    env: {},
    probeLocal: false,
  });
  const found = await models.find({ provider: "peer", id: "peer-1" });
  if ("missing" in found) throw new Error(found.missing);
  return found;
}

const TOOLS = [{ name: "look", description: "Looks", parameters: { type: "object", properties: {} } }];

async function bodyOf(model: ModelHandle, messages: readonly Message[], tools = TOOLS): Promise<string> {
  const context: PiContext = { systemPrompt: "Answer well.", messages: [...messages], tools };
  await callModel(model, context, { origin: { cause: "probe" } }).result();
  return last;
}

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom("", "wide 漢字", "half \ud83d", "\u{1F600}", 'quote " \\ \n'),
);
const image = fc.constant({ type: "image" as const, data: "aGk=", mimeType: "image/png" });
const userTurn = fc
  .oneof(
    text,
    fc.array(
      fc.oneof(
        text.map((one) => ({ type: "text" as const, text: one })),
        image,
      ),
      { maxLength: 3 },
    ),
  )
  .map((content): Message[] => [{ role: "user", content, timestamp: 1 }]);

const assistant = (content: unknown[], stopReason: string): Message =>
  ({
    role: "assistant",
    content,
    api: "openai-completions",
    provider: "peer",
    model: "peer-1",
    usage: emptyUsage(),
    stopReason,
    timestamp: 1,
  }) as Message;
const result = (id: string, said: string, withImage: boolean): Message => ({
  role: "toolResult",
  toolCallId: id,
  toolName: "look",
  content: [
    { type: "text", text: said },
    ...(withImage ? [{ type: "image" as const, data: "aGk=", mimeType: "image/png" }] : []),
  ],
  isError: false,
  timestamp: 1,
});

let ids = 0;
const answer = fc
  .record({
    said: text,
    thought: fc.option(text, { nil: undefined }),
    signature: fc.constantFrom(undefined, "reasoning_content"),
    calls: fc.array(fc.record({ result: fc.option(text, { nil: undefined }), image: fc.boolean() }), { maxLength: 2 }),
    end: fc.constantFrom("stop", "stop", "length", "error", "aborted"),
  })
  .map(({ said, thought, signature, calls, end }): Message[] => {
    const made = calls.map((call) => ({ ...call, id: `call_${(ids += 1)}${"x".repeat(ids % 50)}` }));
    const content = [
      ...(thought === undefined ? [] : [{ type: "thinking", thinking: thought, thinkingSignature: signature }]),
      ...(said === "" ? [] : [{ type: "text", text: said }]),
      ...made.map(({ id }) => ({ type: "toolCall", id, name: "look", arguments: { at: said } })),
    ];
    const results = made.flatMap((one) => (one.result === undefined ? [] : [result(one.id, one.result, one.image)]));
    return [assistant(content, made.length > 0 ? "toolUse" : end), ...results];
  });

it("sends the same bytes for a conversation that grows as for one that was never sent", async () => {
  const model = await modelOf();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(userTurn, answer), { minLength: 1, maxLength: 14 }), async (steps) => {
      const messages: Message[] = [];
      for (const step of [[{ role: "user", content: "first", timestamp: 1 } as Message], ...steps]) {
        messages.push(...step);
        const grown = await bodyOf(model, messages);
        expect(grown).toBe(await bodyOf(model, structuredClone(messages)));
      }
    }),
    { numRuns: 40 },
  );
});

const user = (said: string): Message => ({ role: "user", content: [{ type: "text", text: said }], timestamp: 1 });
const said = (answered: string): Message => assistant([{ type: "text", text: answered }], "stop");
const talk = (): Message[] => [user("one"), said("two"), user("three"), said("four"), user("five")];
const partsOf = (messages: readonly Message[], at: number): object[] => {
  const content = messages[at]?.content;
  if (!Array.isArray(content)) throw new Error(`message ${at} has no parts`);
  return content;
};
const asSent = async (messages: readonly Message[], model: ModelHandle) =>
  bodyOf(model, structuredClone([...messages]));

it("converts a message again that was changed in its place, or replaced", async () => {
  const model = await modelOf();
  const changes: ((messages: Message[]) => void)[] = [
    (messages) => messages.splice(1, 1, said("2")),
    (messages) => messages.splice(1, 2),
    (messages) => (messages[0] = user("1")),
    (messages) => Object.assign(partsOf(messages, 2)[0] ?? {}, { text: "3" }),
    (messages) => Object.assign(messages[2] ?? {}, { content: "3" }),
    (messages) => partsOf(messages, 1).push({ type: "text", text: "more" }),
    (messages) => partsOf(messages, 1).pop(),
  ];
  for (const change of changes) {
    const messages = talk();
    await bodyOf(model, messages);
    change(messages);
    messages.push(said("six"), user("seven"));
    expect(await bodyOf(model, messages)).toBe(await asSent(messages, model));
  }
});

it("converts a conversation anew for another model, and where no tools are offered", async () => {
  const [model, textOnly] = [await modelOf(), await modelOf({ input: ["text"] })];
  const call = assistant([{ type: "toolCall", id: "c", name: "look", arguments: {} }], "toolUse");
  const messages = [user("one"), call, result("c", "seen", true), user("two")];
  for (const [one, tools] of [
    [model, TOOLS],
    [textOnly, TOOLS],
    [model, TOOLS],
    [model, []],
  ] as const) {
    await bodyOf(model, messages);
    messages.push(said("more"), user("and more"));
    expect(await bodyOf(one, messages, [...tools])).toBe(await bodyOf(one, structuredClone(messages), [...tools]));
  }
});

it("converts a conversation anew for a provider whose last message has a mark for its cache", async () => {
  const model = await modelOf({ compat: { cacheControlFormat: "anthropic" } });
  const messages = talk();
  expect(await bodyOf(model, messages)).toContain("cache_control");
  messages.push(said("six"), user("seven"));
  expect(await bodyOf(model, messages)).toBe(await asSent(messages, model));
});

it("converts the id of a late result as that of its call", async () => {
  const model = await modelOf();
  const call = {
    ...assistant([{ type: "toolCall", id: "a|b", name: "look", arguments: {} }], "toolUse"),
    model: "other",
  };
  const messages = [user("one"), call as Message, user("two")];
  await bodyOf(model, messages);
  messages.push(result("a|b", "late", false), user("three"));
  expect(await bodyOf(model, messages)).toBe(await asSent(messages, model));
});

it("sends a conversation of many turns, and one that is too long to be kept", async () => {
  const model = await modelOf();
  const differing: string[] = [];
  for (const [turns, more] of [
    // So many that their blocks become a large one.
    [150, ""],
    [6, "x".repeat(300_000)],
    // Texts of this length become a block at once.
    [20, "x".repeat(17_000)],
  ] as const) {
    const messages: Message[] = [];
    for (let turn = 0; turn < turns; turn += 1) {
      messages.push(user(`${turn} ${more}`));
      if ((await bodyOf(model, messages)) !== (await asSent(messages, model))) differing.push(`${turn} of ${turns}`);
      messages.push(said(`answer ${turn}`));
    }
  }
  expect(differing).toEqual([]);
});

it("sends two requests at once that go on with one conversation in different ways", async () => {
  const model = await modelOf();
  const messages = talk();
  await bodyOf(model, messages);
  const ways = ["a", "b"].map((way) => [...messages, said(way), user(`${way}?`)]);
  const bodies: string[] = [];
  const keep = (body: string) => bodies.push(body);
  onBody = keep;
  await Promise.all(ways.map((way) => bodyOf(model, way)));
  onBody = () => undefined;
  const whole = [];
  for (const way of ways) whole.push(await asSent(way, model));
  expect(bodies.toSorted()).toEqual(whole.toSorted());
});
