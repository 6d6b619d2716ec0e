import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assemble } from "../../src/history/assemble.ts";
import { callsOf } from "../../src/history/parts.ts";
import { applyPasses, HISTORY_PASSES } from "../../src/history/passes.ts";
import { limitTurns } from "../../src/history/passes/limit.ts";
import { policyFor, strictly } from "../../src/providers/quirks.ts";
import type { ChatMessage } from "../../src/types/run/model.ts";
import { png } from "../kit/pictures.ts";
import { answered, called, given } from "../kit/transcript-messages.ts";

const PNG = png(1, 1).toString("base64");
const user = (text: string): ChatMessage => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
const call = (...ids: string[]) =>
  answered(
    ids.map((id) => called(id)),
    { stopReason: "toolUse" },
  );

const id = fc.constantFrom("a", "b", "functions.exec:0");
const message: fc.Arbitrary<ChatMessage> = fc.oneof(
  fc.string().map(user),
  fc.string().map((text): ChatMessage => ({ role: "user", content: text, timestamp: 1 })),
  fc.string().map((text) => answered(text)),
  fc.uniqueArray(id, { minLength: 1, maxLength: 3 }).map((ids) => call(...ids)),
  fc.tuple(id, fc.string()).map(([of, text]) => given(of, text)),
  fc.constantFrom("error" as const, "aborted" as const).map((stop) => answered("half", { stopReason: stop })),
  fc.constant(answered([])),
  fc.constant<ChatMessage>({
    role: "user",
    content: [
      { type: "text", text: "look" },
      { type: "image", data: PNG, mimeType: "image/png" },
    ],
    timestamp: 1,
  }),
);
const transcript = fc.array(message, { maxLength: 30 });
const seeing = policyFor({ api: "openai-completions", provider: "fake", id: "fake-1", input: ["text", "image"] });
const policy = fc.boolean().map((images) => ({ ...seeing, images }));

const STAND_INS = ["(The conversation began earlier.)", "(empty message)"];
const userText = (messages: readonly ChatMessage[]): string =>
  messages
    .flatMap((one) => (one.role === "user" ? [one.content] : []))
    .flatMap((content) =>
      typeof content === "string" ? [content] : content.map((part) => (part.type === "text" ? part.text : "")),
    )
    // Texts of joined turns.
    .flatMap((text) => text.split("\n\n"))
    .filter((text) => !text.startsWith("[image:") && !STAND_INS.includes(text))
    .join("");
/** A block of nothing that can be seen goes. */
const visible = (text: string): string => text.replaceAll(/[\s\p{Cc}\p{Cs}]/gu, "");

describe("the history passes, over any transcript", () => {
  it("put exactly one result directly after every call, in the order of the calls", () => {
    fc.assert(
      fc.property(transcript, policy, (messages, rules) => {
        const passed = applyPasses(messages, rules);
        let open: string[] = [];
        for (const one of passed) {
          if (one.role === "toolResult") expect(one.toolCallId).toBe(open.shift());
          else {
            expect(open).toEqual([]);
            open = callsOf(one).map((made) => made.id);
          }
        }
        expect(open).toEqual([]);
      }),
    );
  });

  it("give the same as one after the other, also for plain talk, which they need not go through", () => {
    const said = fc.oneof(
      { weight: 9, arbitrary: fc.string({ minLength: 1 }) },
      { weight: 1, arbitrary: fc.constant(" ") },
    );
    const talk = fc
      .array(fc.tuple(said, said), { maxLength: 6 })
      .map((turns) => turns.flatMap(([asked, told]) => [user(asked), answered(told)]));
    const mixed = fc.oneof(
      transcript,
      talk,
      fc.tuple(talk, fc.array(message, { maxLength: 2 }), talk).map((parts) => parts.flat()),
    );
    const APIS = [
      "openai-completions",
      "openai-responses",
      "anthropic-messages",
      "bedrock-converse-stream",
      "google-generative-ai",
      "mistral-conversations",
    ];
    const anyPolicy = fc
      .tuple(fc.constantFrom(...APIS), fc.boolean(), fc.constantFrom(undefined, 0, 1, 3))
      .map(([api, isStrict, earlierTurns]) => {
        const made = policyFor({ api, provider: "fake", id: "fake-1", input: ["text", "image"] });
        return { ...made, ...(isStrict && { strict: true }), ...(earlierTurns !== undefined && { earlierTurns }) };
      });
    fc.assert(
      fc.property(mixed, anyPolicy, (messages, rules) => {
        const whole = rules.strict === true ? strictly(rules) : rules;
        const one = HISTORY_PASSES.reduce<readonly ChatMessage[]>((now, pass) => pass.apply(now, whole), messages);
        expect(applyPasses(messages, rules)).toEqual(one);
      }),
      { numRuns: 500 },
    );
  });

  it("change nothing when they run again", () => {
    fc.assert(
      fc.property(transcript, policy, (messages, rules) => {
        const once = applyPasses(messages, rules);
        expect(applyPasses(once, rules)).toEqual(once);
      }),
    );
  });

  it("lose no word of a user, never leave two user turns in a row and do not touch what they were given", () => {
    fc.assert(
      fc.property(transcript, policy, (messages, rules) => {
        const before = structuredClone(messages);
        const passed = applyPasses(messages, rules);
        expect(visible(userText(passed))).toBe(visible(userText(messages)));
        expect(passed.some((one, at) => one.role === "user" && passed[at - 1]?.role === "user")).toBe(false);
        expect(messages).toEqual(before);
      }),
    );
  });
});

