import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { listConversation } from "../../src/history/compaction/fallback.ts";
import { identifiersOf } from "../../src/history/compaction/config.ts";
import { chunk, cutAt } from "../../src/history/compaction/plan.ts";
import { readFilesIn } from "../../src/history/compaction/reads.ts";
import { shortenResult, renderedText } from "../../src/history/compaction/render.ts";
import { summarise, type SummaryPrompt } from "../../src/history/compaction/summarise.ts";
import { callsOf } from "../../src/history/parts.ts";
import { estimateTextTokens } from "../../src/sessions/transcript/tokens.ts";
import type { ChatMessage } from "../../src/types/run/model.ts";
import { answered, asked, called, given } from "../kit/transcript-messages.ts";

const call = (id: string) => answered([called(id)]);
const rowsOf = (messages: readonly ChatMessage[]) =>
  messages.map((message, index) => ({ entryId: `e${index}`, message }));

const text = fc.oneof(
  fc.string(),
  fc.nat(3000).map((length) => "x".repeat(length)),
);
const id = fc.constantFrom("a", "b", "functions.exec:0");
const message: fc.Arbitrary<ChatMessage> = fc.oneof(
  text.map(asked),
  text.map((said) => answered(said)),
  id.map(call),
  fc.tuple(id, text).map(([of, said]) => given(of, said)),
);
const chat = fc.array(message, { maxLength: 40 });

/** Pairs of a call and the next result behind it, as places. */
function pairsIn(messages: readonly ChatMessage[]): [number, number][] {
  return messages.flatMap((each, at) =>
    callsOf(each).flatMap(({ id: wanted }): [number, number][] => {
      const after = messages.slice(at + 1);
      const found = after.findIndex((other) => other.role === "toolResult" && other.toolCallId === wanted);
      const again = after.findIndex((other) => callsOf(other).some((one) => one.id === wanted));
      return found >= 0 && (again < 0 || found < again) ? [[at, at + 1 + found]] : [];
    }),
  );
}

describe("where a conversation is cut", () => {
  it("keeps whole turns, the last one always, and never parts a call from its result", () => {
    fc.assert(
      fc.property(chat, fc.nat(2000), (messages, keepTokens) => {
        const cut = cutAt(rowsOf(messages), { keepTokens });
        if (!cut) return;
        const at = cut.before.length;
        expect(cut.before).toEqual(messages.slice(0, at));
        expect(cut.firstKeptEntryId).toBe(`e${at}`);
        expect(messages[at]?.role).toBe("user");
        expect(messages[at - 1]?.role).not.toBe("user");
        for (const [from, to] of pairsIn(messages)) expect(from < at && to >= at).toBe(false);
      }),
    );
  });

  it("keeps the newest turns that fit, and the turn under way however big", () => {
    const turns = ["one", "two", "three"].flatMap((name) => [asked(name), answered("y".repeat(400))]);
    expect(cutAt(rowsOf(turns), { keepTokens: 250 })?.firstKeptEntryId).toBe("e2");
    expect(cutAt(rowsOf(turns), { keepTokens: 0 })).toMatchObject({ firstKeptEntryId: "e4", keptTokens: 102 });
    expect(cutAt(rowsOf(turns), { keepTokens: 0, keepFrom: "e2" })?.firstKeptEntryId).toBe("e2");
    expect(cutAt(rowsOf(turns), { keepTokens: 9999 })).toBeUndefined();
    expect(cutAt(rowsOf(turns.slice(0, 2)), { keepTokens: 0 })).toBeUndefined();
    expect(cutAt(rowsOf(turns), { keepTokens: 0, keepFrom: "gone" })).toBeUndefined();
  });
});

