import { expect, it } from "vitest";
import { ownerScene } from "../../../scripts/docs/owner-scene.ts";
import { Contributions } from "../../../src/plugins/contributions.ts";
import { runTool } from "../../../src/tools/run.ts";
import type { SideAnswer, SideQuestion } from "../../../src/types/media/side-call.ts";
import { textOf, toolContext } from "../../../test/kit/tools.ts";
import { contributor } from "../plugin.ts";

const MODEL = { provider: "small", id: "one" };

interface Given {
  readonly answer?: Partial<SideAnswer>;
  readonly config?: object;
  readonly allowedModels?: readonly string[];
}

/** One call of the tool; the model answers `{"ok": true}` unless it is told otherwise. */
async function call(input: unknown, { answer, config = {}, allowedModels }: Given = {}) {
  const contributions = new Contributions([contributor]);
  await contributions.configSchemas();
  contributions.applyConfig({ "llm-task": { config } }, { stateDir: "/nowhere", memorySlot: undefined });
  const scene = ownerScene();
  const agent = { ...scene.agent, ...(allowedModels && { allowedModels }) };
  const tool = contributions.tools.find(({ name }) => name === "llm-task")?.forRun({ ...scene, agent });
  if (!tool) return expect.fail("there is no tool llm-task");
  const questions: SideQuestion[] = [];
  const shown: string[] = [];
  const result = await runTool(tool, input, {
    ...toolContext("/workspace"),
    aside: {
      async ask(question) {
        questions.push(question);
        const parts = await question.show({
          info: { ...MODEL, name: "one", contextWindow: 1000, maxTokens: 1000, reasoning: false, input: ["text"] },
          readsPdf: false,
        });
        if ("why" in parts) throw new Error(parts.why);
        shown.push(...parts.map((part) => (part.type === "text" ? part.text : part.type)));
        return { text: '{"ok": true}', model: MODEL, isCut: false, ...answer };
      },
      draw: () => expect.fail("nothing is drawn"),
    },
  });
  return { result, said: textOf(result), questions, shown: shown.join("\n") };
}

it("is for runs whose lists name it", () => {
  const contributions = new Contributions([contributor]);
  expect(contributions.tools).toMatchObject([{ name: "llm-task", namedFor: "all" }]);
});

it("shows a model the task, the input and the schema, and nothing else; its answer is JSON", async () => {
  const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
  const { result, said, shown, questions } = await call({ prompt: "Is it red?", input: { colour: "red" }, schema });
  expect(shown).toBe(
    `Task:\nIs it red?\n\nInput:\n{\n "colour": "red"\n}\n\nJSON Schema of the answer:\n${JSON.stringify(schema)}`,
  );
  expect(JSON.parse(said)).toEqual({ ok: true });
  expect(result).toMatchObject({ details: { json: { ok: true }, provider: "small", model: "one" } });
  expect(questions[0]).toMatchObject({ maxTokens: 800, timeoutMs: 30_000 });
  expect(questions[0]?.models).toBeUndefined();
});

it.each([
  ['```json\n{"a": 1}\n```', { a: 1 }],
  ["```\n[1, 2]\n```\n", [1, 2]],
  [' "a text"\n', "a text"],
  ["null", null],
])("takes %j as JSON", async (text, json) => {
  expect((await call({ prompt: "x" }, { answer: { text } })).result.details?.["json"]).toEqual(json);
});

it("says what is wrong with an answer", async () => {
  const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const cases: readonly (readonly [Partial<SideAnswer>, RegExp])[] = [
    [{ text: "I think it is red." }, /^The answer is no JSON: I think it is red\.$/],
    [{ text: '{"n": "three"}' }, /^The answer does not fit the schema: n: /],
    [{ text: "{}" }, /^The answer does not fit the schema: n: /],
    [{ text: '{"n": 1', isCut: true }, /^The answer was cut off: .*maxTokens/],
  ];
  for (const [answer, text] of cases) {
    const { result, said } = await call({ prompt: "x", schema }, { answer });
    expect(said).toMatch(text);
    expect(result).toMatchObject({ isError: true, details: { status: "error" } });
  }
});

it("refuses a schema that cannot be read, and ends a check that would take for ever", async () => {
  const self = { $ref: "#" };
  expect(await call({ prompt: "x", schema: self })).toMatchObject({
    said: expect.stringMatching(/schema cannot be read/),
    questions: [],
  });
  const slow = { type: "string", pattern: "^(a+)+$" };
  const { said } = await call(
    { prompt: "x", schema: slow },
    { answer: { text: JSON.stringify(`${"a".repeat(60)}!`) } },
  );
  expect(said).toMatch(/takes too long to check with the pattern/);
});

it("asks the model that the config names, or one that it allows the call", async () => {
  const models = async (input: object, given?: Given) =>
    (await call({ prompt: "x", ...input }, given)).questions[0]?.models;
  expect(await models({}, { config: { defaultModel: "a/b" } })).toEqual([{ provider: "a", id: "b" }]);
  expect(await models({}, { config: { defaultProvider: "a", defaultModel: "b/c" } })).toEqual([
    { provider: "a", id: "b/c" },
  ]);
  expect(await models({ model: "c/d" }, { config: { allowedModels: ["c/*"] } })).toEqual([{ provider: "c", id: "d" }]);
  expect(await models({ provider: "c", model: "d" }, { allowedModels: ["c/d"] })).toEqual([{ provider: "c", id: "d" }]);
  const refused = await call(
    { prompt: "x", model: "c/d" },
    { config: { allowedModels: ["e/f"] }, allowedModels: ["c/d"] },
  );
  expect(refused).toMatchObject({
    said: expect.stringMatching(/does not allow llm-task the model c\/d/),
    questions: [],
  });
  expect((await call({ prompt: "x", model: "d" })).said).toMatch(/Write the model as provider\/model/);
});

it("has the limits of the call, or else of the config", async () => {
  const config = { maxTokens: 50, timeoutMs: 2000 };
  expect((await call({ prompt: "x" }, { config })).questions[0]).toMatchObject(config);
  const asked = { maxTokens: 9, timeoutMs: 3000, temperature: 0.2, thinking: "low" };
  expect((await call({ prompt: "x", ...asked }, { config })).questions[0]).toMatchObject(asked);
});