describe("the history passes, before every call", () => {
  it("give the very messages back, changed or not, and the very array when there is nothing to do", () => {
    const sent = { ...user("hello"), provenance: { kind: "inter_session", sourceTool: "sessions_send" } } as const;
    const messages = [sent, call("a"), given("a", "x", { details: { exit: 0 } }), answered("1"), user("2")];
    const first = applyPasses(messages, seeing);
    const then = applyPasses([...messages, answered("2"), user("3")], seeing);
    expect(first).not.toEqual(messages);
    expect(first.every((message, at) => message === then[at])).toBe(true);
    expect(applyPasses(first, seeing)).toBe(first);
  });
});

describe("pairing", () => {
  it("gives each call its own result when a provider uses an id again", () => {
    const passed = applyPasses(
      [
        user("1"),
        call("functions.exec:0"),
        given("functions.exec:0", "one"),
        user("2"),
        call("functions.exec:0"),
        given("functions.exec:0", "two"),
      ],
      seeing,
    );
    expect(passed.flatMap((one) => (one.role === "toolResult" ? one.content : []))).toEqual([
      { type: "text", text: "one" },
      { type: "text", text: "two" },
    ]);
  });

  it("mark a call whose end is unknown, and do not give it a later call's result", () => {
    const passed = applyPasses([user("1"), call("a"), user("2"), call("a"), given("a", "two")], seeing);
    const results = passed.filter((one) => one.role === "toolResult");
    expect(results).toMatchObject([{ isError: true }, { isError: false, content: [{ text: "two" }] }]);
  });
});

describe("what the model is shown", () => {
  const photo: ChatMessage = {
    role: "user",
    content: [{ type: "image", data: PNG, mimeType: "image/png" }],
    timestamp: 1,
  };
  const rows = (...messages: ChatMessage[]) => messages.map((one, at) => ({ entryId: String(at), message: one }));

  it("has words instead of images for a model that cannot see", () => {
    const { messages } = assemble(
      { messages: rows(photo), estimatedTokens: 1, older: false },
      { ...seeing, images: false },
    );
    expect(JSON.stringify(messages)).not.toContain(PNG);
    expect(userText(messages) + JSON.stringify(messages)).toContain("cannot see it");
    expect(assemble({ messages: rows(photo), estimatedTokens: 1, older: false }, seeing).messages).toEqual([photo]);
  });

  it("begins with the summary of what was compacted", () => {
    const window = {
      messages: rows(user("now"), answered("yes")),
      summary: "They met.",
      estimatedTokens: 9,
      older: true,
    };
    const shown = assemble(window, seeing);
    expect(userText(shown.messages)).toMatch(/They met\..*now/s);
    expect(shown.messages.map((one) => one.role)).toEqual(["user", "assistant"]);
    expect(shown.trimmed).toBe(true);
  });

  it("answered when older turns were left out", () => {
    expect(assemble({ messages: rows(user("a")), estimatedTokens: 1, older: true }, seeing).trimmed).toBe(true);
  });
});

describe("a limit of earlier turns", () => {
  const turns = [user("one"), answered("1"), user("two"), call("a"), given("a", "x"), answered("2"), user("three")];

  it("leaves that many before the present one, whole", () => {
    expect(limitTurns(turns, 1)).toEqual(turns.slice(2));
    expect(limitTurns(turns, 2)).toEqual(turns);
    expect(limitTurns([user("zero"), user("again"), ...turns.slice(1)], 1)).toEqual(turns.slice(2));
  });

  it("is none when it is 0 or unset, or when there are no more", () => {
    for (const limit of [0, undefined, 2, 50]) expect(limitTurns(turns, limit)).toEqual(turns);
  });

  it("keeps the summary of what was compacted", () => {
    const window = {
      messages: turns.map((message, index) => ({ entryId: String(index), message })),
      summary: "They met.",
      estimatedTokens: 1,
      older: false,
    };
    const { messages } = assemble(window, { ...seeing, earlierTurns: 1 });
    expect(userText(messages)).toContain("They met.");
    expect(userText(messages)).not.toContain("one");
  });
});