describe("chunks", () => {
  it("hold every message once and in order, or a note of it, and both ends of each pair", () => {
    fc.assert(
      fc.property(chat, fc.integer({ min: 50, max: 5000 }), (messages, window) => {
        const chunks = chunk(messages, window);
        const flat = chunks.flat();
        expect(flat).toHaveLength(messages.length);
        for (const [index, shown] of flat.entries()) {
          const original = messages[index]!;
          const isNote = /\[A .* of about \d+ tokens was too large/.test(renderedText(shown));
          if (isNote) expect(shown.role).toBe(original.role);
          else expect(shown).toEqual(original);
        }
        const places = chunks.flatMap((piece, at) => piece.map(() => at));
        for (const [from, to] of pairsIn(messages)) expect(places[from]).toBe(places[to]);
      }),
    );
  });

  it("are smaller the larger the messages are, down to a floor", () => {
    const small = Array.from({ length: 40 }, () => asked("x".repeat(4 * 10)));
    // The small messages show how much a chunk holds; the large ones before them raise the average.
    const held = (large: number) => {
      const messages = [...Array.from({ length: large }, () => asked("x".repeat(4 * 490))), ...small];
      return chunk(messages, 1000).find((piece) => piece.length > 1)?.length;
    };
    expect([held(0), held(11), held(20), held(80)]).toEqual([40, 17, 15, 15]);
  });

  it("are one where one call is wanted and takes them, else as few as it takes", () => {
    const messages = Array.from({ length: 10 }, () => asked("x".repeat(4 * 100)));
    expect(chunk(messages, 2000, { inOneCall: true })).toHaveLength(1);
    expect(chunk(messages, 1000, { inOneCall: true })).toHaveLength(2);
    expect(chunk(messages, 2000).length).toBeGreaterThan(1);
  });

  it("name a message that fills more than half the window", () => {
    const [[noted] = []] = chunk([asked("x".repeat(4 * 600))], 1000);
    expect(noted && renderedText(noted)).toBe(
      "[A message of the user of about 600 tokens was too large to be summarised.]",
    );
  });
});

describe("a summary", () => {
  const never = new AbortController().signal;

  it("is made piece by piece and merged, the earlier one first, instructions last", async () => {
    const prompts: SummaryPrompt[] = [];
    const summary = await summarise(
      {
        chunks: [[asked("one")], [answered("two")], [asked("three")]],
        earlier: "long ago",
        instructions: "keep colours",
      },
      async (prompt) => {
        prompts.push(prompt);
        return `part ${prompts.length}`;
      },
      never,
    );
    expect(summary).toBe("part 4");
    expect(prompts[0]?.text).toMatch(/long ago[^]*one[^]*keep colours$/);
    expect(prompts[1]?.text).not.toContain("long ago");
    expect(prompts[3]?.text).toMatch(/part 1[^]*part 2[^]*part 3/);
  });

  it("ends with the first failure, and asks nothing after an abort", async () => {
    const fail = async () => ({ failure: "no" });
    expect(await summarise({ chunks: [[asked("a")]] }, fail, never)).toEqual({ failure: "no", done: 0 });
    expect(await summarise({ chunks: [[asked("a")]] }, async () => " ", never)).toHaveProperty("failure");
    expect(await summarise({ chunks: [[asked("a")]] }, async () => "s", AbortSignal.abort())).toHaveProperty("failure");
  });

  it("ends however many pieces there are", async () => {
    const chunks = Array.from({ length: 23 }, (_, index) => [asked(`${index}`)]);
    expect(await summarise({ chunks }, async () => "s", never)).toBe("s");
  });

  it("is shown tool results shortened", () => {
    const short = shortenResult(given("a", `head${"x".repeat(9000)}tail`));
    expect(renderedText(short).length).toBeLessThanOrEqual(2000);
    expect(renderedText(short)).toMatch(/^head.*left out.*tail$/);
  });
});

describe("the list that replaces a summary", () => {
  it("holds what was said without tool results, and keeps the newest where space is short", () => {
    const list = listConversation([asked("first"), call("a"), given("a", "secret stuff"), answered("done")], {
      earlier: "long ago",
      mostTokens: 500,
    });
    expect(list).toMatch(/long ago[^]*User: first[^]*used read[^]*Assistant: done$/);
    expect(list).not.toContain("secret stuff");
  });

  it("stays small", () => {
    fc.assert(
      fc.property(chat, text, fc.integer({ min: 100, max: 1000 }), (messages, earlier, mostTokens) => {
        const list = listConversation(messages, { earlier, mostTokens });
        expect(estimateTextTokens(list)).toBeLessThanOrEqual(mostTokens + 40);
      }),
    );
  });
});

describe("what a summary does with names and ids", () => {
  const told = async (identifiers: string | undefined) => {
    let system = "";
    const complete = async (prompt: SummaryPrompt) => {
      ({ system } = prompt);
      return "SUMMARY";
    };
    await summarise({ chunks: [[asked("hello")]], identifiers }, complete, new AbortController().signal);
    return system;
  };

  it("keeps them literally, or as the config says, or not at all", async () => {
    expect(await told(identifiersOf({ identifierPolicy: "strict" }))).toContain("letter by letter");
    const off = await told(identifiersOf({ identifierPolicy: "off", identifierInstructions: "keep tickets" }));
    expect(off).not.toMatch(/letter by letter|tickets/);
    const custom = await told(identifiersOf({ identifierPolicy: "custom", identifierInstructions: "keep tickets" }));
    expect(custom).toContain("- keep tickets\n");
    expect(custom).not.toContain("letter by letter");
  });
});

it("files that were read are those whose contents came back", () => {
  const read = (at: string, path: unknown) =>
    answered([{ type: "toolCall", id: at, name: "read", arguments: { path } }]);
  const failed = given("b", "no", { isError: true });
  const messages = [read("a", "one.md"), given("a", "1"), read("b", "two.md"), failed, read("c", 3), given("c", "3")];
  expect(readFilesIn([...messages, read("a", "one.md"), given("a", "1"), read("d", "open.md")])).toEqual(["one.md"]);
});
