import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentMessage, AssembleParams, ContextEngine } from "../../../src/types/engine/context-engine.ts";
import type { ChatMessage } from "../../../src/types/run/model.ts";
import { answer, ask, result, engineFixture, textOf, user } from "../../kit/engine.ts";

const word = fc.constantFrom("continue", "yes", "ok");
/** A turn of few words and of call ids that come again, as some providers give them. */
const turnOf = fc.record({ asked: word, id: fc.constantFrom(undefined, "call_0", "call_1"), answered: word });
type Said = typeof turnOf extends fc.Arbitrary<infer T> ? T : never;

const messagesOf = ({ asked, id, answered }: Said, at: number): ChatMessage[] => [
  user(asked),
  ...(id === undefined ? [] : [answer("", id), result(id, `result of turn ${at}`)]),
  answer(answered),
];

/** How engines give back what they were told. */
const WAYS = {
  "the very objects": (messages: AgentMessage[]) => messages,
  "copies with their times": (messages: AgentMessage[]) => structuredClone(messages),
  "words alone": (messages: AgentMessage[]) => structuredClone(messages).map((one) => ({ ...one, timestamp: 0 })),
} as const;
type Way = keyof typeof WAYS;

interface Case {
  readonly earlier: readonly ChatMessage[];
  readonly present: readonly ChatMessage[];
  /** Which of the earlier messages the engine shows. */
  readonly kept: readonly boolean[];
  readonly saysTurn: boolean;
  readonly way: Way;
}

const cases = fc
  .tuple(fc.array(turnOf, { maxLength: 8 }), turnOf, fc.array(fc.boolean(), { minLength: 32, maxLength: 32 }))
  .chain(([said, now, kept]) =>
    fc.record({
      earlier: fc.constant(said.flatMap(messagesOf)),
      present: fc.constant(messagesOf(now, said.length).slice(0, -1)),
      kept: fc.constant(kept),
      saysTurn: fc.boolean(),
      way: fc.constantFrom(...(Object.keys(WAYS) as Way[])),
    }),
  );

const engineFor = ({ earlier, kept, saysTurn, way }: Case): ContextEngine => ({
  info: { id: "some", name: "Some", ownsCompaction: true },
  ingest: async () => ({ ingested: true }),
  compact: async () => ({ ok: true, compacted: false }),
  assemble: async ({ messages }: AssembleParams) => {
    const shown = messages.filter((_, at) => (at < earlier.length ? kept[at] === true : saysTurn));
    return { messages: WAYS[way](shown), estimatedTokens: 1 };
  },
});

const isSubsequence = (some: readonly string[], all: readonly string[]): boolean => {
  let at = 0;
  for (const one of all) if (one === some[at]) at += 1;
  return at === some.length;
};

/** What is sent of an engine's answer, without the turn; undefined where it was refused. */
function expectShown(shown: readonly ChatMessage[] | undefined, one: Case): void {
  const wanted = one.earlier.filter((_, at) => one.kept[at] === true).map(textOf);
  // Nothing of a conversation is refused; that has its own test.
  if (!shown) return expect(wanted.length).toBe(0);
  expect(shown.slice(-one.present.length)).toEqual(one.present);
  const before = shown.slice(0, -one.present.length).map(textOf);
  if (one.way === "words alone") expect(isSubsequence(wanted, before)).toBe(true);
  else expect(before).toEqual(wanted);
}

describe("words that are said more than once", () => {
  it("remove no earlier message, and the present turn is shown once, at first and in the tool loop", async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (one) => {
        const messages = [...one.earlier, ...one.present];
        const first = await engineFixture(engineFor({ ...one, present: one.present.slice(0, 1) })).open();
        const asked = ask([...one.earlier, ...one.present.slice(0, 1)], one.earlier.length);
        expectShown((await first.assemble(asked))?.messages, { ...one, present: one.present.slice(0, 1) });
        const loop = await engineFixture(engineFor(one)).open();
        expectShown((await loop.reassemble(ask(messages, one.earlier.length)))?.messages, one);
      }),
      { numRuns: 400 },
    );
  });

  it("of a turn that the engine leaves out do not take the earlier ones away", async () => {
    const said = [user("continue"), answer("a1"), user("continue"), answer("a2")];
    for (const way of Object.keys(WAYS) as Way[]) {
      const one: Case = {
        earlier: said,
        present: [user("continue")],
        kept: said.map(() => true),
        saysTurn: false,
        way,
      };
      const shown = await (await engineFixture(engineFor(one)).open()).assemble(ask([...said, ...one.present], 4));
      expect(shown?.messages.map(textOf), way).toEqual(["continue", "a1", "continue", "a2", "continue"]);
    }
  });

  it("show the new result of a call whose id was there before", async () => {
    const said = [user("look"), answer("", "call_0"), result("call_0", "old"), answer("done")];
    const present = [user("again"), answer("", "call_0"), result("call_0", "new")];
    for (const way of Object.keys(WAYS) as Way[]) {
      const one: Case = { earlier: said, present, kept: said.map(() => true), saysTurn: false, way };
      const shown = await (await engineFixture(engineFor(one)).open()).reassemble(ask([...said, ...present], 4));
      expect(shown?.messages.map(textOf), way).toEqual(["look", "", "old", "done", "again", "", "new"]);
    }
  });

  it("of what an engine remembers from before the window are not the present turn", async () => {
    const hour = 3_600_000;
    const asked = user("yes");
    const older = [
      { ...user("yes"), timestamp: asked.timestamp - hour },
      { ...answer("older"), timestamp: asked.timestamp - hour + 1 },
    ];
    const engine: ContextEngine = {
      ...engineFor({ earlier: [], present: [], kept: [], saysTurn: false, way: "words alone" }),
      assemble: async ({ messages }) => ({ messages: [...older, ...messages.slice(0, -1)], estimatedTokens: 1 }),
    };
    const said = [user("what now?"), answer("this")];
    const shown = await (await engineFixture(engine).open()).assemble(ask([...said, asked], 2));
    expect(shown?.messages.map(textOf)).toEqual(["yes", "older", "what now?", "this", "yes"]);
  });
});
